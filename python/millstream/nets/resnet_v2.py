# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.slim.nets.resnet_v2: normalization before each convolution."""
from millstream import gen_ops
from millstream.nets import resnet_utils
from millstream.ops.contrib import layers
from millstream.ops.variables import variable_scope as vs
from millstream.ops.contrib.arg_scope import add_arg_scope
from millstream.ops.contrib.utils import collect_named_outputs

resnet_arg_scope = resnet_utils.resnet_arg_scope


@add_arg_scope
def bottleneck(inputs, depth, depth_bottleneck, stride, rate=1, outputs_collections=None, scope=None):
    with vs.variable_scope(scope, "bottleneck_v2", [inputs]) as sc:
        before = layers.batch_norm(inputs, activation_fn=gen_ops.relu, scope="preact")
        if depth == inputs.shape.as_list()[-1]:
            shortcut = resnet_utils.subsample(inputs, stride, "shortcut")
        else:
            shortcut = layers.conv2d(before, depth, [1, 1], stride=stride, normalizer_fn=None, activation_fn=None, scope="shortcut")
        residual = layers.conv2d(before, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = resnet_utils.conv2d_same(residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        residual = layers.conv2d(residual, depth, [1, 1], stride=1, normalizer_fn=None, activation_fn=None, scope="conv3")
        return collect_named_outputs(outputs_collections, sc.name, shortcut + residual)


def resnet_v2_block(scope, base_depth, num_units, stride):
    return resnet_utils.bottleneck_block(bottleneck, scope, base_depth, num_units, stride)


resnet_v2 = resnet_utils.resnet("resnet_v2", bottleneck, {"activation_fn": None, "normalizer_fn": None},
                                lambda net: layers.batch_norm(net, activation_fn=gen_ops.relu, scope="postnorm"))
resnet_v2_50, resnet_v2_101, resnet_v2_152, resnet_v2_200 = [
    resnet_utils.with_layers(resnet_v2, resnet_v2_block, n) for n in (50, 101, 152, 200)]
