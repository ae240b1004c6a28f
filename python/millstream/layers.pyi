# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.layers.base import InputSpec as InputSpec
from millstream.ops.layers.base import Layer as Layer
from millstream.ops.layers.conv import Conv1D as Conv1D
from millstream.ops.layers.conv import Conv2D as Conv2D
from millstream.ops.layers.conv import Conv2DTranspose as Conv2DTranspose
from millstream.ops.layers.conv import Conv3D as Conv3D
from millstream.ops.layers.conv import Conv3DTranspose as Conv3DTranspose
from millstream.ops.layers.conv import SeparableConv1D as SeparableConv1D
from millstream.ops.layers.conv import SeparableConv2D as SeparableConv2D
from millstream.ops.layers.conv import conv1d as conv1d
from millstream.ops.layers.conv import conv2d as conv2d
from millstream.ops.layers.conv import conv2d_transpose as conv2d_transpose
from millstream.ops.layers.conv import conv3d as conv3d
from millstream.ops.layers.conv import conv3d_transpose as conv3d_transpose
from millstream.ops.layers.conv import separable_conv1d as separable_conv1d
from millstream.ops.layers.conv import separable_conv2d as separable_conv2d
from millstream.ops.layers.core import Dense as Dense
from millstream.ops.layers.core import Dropout as Dropout
from millstream.ops.layers.core import Flatten as Flatten
from millstream.ops.layers.core import dense as dense
from millstream.ops.layers.core import dropout as dropout
from millstream.ops.layers.core import flatten as flatten
from millstream.ops.layers.norm import BatchNormalization as BatchNormalization
from millstream.ops.layers.norm import batch_normalization as batch_normalization
from millstream.ops.layers.pool import AveragePooling1D as AveragePooling1D
from millstream.ops.layers.pool import AveragePooling2D as AveragePooling2D
from millstream.ops.layers.pool import AveragePooling3D as AveragePooling3D
from millstream.ops.layers.pool import MaxPooling1D as MaxPooling1D
from millstream.ops.layers.pool import MaxPooling2D as MaxPooling2D
from millstream.ops.layers.pool import MaxPooling3D as MaxPooling3D
from millstream.ops.layers.pool import average_pooling1d as average_pooling1d
from millstream.ops.layers.pool import average_pooling2d as average_pooling2d
from millstream.ops.layers.pool import average_pooling3d as average_pooling3d
from millstream.ops.layers.pool import max_pooling1d as max_pooling1d
from millstream.ops.layers.pool import max_pooling2d as max_pooling2d
from millstream.ops.layers.pool import max_pooling3d as max_pooling3d

__all__ = [
    "AveragePooling1D",
    "AveragePooling2D",
    "AveragePooling3D",
    "BatchNormalization",
    "Conv1D",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "Dense",
    "Dropout",
    "Flatten",
    "InputSpec",
    "Layer",
    "MaxPooling1D",
    "MaxPooling2D",
    "MaxPooling3D",
    "SeparableConv1D",
    "SeparableConv2D",
    "average_pooling1d",
    "average_pooling2d",
    "average_pooling3d",
    "batch_normalization",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "dense",
    "dropout",
    "flatten",
    "max_pooling1d",
    "max_pooling2d",
    "max_pooling3d",
    "separable_conv1d",
    "separable_conv2d",
]
