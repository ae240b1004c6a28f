# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.keras_v1.base_layer import Input as Input
from millstream.keras_v1.base_layer import InputLayer as InputLayer
from millstream.keras_v1.base_layer import InputSpec as InputSpec
from millstream.keras_v1.base_layer import Layer as Layer
from millstream.keras_v1.configs import deserialize as deserialize
from millstream.keras_v1.configs import serialize as serialize
from millstream.keras_v1.core_layers import Activation as Activation
from millstream.keras_v1.core_layers import AveragePooling1D as AveragePooling1D
from millstream.keras_v1.core_layers import AveragePooling2D as AveragePooling2D
from millstream.keras_v1.core_layers import AveragePooling3D as AveragePooling3D
from millstream.keras_v1.core_layers import AvgPool1D as AvgPool1D
from millstream.keras_v1.core_layers import AvgPool2D as AvgPool2D
from millstream.keras_v1.core_layers import AvgPool3D as AvgPool3D
from millstream.keras_v1.core_layers import BatchNormalization as BatchNormalization
from millstream.keras_v1.core_layers import Conv1D as Conv1D
from millstream.keras_v1.core_layers import Conv2D as Conv2D
from millstream.keras_v1.core_layers import Conv2DTranspose as Conv2DTranspose
from millstream.keras_v1.core_layers import Conv3D as Conv3D
from millstream.keras_v1.core_layers import Convolution1D as Convolution1D
from millstream.keras_v1.core_layers import Convolution2D as Convolution2D
from millstream.keras_v1.core_layers import Convolution2DTranspose as Convolution2DTranspose
from millstream.keras_v1.core_layers import Convolution3D as Convolution3D
from millstream.keras_v1.core_layers import Dense as Dense
from millstream.keras_v1.core_layers import DenseFeatures as DenseFeatures
from millstream.keras_v1.core_layers import DepthwiseConv2D as DepthwiseConv2D
from millstream.keras_v1.core_layers import Dropout as Dropout
from millstream.keras_v1.core_layers import ELU as ELU
from millstream.keras_v1.core_layers import Embedding as Embedding
from millstream.keras_v1.core_layers import Flatten as Flatten
from millstream.keras_v1.core_layers import GaussianDropout as GaussianDropout
from millstream.keras_v1.core_layers import GaussianNoise as GaussianNoise
from millstream.keras_v1.core_layers import GlobalAveragePooling1D as GlobalAveragePooling1D
from millstream.keras_v1.core_layers import GlobalAveragePooling2D as GlobalAveragePooling2D
from millstream.keras_v1.core_layers import GlobalAveragePooling3D as GlobalAveragePooling3D
from millstream.keras_v1.core_layers import GlobalAvgPool1D as GlobalAvgPool1D
from millstream.keras_v1.core_layers import GlobalAvgPool2D as GlobalAvgPool2D
from millstream.keras_v1.core_layers import GlobalAvgPool3D as GlobalAvgPool3D
from millstream.keras_v1.core_layers import GlobalMaxPool1D as GlobalMaxPool1D
from millstream.keras_v1.core_layers import GlobalMaxPool2D as GlobalMaxPool2D
from millstream.keras_v1.core_layers import GlobalMaxPool3D as GlobalMaxPool3D
from millstream.keras_v1.core_layers import GlobalMaxPooling1D as GlobalMaxPooling1D
from millstream.keras_v1.core_layers import GlobalMaxPooling2D as GlobalMaxPooling2D
from millstream.keras_v1.core_layers import GlobalMaxPooling3D as GlobalMaxPooling3D
from millstream.keras_v1.core_layers import LeakyReLU as LeakyReLU
from millstream.keras_v1.core_layers import MaxPool1D as MaxPool1D
from millstream.keras_v1.core_layers import MaxPool2D as MaxPool2D
from millstream.keras_v1.core_layers import MaxPool3D as MaxPool3D
from millstream.keras_v1.core_layers import MaxPooling1D as MaxPooling1D
from millstream.keras_v1.core_layers import MaxPooling2D as MaxPooling2D
from millstream.keras_v1.core_layers import MaxPooling3D as MaxPooling3D
from millstream.keras_v1.core_layers import PReLU as PReLU
from millstream.keras_v1.core_layers import ReLU as ReLU
from millstream.keras_v1.core_layers import SeparableConv2D as SeparableConv2D
from millstream.keras_v1.core_layers import SeparableConvolution2D as SeparableConvolution2D
from millstream.keras_v1.core_layers import Softmax as Softmax
from millstream.keras_v1.core_layers import SpatialDropout2D as SpatialDropout2D
from millstream.keras_v1.norm_layers import LayerNormalization as LayerNormalization
from millstream.keras_v1.rnn_layers import Bidirectional as Bidirectional
from millstream.keras_v1.rnn_layers import CuDNNGRU as CuDNNGRU
from millstream.keras_v1.rnn_layers import CuDNNLSTM as CuDNNLSTM
from millstream.keras_v1.rnn_layers import GRU as GRU
from millstream.keras_v1.rnn_layers import GRUCell as GRUCell
from millstream.keras_v1.rnn_layers import LSTM as LSTM
from millstream.keras_v1.rnn_layers import LSTMCell as LSTMCell
from millstream.keras_v1.rnn_layers import RNN as RNN
from millstream.keras_v1.rnn_layers import SimpleRNN as SimpleRNN
from millstream.keras_v1.rnn_layers import SimpleRNNCell as SimpleRNNCell
from millstream.keras_v1.rnn_layers import StackedRNNCells as StackedRNNCells
from millstream.keras_v1.rnn_layers import TimeDistributed as TimeDistributed
from millstream.keras_v1.shape_layers import ActivityRegularization as ActivityRegularization
from millstream.keras_v1.shape_layers import Add as Add
from millstream.keras_v1.shape_layers import Average as Average
from millstream.keras_v1.shape_layers import Concatenate as Concatenate
from millstream.keras_v1.shape_layers import Cropping1D as Cropping1D
from millstream.keras_v1.shape_layers import Cropping2D as Cropping2D
from millstream.keras_v1.shape_layers import Dot as Dot
from millstream.keras_v1.shape_layers import Lambda as Lambda
from millstream.keras_v1.shape_layers import Masking as Masking
from millstream.keras_v1.shape_layers import Maximum as Maximum
from millstream.keras_v1.shape_layers import Minimum as Minimum
from millstream.keras_v1.shape_layers import Multiply as Multiply
from millstream.keras_v1.shape_layers import Permute as Permute
from millstream.keras_v1.shape_layers import RepeatVector as RepeatVector
from millstream.keras_v1.shape_layers import Reshape as Reshape
from millstream.keras_v1.shape_layers import Subtract as Subtract
from millstream.keras_v1.shape_layers import UpSampling1D as UpSampling1D
from millstream.keras_v1.shape_layers import UpSampling2D as UpSampling2D
from millstream.keras_v1.shape_layers import ZeroPadding1D as ZeroPadding1D
from millstream.keras_v1.shape_layers import ZeroPadding2D as ZeroPadding2D
from millstream.keras_v1.shape_layers import add as add
from millstream.keras_v1.shape_layers import average as average
from millstream.keras_v1.shape_layers import concatenate as concatenate
from millstream.keras_v1.shape_layers import dot as dot
from millstream.keras_v1.shape_layers import maximum as maximum
from millstream.keras_v1.shape_layers import minimum as minimum
from millstream.keras_v1.shape_layers import multiply as multiply
from millstream.keras_v1.shape_layers import subtract as subtract

