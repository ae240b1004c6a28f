# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
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

__all__ = [
    "avg_pool2d",
    "batch_norm",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "convolution",
    "convolution2d",
    "convolution2d_transpose",
    "dropout",
    "flatten",
    "fully_connected",
    "layer_norm",
    "max_pool2d",
    "maxout",
    "one_hot_encoding",
    "repeat",
    "separable_conv2d",
    "softmax",
    "stack",
    "unit_norm",
]
