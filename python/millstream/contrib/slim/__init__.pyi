# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.contrib.slim import evaluation as evaluation
from millstream.contrib.slim import layers as layers
from millstream.contrib.slim import learning as learning
from millstream.contrib.slim import losses as losses
from millstream.contrib.slim import metrics as metrics
from millstream.contrib.slim import nets as nets
from millstream.contrib.slim import utils as utils
from millstream.ops.contrib import model_analyzer as model_analyzer
from millstream.ops.contrib.arg_scope import add_arg_scope as add_arg_scope
from millstream.ops.contrib.arg_scope import arg_scope as arg_scope
from millstream.ops.contrib.arg_scope import arg_scoped_arguments as arg_scoped_arguments
from millstream.ops.contrib.arg_scope import current_arg_scope as current_arg_scope
from millstream.ops.contrib.arg_scope import has_arg_scope as has_arg_scope
from millstream.ops.contrib.framework import assign_from_checkpoint_fn as assign_from_checkpoint_fn
from millstream.ops.contrib.framework import get_local_variables as get_local_variables
from millstream.ops.contrib.framework import get_model_variables as get_model_variables
from millstream.ops.contrib.framework import get_trainable_variables as get_trainable_variables
from millstream.ops.contrib.framework import get_variables as get_variables
from millstream.ops.contrib.framework import get_variables_by_name as get_variables_by_name
from millstream.ops.contrib.framework import get_variables_by_suffix as get_variables_by_suffix
from millstream.ops.contrib.framework import get_variables_to_restore as get_variables_to_restore
from millstream.ops.contrib.framework import l1_l2_regularizer as l1_l2_regularizer
from millstream.ops.contrib.framework import l1_regularizer as l1_regularizer
from millstream.ops.contrib.framework import l2_regularizer as l2_regularizer
from millstream.ops.contrib.framework import local_variable as local_variable
from millstream.ops.contrib.framework import model_variable as model_variable
from millstream.ops.contrib.framework import variable as variable
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
from millstream.ops.contrib.layers import flatten as flatten
from millstream.ops.contrib.layers import fully_connected as fully_connected
from millstream.ops.contrib.layers import layer_norm as layer_norm
from millstream.ops.contrib.layers import max_pool2d as max_pool2d
from millstream.ops.contrib.layers import maxout as maxout
from millstream.ops.contrib.layers import one_hot_encoding as one_hot_encoding
from millstream.ops.contrib.layers import repeat as repeat
from millstream.ops.contrib.layers import separable_conv2d as separable_conv2d
from millstream.ops.contrib.layers import softmax as softmax
from millstream.ops.contrib.layers import stack as stack
from millstream.ops.contrib.layers import unit_norm as unit_norm
from millstream.ops.contrib.more import assign_from_checkpoint as assign_from_checkpoint
from millstream.ops.contrib.more import assign_from_values as assign_from_values
from millstream.ops.contrib.more import assign_from_values_fn as assign_from_values_fn
from millstream.ops.contrib.more import bias_add as bias_add
from millstream.ops.contrib.more import filter_variables as filter_variables
from millstream.ops.contrib.more import get_unique_variable as get_unique_variable
from millstream.ops.contrib.more import get_variable_full_name as get_variable_full_name
from millstream.ops.contrib.more import group_norm as group_norm
from millstream.ops.contrib.more import instance_norm as instance_norm
from millstream.ops.variables.init_ops import variance_scaling_initializer as variance_scaling_initializer
from millstream.ops.variables.init_ops import xavier_initializer as xavier_initializer
from millstream.training.training_util import create_global_step as create_global_step
from millstream.training.training_util import get_global_step as get_global_step
from millstream.training.training_util import get_or_create_global_step as get_or_create_global_step

__all__ = [
    "add_arg_scope",
    "arg_scope",
    "arg_scoped_arguments",
    "assign_from_checkpoint",
    "assign_from_checkpoint_fn",
    "assign_from_values",
    "assign_from_values_fn",
    "avg_pool2d",
    "batch_norm",
    "bias_add",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "convolution",
    "convolution2d",
    "convolution2d_transpose",
    "create_global_step",
    "current_arg_scope",
    "dropout",
    "evaluation",
    "filter_variables",
    "flatten",
    "fully_connected",
    "get_global_step",
    "get_local_variables",
    "get_model_variables",
    "get_or_create_global_step",
    "get_trainable_variables",
    "get_unique_variable",
    "get_variable_full_name",
    "get_variables",
    "get_variables_by_name",
    "get_variables_by_suffix",
    "get_variables_to_restore",
    "group_norm",
    "has_arg_scope",
    "instance_norm",
    "l1_l2_regularizer",
    "l1_regularizer",
    "l2_regularizer",
    "layer_norm",
    "layers",
    "learning",
    "local_variable",
    "losses",
    "max_pool2d",
    "maxout",
    "metrics",
    "model_analyzer",
    "model_variable",
    "nets",
    "one_hot_encoding",
    "repeat",
    "separable_conv2d",
    "softmax",
    "stack",
    "unit_norm",
    "utils",
    "variable",
    "variance_scaling_initializer",
    "xavier_initializer",
]