__all__ = [
    "Activation",
    "ActivityRegularization",
    "Add",
    "Average",
    "AveragePooling1D",
    "AveragePooling2D",
    "AveragePooling3D",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "BatchNormalization",
    "Bidirectional",
    "Concatenate",
    "Conv1D",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Convolution1D",
    "Convolution2D",
    "Convolution2DTranspose",
    "Convolution3D",
    "Cropping1D",
    "Cropping2D",
    "CuDNNGRU",
    "CuDNNLSTM",
    "Dense",
    "DenseFeatures",
    "DepthwiseConv2D",
    "Dot",
    "Dropout",
    "ELU",
    "Embedding",
    "Flatten",
    "GRU",
    "GRUCell",
    "GaussianDropout",
    "GaussianNoise",
    "GlobalAveragePooling1D",
    "GlobalAveragePooling2D",
    "GlobalAveragePooling3D",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "GlobalMaxPooling1D",
    "GlobalMaxPooling2D",
    "GlobalMaxPooling3D",
    "Input",
    "InputLayer",
    "InputSpec",
    "LSTM",
    "LSTMCell",
    "Lambda",
    "Layer",
    "LayerNormalization",
    "LeakyReLU",
    "Masking",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "MaxPooling1D",
    "MaxPooling2D",
    "MaxPooling3D",
    "Maximum",
    "Minimum",
    "Multiply",
    "PReLU",
    "Permute",
    "RNN",
    "ReLU",
    "RepeatVector",
    "Reshape",
    "SeparableConv2D",
    "SeparableConvolution2D",
    "SimpleRNN",
    "SimpleRNNCell",
    "Softmax",
    "SpatialDropout2D",
    "StackedRNNCells",
    "Subtract",
    "TimeDistributed",
    "UpSampling1D",
    "UpSampling2D",
    "ZeroPadding1D",
    "ZeroPadding2D",
    "add",
    "average",
    "concatenate",
    "deserialize",
    "dot",
    "maximum",
    "minimum",
    "multiply",
    "serialize",
    "subtract",
]
