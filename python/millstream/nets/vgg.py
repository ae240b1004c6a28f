# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.slim.nets.vgg: Simonyan and Zisserman's nets (2014)."""
from millstream import gen_ops
from millstream.ops.array import array_ops
from millstream.ops.contrib import framework as contrib_framework, layers
from millstream.ops.variables import init_ops
from millstream.ops.variables import variable_scope as vs
from millstream.ops.contrib.arg_scope import arg_scope
from millstream.ops.contrib.utils import convert_collection_to_dict


def vgg_arg_scope(weight_decay=0.0005):
    with arg_scope([layers.conv2d, layers.fully_connected], activation_fn=gen_ops.relu,
                   weights_regularizer=contrib_framework.l2_regularizer(weight_decay), biases_initializer=init_ops.Zeros()):
        with arg_scope([layers.conv2d], padding="SAME") as scope:
            return scope


def _vgg(name, repeats):
    """The net with so many convolutions before each of its five poolings."""
    def net(inputs, num_classes=1000, is_training=True, dropout_keep_prob=0.5, spatial_squeeze=True, scope=name):
        with vs.variable_scope(scope, name, [inputs]) as sc:
            collection = sc.original_name_scope + "_end_points"
            with arg_scope([layers.conv2d, layers.fully_connected, layers.max_pool2d], outputs_collections=collection):
                x = inputs
                for i, (times, width) in enumerate(zip(repeats, (64, 128, 256, 512, 512)), 1):
                    x = layers.repeat(x, times, layers.conv2d, width, [3, 3], scope=f"conv{i}")
                    x = layers.max_pool2d(x, [2, 2], scope=f"pool{i}")
                x = layers.conv2d(x, 4096, [7, 7], padding="VALID", scope="fc6")
                x = layers.dropout(x, dropout_keep_prob, is_training=is_training, scope="dropout6")
                x = layers.conv2d(x, 4096, [1, 1], scope="fc7")
                x = layers.dropout(x, dropout_keep_prob, is_training=is_training, scope="dropout7")
                x = layers.conv2d(x, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="fc8")
            end_points = convert_collection_to_dict(collection)
            if spatial_squeeze:
                x = array_ops.squeeze(x, [1, 2], name="fc8/squeezed")
                end_points[sc.name + "/fc8"] = x
            return x, end_points
    net.__name__ = name
    net.default_image_size = 224
    return net


vgg_a, vgg_16, vgg_19 = _vgg("vgg_a", (1, 1, 2, 2, 2)), _vgg("vgg_16", (2, 2, 3, 3, 3)), _vgg("vgg_19", (2, 2, 4, 4, 4))
vgg_d, vgg_e = vgg_16, vgg_19
