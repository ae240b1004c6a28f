# SPDX-License-Identifier: Apache-2.0
"""Cells and their wrappers in every kind of loop over time, with gradients."""

import tensorflow as tf, numpy as np

rs = np.random.RandomState(1)
X = rs.randn(3, 5, 4).astype(np.float32)
LN = [5, 2, 4]
tf.set_random_seed(7)
init = tf.random_uniform_initializer(-0.4, 0.4, seed=11)
x = tf.placeholder(tf.float32, [None, 5, 4])
ln = tf.placeholder(tf.int32, [None])
R = tf.nn.rnn_cell
outs = {}
with tf.variable_scope("all", initializer=init):
    for nm, c in [
        ("lstm", R.LSTMCell(3, use_peepholes=True, cell_clip=1.5, num_proj=2, proj_clip=0.5, forget_bias=0.5)),
        ("basic", R.BasicLSTMCell(3, state_is_tuple=True)),
        ("gru", R.GRUCell(3)),
        ("rnn", R.BasicRNNCell(3, activation=tf.nn.relu)),
    ]:
        outs[nm] = tf.nn.dynamic_rnn(c, x, sequence_length=ln, dtype=tf.float32, scope=nm)
    mc = R.MultiRNNCell([R.ResidualWrapper(R.GRUCell(4)), R.DropoutWrapper(R.LSTMCell(3), output_keep_prob=1.0)])
    outs["multi"] = tf.nn.dynamic_rnn(mc, x, ln, dtype=tf.float32, scope="multi", time_major=False, swap_memory=True)
    outs["bi"] = tf.nn.bidirectional_dynamic_rnn(R.GRUCell(2), R.GRUCell(2), x, ln, dtype=tf.float32)
    outs["st"] = tf.nn.static_rnn(
        R.BasicRNNCell(2), tf.unstack(x, axis=1), dtype=tf.float32, sequence_length=ln, scope="st"
    )
    outs["sbi"] = tf.nn.static_bidirectional_rnn(
        R.BasicRNNCell(2), R.BasicRNNCell(2), tf.unstack(x, axis=1), dtype=tf.float32, scope="sbi"
    )
    tm = tf.transpose(x, [1, 0, 2])
    outs["tm"] = tf.nn.dynamic_rnn(
        R.DeviceWrapper(R.GRUCell(2), "/cpu:0"), tm, initial_state=tf.ones([3, 2]), time_major=True, scope="tm"
    )
    cell = R.LSTMCell(3)

    def loop_fn(t, out, st, ls):
        emit = out
        if out is None:
            ns = cell.zero_state(3, tf.float32)
        else:
            ns = st
        fin = t >= ln
        return (
            fin,
            tf.cond(tf.reduce_all(fin), lambda: tf.zeros([3, 4]), lambda: tf.gather(tm, tf.minimum(t, 4))),
            ns,
            emit,
            None,
        )

    o, st, _ = tf.nn.raw_rnn(cell, loop_fn, scope="raw")
    outs["raw"] = (o.stack(), st)
print([(v.op.name, v.shape.as_list()) for v in tf.trainable_variables()])
tot = tf.add_n(
    [tf.reduce_sum(tf.square(t)) for t in [outs["lstm"][0], outs["multi"][0], outs["bi"][0][0], outs["raw"][0]]]
)
gr = tf.gradients(tot, tf.trainable_variables())
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    fd = {x: X, ln: LN}
    for k in outs:
        print(k, s.run(outs[k], fd))
    for v, g in zip(tf.trainable_variables(), gr):
        if g is not None:
            print(v.op.name, s.run(tf.reduce_sum(tf.abs(g)), fd))
    print(mc.state_size, mc.output_size, mc.zero_state(2, tf.float32))
    d = R.DropoutWrapper(
        R.GRUCell(4),
        input_keep_prob=0.5,
        state_keep_prob=0.8,
        variational_recurrent=True,
        dtype=tf.float32,
        input_size=4,
        seed=3,
    )
    o, _ = tf.nn.dynamic_rnn(d, x, dtype=tf.float32, scope="vd")
    s.run(tf.global_variables_initializer())
    print(s.run(o, fd).shape)
    d2 = R.DropoutWrapper(R.BasicRNNCell(4), output_keep_prob=0.5, seed=9)
    z = R.GRUCell(3).zero_state(2, tf.float32)
    print(z)
