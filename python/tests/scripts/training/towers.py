# SPDX-License-Identifier: Apache-2.0
"""Towers that share variables, on devices that may not be there; averaged gradients and moving averages."""

import tensorflow as tf, numpy as np


def average_gradients(tg):
    out = []
    for gv in zip(*tg):
        gs = [tf.expand_dims(g, 0) for g, _ in gv]
        out.append((tf.reduce_mean(tf.concat(axis=0, values=gs), 0), gv[0][1]))
    return out


rs = np.random.RandomState(0)
I = rs.rand(8, 8, 8, 3).astype(np.float32)
L = rs.randint(0, 3, 8)


def _variable_on_cpu(name, shape, init):
    with tf.device("/cpu:0"):
        return tf.get_variable(name, shape, initializer=init, dtype=tf.float32)


def _wd(name, shape, std, wd, seed):
    v = _variable_on_cpu(name, shape, tf.truncated_normal_initializer(stddev=std, seed=seed))
    if wd is not None:
        tf.add_to_collection("losses", tf.multiply(tf.nn.l2_loss(v), wd, name="weight_loss"))
    return v


def inference(x):
    with tf.variable_scope("conv1") as sc:
        k = _wd("weights", [3, 3, 3, 4], 0.1, 0.001, 1)
        c = tf.nn.conv2d(x, k, [1, 1, 1, 1], padding="SAME")
        h = tf.nn.relu(tf.nn.bias_add(c, _variable_on_cpu("biases", [4], tf.constant_initializer(0.1))), name=sc.name)
        tf.summary.histogram(sc.name + "/act", h)
        tf.summary.scalar(sc.name + "/sparsity", tf.nn.zero_fraction(h))
    p = tf.nn.max_pool(h, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME", name="pool1")
    n = tf.nn.lrn(p, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75, name="norm1")
    with tf.variable_scope("fc") as sc:
        r = tf.reshape(n, [-1, 64])
        return tf.add(
            tf.matmul(r, _wd("weights", [64, 3], 1 / 64.0, 0.0, 2)),
            _variable_on_cpu("biases", [3], tf.constant_initializer(0.0)),
            name=sc.name,
        )


with tf.Graph().as_default(), tf.device("/cpu:0"):
    gs = tf.get_variable("global_step", [], initializer=tf.constant_initializer(0), trainable=False)
    lr = tf.train.exponential_decay(0.1, gs, 5, 0.5, staircase=True)
    opt = tf.train.GradientDescentOptimizer(lr)
    tg = []
    with tf.variable_scope(tf.get_variable_scope()):
        for i in range(2):
            with tf.device("/gpu:%d" % i):
                with tf.name_scope("%s_%d" % ("tower", i)) as scope:
                    lo = inference(tf.constant(I[i * 4 : i * 4 + 4]))
                    ce = tf.nn.sparse_softmax_cross_entropy_with_logits(
                        labels=tf.constant(L[i * 4 : i * 4 + 4]), logits=lo, name="ce"
                    )
                    tf.add_to_collection("losses", tf.reduce_mean(ce))
                    ls = tf.get_collection("losses", scope)
                    loss = tf.add_n(ls, name="total_loss")
                    tf.get_variable_scope().reuse_variables()
                    sm = tf.get_collection(tf.GraphKeys.SUMMARIES, scope)
                    tg.append(opt.compute_gradients(loss))
                    print(scope, len(ls), [s.op.name for s in sm], loss.name)
    g = average_gradients(tg)
    ap = opt.apply_gradients(g, global_step=gs)
    va = tf.train.ExponentialMovingAverage(0.9, gs)
    vop = va.apply(tf.trainable_variables())
    train = tf.group(ap, vop)
    saver = tf.train.Saver(tf.global_variables())
    print(
        [v.op.name for v in tf.global_variables()],
        [v.device for v in tf.global_variables()][:3],
        [x.op.name for x, _ in g],
    )
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as s:
        s.run(tf.global_variables_initializer())
        for i in range(6):
            _, l = s.run([train, loss])
            print("%.5f" % l)
        print(s.run([lr, gs]))
