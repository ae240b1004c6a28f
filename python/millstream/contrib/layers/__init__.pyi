# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.columns.contrib import crossed_column as crossed_column
from millstream.columns.contrib import embedding_column as embedding_column
from millstream.columns.contrib import input_from_feature_columns as input_from_feature_columns
from millstream.columns.contrib import one_hot_column as one_hot_column
from millstream.columns.contrib import parse_feature_columns_from_examples as parse_feature_columns_from_examples
from millstream.columns.contrib import real_valued_column as real_valued_column
from millstream.columns.contrib import sparse_column_with_hash_bucket as sparse_column_with_hash_bucket
from millstream.columns.contrib import sparse_column_with_integerized_feature as sparse_column_with_integerized_feature
from millstream.columns.contrib import sparse_column_with_keys as sparse_column_with_keys
from millstream.columns.contrib import sparse_column_with_vocabulary_file as sparse_column_with_vocabulary_file
from millstream.columns.contrib import weighted_sparse_column as weighted_sparse_column
from millstream.columns.contrib import weighted_sum_from_feature_columns as weighted_sum_from_feature_columns
from millstream.columns.dense import bucketized_column as bucketized_column
from millstream.columns.layers import make_parse_example_spec as create_feature_spec_for_parsing
from millstream.contrib.layers import utils as utils
from millstream.ops.contrib.framework import apply_regularization as apply_regularization
from millstream.ops.contrib.framework import l1_l2_regularizer as l1_l2_regularizer
from millstream.ops.contrib.framework import l1_regularizer as l1_regularizer
from millstream.ops.contrib.framework import l2_regularizer as l2_regularizer
from millstream.ops.contrib.framework import sum_regularizer as sum_regularizer
from millstream.ops.contrib.framework import summarize_tensors as summarize_tensors
from millstream.ops.contrib.layers import avg_pool2d as avg_pool2d
from millstream.ops.contrib.layers import batch_norm as batch_norm
from millstream.ops.contrib.layers import conv1d as conv1d
from millstream.ops.contrib.layers import conv2d as conv2d
from millstream.ops.contrib.layers import conv2d_transpose as conv2d_transpose
from millstream.ops.contrib.layers import conv3d as conv3d
from millstream.ops.contrib.layers import convolution as convolution
from millstream.ops.contrib.layers import convolution2d as convolution2d
from millstream.ops.contrib.layers import convolution2d_transpose as convolution2d_transpose
from millstream.ops.contrib.layers import dropout as dropout
from millstream.ops.contrib.layers import embed_sequence as embed_sequence
from millstream.ops.contrib.layers import flatten as flatten
from millstream.ops.contrib.layers import fully_connected as fully_connected
from millstream.ops.contrib.layers import layer_norm as layer_norm
from millstream.ops.contrib.layers import linear as linear
from millstream.ops.contrib.layers import max_pool2d as max_pool2d
from millstream.ops.contrib.layers import maxout as maxout
from millstream.ops.contrib.layers import one_hot_encoding as one_hot_encoding
from millstream.ops.contrib.layers import relu as relu
from millstream.ops.contrib.layers import repeat as repeat
from millstream.ops.contrib.layers import separable_conv2d as separable_conv2d
from millstream.ops.contrib.layers import separable_conv2d as separable_convolution2d
from millstream.ops.contrib.layers import softmax as softmax
from millstream.ops.contrib.layers import stack as stack
from millstream.ops.contrib.layers import unit_norm as unit_norm
from millstream.ops.contrib.more import bias_add as bias_add
from millstream.ops.contrib.more import elu as elu
from millstream.ops.contrib.more import group_norm as group_norm
from millstream.ops.contrib.more import instance_norm as instance_norm
from millstream.ops.contrib.more import legacy_fully_connected as legacy_fully_connected
from millstream.ops.contrib.more import relu6 as relu6
from millstream.ops.contrib.more import summarize_activations as summarize_activations
from millstream.ops.contrib.more import summarize_tensor as summarize_tensor
from millstream.ops.contrib.optimize_loss import OPTIMIZER_CLS_NAMES as OPTIMIZER_CLS_NAMES
from millstream.ops.contrib.optimize_loss import OPTIMIZER_SUMMARIES as OPTIMIZER_SUMMARIES
from millstream.ops.contrib.optimize_loss import optimize_loss as optimize_loss
from millstream.ops.nn.embedding_ops import safe_embedding_lookup_sparse as safe_embedding_lookup_sparse
from millstream.ops.sparse.sparse_ops import from_dense as dense_to_sparse
from millstream.ops.variables.init_ops import variance_scaling_initializer as variance_scaling_initializer
from millstream.ops.variables.init_ops import xavier_initializer as xavier_initializer
from millstream.ops.variables.init_ops import xavier_initializer as xavier_initializer_conv2d

__all__ = [
    "OPTIMIZER_CLS_NAMES",
    "OPTIMIZER_SUMMARIES",
    "apply_regularization",
    "avg_pool2d",
    "batch_norm",
    "bias_add",
    "bucketized_column",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "convolution",
    "convolution2d",
    "convolution2d_transpose",
    "create_feature_spec_for_parsing",
    "crossed_column",
    "dense_to_sparse",
    "dropout",
    "elu",
    "embed_sequence",
    "embedding_column",
    "flatten",
    "fully_connected",
    "group_norm",
    "input_from_feature_columns",
    "instance_norm",
    "l1_l2_regularizer",
    "l1_regularizer",
    "l2_regularizer",
    "layer_norm",
    "legacy_fully_connected",
    "linear",
    "max_pool2d",
    "maxout",
    "one_hot_column",
    "one_hot_encoding",
    "optimize_loss",
    "parse_feature_columns_from_examples",
    "real_valued_column",
    "relu",
    "relu6",
    "repeat",
    "safe_embedding_lookup_sparse",
    "separable_conv2d",
    "separable_convolution2d",
    "softmax",
    "sparse_column_with_hash_bucket",
    "sparse_column_with_integerized_feature",
    "sparse_column_with_keys",
    "sparse_column_with_vocabulary_file",
    "stack",
    "sum_regularizer",
    "summarize_activations",
    "summarize_tensor",
    "summarize_tensors",
    "unit_norm",
    "utils",
    "variance_scaling_initializer",
    "weighted_sparse_column",
    "weighted_sum_from_feature_columns",
    "xavier_initializer",
    "xavier_initializer_conv2d",
]
