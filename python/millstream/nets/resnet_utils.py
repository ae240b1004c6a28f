# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.slim.nets.resnet_utils: what both forms of residual nets (He et al., 2015 and 2016) are made of."""
import collections

from millstream import gen_ops
from millstream.framework import ops
from millstream.ops.array import array_ops
from millstream.ops.contrib import framework as contrib_framework, layers
from millstream.ops.math import reduce_ops
from millstream.ops.variables import init_ops
from millstream.ops.variables import variable_scope as vs
from millstream.ops.contrib.arg_scope import add_arg_scope, arg_scope
from millstream.ops.contrib.utils import collect_named_outputs, convert_collection_to_dict

Block = collections.namedtuple("Block", "scope unit_fn args")


def subsample(inputs, factor, scope=None):
    return inputs if factor == 1 else layers.max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


def conv2d_same(inputs, num_outputs, kernel_size, stride, rate=1, scope=None):
    """A convolution whose padding does not depend on the size of the image."""
    if stride == 1:
        return layers.conv2d(inputs, num_outputs, kernel_size, stride=1, rate=rate, padding="SAME", scope=scope)
    around = (kernel_size - 1) * rate
    sides = [around // 2, around - around // 2]
    inputs = array_ops.pad(inputs, [[0, 0], sides, sides, [0, 0]])
    return layers.conv2d(inputs, num_outputs, kernel_size, stride=stride, rate=rate, padding="VALID", scope=scope)


@add_arg_scope
def stack_blocks_dense(net, blocks, output_stride=None, outputs_collections=None):
    """Blocks of units. Once the strides come to `output_stride`, later ones widen the kernels instead."""
    stride, rate = 1, 1
    for block in blocks:
        with vs.variable_scope(block.scope, "block", [net]) as sc:
            for i, unit in enumerate(block.args):
                if output_stride is not None and stride > output_stride:
                    raise ValueError("The target output_stride cannot be reached.")
                with vs.variable_scope(f"unit_{i + 1}", values=[net]):
                    if output_stride is not None and stride == output_stride:
                        net = block.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= unit.get("stride", 1)
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        stride *= unit.get("stride", 1)
            net = collect_named_outputs(outputs_collections, sc.name, net)
    if output_stride is not None and stride != output_stride:
        raise ValueError("The target output_stride cannot be reached.")
    return net


def resnet_arg_scope(weight_decay=0.0001, batch_norm_decay=0.997, batch_norm_epsilon=1e-5, batch_norm_scale=True):
    settings = {"decay": batch_norm_decay, "epsilon": batch_norm_epsilon, "scale": batch_norm_scale,
                "updates_collections": ops.GraphKeys.UPDATE_OPS}
    with arg_scope([layers.conv2d], weights_regularizer=contrib_framework.l2_regularizer(weight_decay),
                   weights_initializer=init_ops.variance_scaling_initializer(), activation_fn=gen_ops.relu,
                   normalizer_fn=layers.batch_norm, normalizer_params=settings):
        with arg_scope([layers.batch_norm], **settings):
            with arg_scope([layers.max_pool2d], padding="SAME") as scope:
                return scope


def bottleneck_block(unit_fn, scope, base_depth, num_units, stride):
    """Units of base_depth and four times that; the last has the stride."""
    unit = {"depth": base_depth * 4, "depth_bottleneck": base_depth}
    return Block(scope, unit_fn, [{**unit, "stride": 1}] * (num_units - 1) + [{**unit, "stride": stride}])


def _root(net, output_stride, root_arguments):
    if output_stride is not None:
        if output_stride % 4:
            raise ValueError("The output_stride needs to be a multiple of 4.")
        output_stride /= 4
    with arg_scope([layers.conv2d], **root_arguments):
        net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
    return layers.max_pool2d(net, [3, 3], stride=2, scope="pool1"), output_stride


def resnet(name, unit_fn, root_arguments, finish):
    """The function that builds nets of `unit_fn`; `finish` comes after the blocks."""
    def build(inputs, blocks, num_classes=None, is_training=True, global_pool=True, output_stride=None, include_root_block=True,
              reuse=None, scope=None):
        with vs.variable_scope(scope, name, [inputs], reuse=reuse) as sc:
            collection = sc.original_name_scope + "_end_points"
            with arg_scope([layers.conv2d, unit_fn, stack_blocks_dense], outputs_collections=collection):
                with arg_scope([layers.batch_norm], is_training=is_training):
                    net = inputs
                    if include_root_block:
                        net, output_stride = _root(net, output_stride, root_arguments)
                    net = finish(stack_blocks_dense(net, blocks, output_stride))
                    if global_pool:
                        net = reduce_ops.reduce_mean(net, [1, 2], name="pool5", keepdims=True)
                    if num_classes is not None:
                        net = layers.conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="logits")
                    end_points = convert_collection_to_dict(collection)
                    if num_classes is not None:
                        end_points["predictions"] = layers.softmax(net, scope="predictions")
                    return net, end_points
    build.__name__ = name
    build.default_image_size = 224
    return build


UNITS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3)}


def with_layers(build, block, count):
    """The net with so many layers."""
    def net(inputs, num_classes=None, is_training=True, global_pool=True, output_stride=None, reuse=None,
            scope=f"{build.__name__}_{count}"):
        blocks = [block(f"block{i + 1}", base_depth=64 << i, num_units=units, stride=1 if i == 3 else 2)
                  for i, units in enumerate(UNITS[count])]
        return build(inputs, blocks, num_classes, is_training, global_pool, output_stride, include_root_block=True, reuse=reuse,
                     scope=scope)
    net.__name__ = f"{build.__name__}_{count}"
    net.default_image_size = 224
    return net
