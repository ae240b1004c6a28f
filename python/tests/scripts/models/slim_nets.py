# SPDX-License-Identifier: Apache-2.0
"""Nets of tf.contrib.slim.nets: variables, end points, strides, and numbers of small ones."""
# tolerance: 1e-3
import numpy as np
import tensorflow as tf

slim = tf.contrib.slim
from tensorflow.contrib.slim.nets import alexnet, resnet_utils, resnet_v1, resnet_v2, vgg


def show(title, net, end_points):
    print("==", title, net.shape)
    step = 1 if len(tf.global_variables()) < 40 else 29
    for v in tf.global_variables()[::step]:
        print(v.op.name, v.shape.as_list())
    for name in sorted(end_points)[::max(1, step // 4)]:
        print(name, end_points[name].shape)
    print(len(tf.global_variables()), len(end_points))
    print(len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)), len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)))
    tf.reset_default_graph()


def images(size=224):
    return tf.placeholder(tf.float32, [2, size, size, 3])


for net in (vgg.vgg_a, vgg.vgg_16, vgg.vgg_19):
    with slim.arg_scope(vgg.vgg_arg_scope()):
        show(net.__name__, *net(images(), 10, is_training=False))
with slim.arg_scope(alexnet.alexnet_v2_arg_scope()):
    show("alexnet", *alexnet.alexnet_v2(images(), 10, spatial_squeeze=False))
with slim.arg_scope(resnet_v1.resnet_arg_scope()):
    show("resnet_v1_50", *resnet_v1.resnet_v1_50(images(), 7, is_training=True))
with slim.arg_scope(resnet_v2.resnet_arg_scope(weight_decay=0.01)):
    show("resnet_v2_101", *resnet_v2.resnet_v2_101(images(65), None, is_training=False, global_pool=False, output_stride=8))

rng = np.random.RandomState(0)
pixels = rng.rand(2, 33, 33, 3).astype(np.float32)
for version, module in (("v1", resnet_v1), ("v2", resnet_v2)):
    block = getattr(module, f"resnet_{version}_block")
    for stride in (None, 8):
        tf.reset_default_graph()
        x = tf.placeholder(tf.float32, [2, 33, 33, 3])
        with slim.arg_scope(module.resnet_arg_scope(batch_norm_decay=0.9)):
            net, end_points = getattr(module, f"resnet_{version}")(
                x, [block("block1", 2, 2, 2), block("block2", 4, 2, 2)], 5, is_training=False, output_stride=stride, scope="small")
        assigns = [tf.assign(v, np.random.RandomState(i).uniform(0.05, 0.4, v.shape.as_list()) *
                             (-1 if i % 3 == 1 and "variance" not in v.name else 1)) for i, v in enumerate(tf.global_variables())]
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(assigns)
            out, predictions = sess.run([net, end_points["predictions"]], {x: pixels})
            print(version, stride, net.shape, np.round(out.astype(np.float64), 4).ravel().tolist())
            print(np.round(predictions.astype(np.float64), 4).ravel().tolist())
try:
    with slim.arg_scope(resnet_v1.resnet_arg_scope()):
        resnet_v1.resnet_v1_50(images(64), output_stride=6)
except ValueError as e:
    print(e)
