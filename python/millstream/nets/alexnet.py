# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.slim.nets.alexnet: Krizhevsky's net, in the form of 2014."""
from millstream import gen_ops
from millstream.ops.array import array_ops
from millstream.ops.contrib import framework as contrib_framework, layers
from millstream.ops.variables import init_ops
from millstream.ops.variables import variable_scope as vs
from millstream.ops.contrib.arg_scope import arg_scope
from millstream.ops.contrib.utils import convert_collection_to_dict


def alexnet_v2_arg_scope(weight_decay=0.0005):
    with arg_scope([layers.conv2d, layers.fully_connected], activation_fn=gen_ops.relu, biases_initializer=init_ops.Constant(0.1),
                   weights_regularizer=contrib_framework.l2_regularizer(weight_decay)):
        with arg_scope([layers.conv2d], padding="SAME"):
            with arg_scope([layers.max_pool2d], padding="VALID") as scope:
                return scope


def alexnet_v2(inputs, num_classes=1000, is_training=True, dropout_keep_prob=0.5, spatial_squeeze=True, scope="alexnet_v2"):
    with vs.variable_scope(scope, "alexnet_v2", [inputs]) as sc:
        collection = sc.original_name_scope + "_end_points"
        with arg_scope([layers.conv2d, layers.fully_connected, layers.max_pool2d], outputs_collections=[collection]):
            net = layers.conv2d(inputs, 64, [11, 11], 4, padding="VALID", scope="conv1")
            net = layers.max_pool2d(net, [3, 3], 2, scope="pool1")
            net = layers.conv2d(net, 192, [5, 5], scope="conv2")
            net = layers.max_pool2d(net, [3, 3], 2, scope="pool2")
            for i, width in ((3, 384), (4, 384), (5, 256)):
                net = layers.conv2d(net, width, [3, 3], scope=f"conv{i}")
            net = layers.max_pool2d(net, [3, 3], 2, scope="pool5")
            with arg_scope([layers.conv2d], weights_initializer=init_ops.TruncatedNormal(0.0, 0.005),
                           biases_initializer=init_ops.Constant(0.1)):
                net = layers.conv2d(net, 4096, [5, 5], padding="VALID", scope="fc6")
                net = layers.dropout(net, dropout_keep_prob, is_training=is_training, scope="dropout6")
                net = layers.conv2d(net, 4096, [1, 1], scope="fc7")
                net = layers.dropout(net, dropout_keep_prob, is_training=is_training, scope="dropout7")
                net = layers.conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None,
                                    biases_initializer=init_ops.Zeros(), scope="fc8")
        end_points = convert_collection_to_dict(collection)
        if spatial_squeeze:
            net = array_ops.squeeze(net, [1, 2], name="fc8/squeezed")
            end_points[sc.name + "/fc8"] = net
        return net, end_points


alexnet_v2.default_image_size = 224  # type: ignore[attr-defined]  # as slim's networks have it
