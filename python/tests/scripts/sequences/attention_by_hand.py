# SPDX-License-Identifier: Apache-2.0
"""An encoder, and a decoder with attention in a while_loop; teacher forcing and greedy decoding."""

import tensorflow as tf, numpy as np

tf.set_random_seed(0)
rs = np.random.RandomState(1)
V, E, H, B, T = (12, 6, 8, 4, 5)
src = tf.placeholder(tf.int32, [B, T])
tgt = tf.placeholder(tf.int32, [B, T])
L = tf.placeholder(tf.int32, [B])
init = tf.random_uniform_initializer(-0.3, 0.3, seed=2)
with tf.variable_scope("m", initializer=init):
    emb = tf.get_variable("emb", [V, E])
    cell = tf.nn.rnn_cell.GRUCell(H)
    enc, st = tf.nn.dynamic_rnn(cell, tf.nn.embedding_lookup(emb, src), L, dtype=tf.float32, scope="enc")
    W = tf.get_variable("W", [H, H])
    P = tf.get_variable("P", [2 * H, V])
    dc = tf.nn.rnn_cell.GRUCell(H)

    def attend(h):
        sc = tf.reduce_sum(tf.expand_dims(tf.matmul(h, W), 1) * enc, 2)
        sc += (1.0 - tf.sequence_mask(L, T, dtype=tf.float32)) * -1000000000.0
        a = tf.nn.softmax(sc)
        return (tf.reduce_sum(tf.expand_dims(a, 2) * enc, 1), a)

    def step(x, h):
        with tf.variable_scope("dec", reuse=tf.AUTO_REUSE):
            o, h = dc(tf.nn.embedding_lookup(emb, x), h)
        c, a = attend(o)
        return (tf.matmul(tf.concat([o, c], 1), P), h, a)

    ins = tf.concat([tf.ones([B, 1], tf.int32), tgt[:, :-1]], 1)
    inta = tf.TensorArray(tf.int32, T).unstack(tf.transpose(ins))

    def body(t, h, ta, at):
        lo, h, a = step(inta.read(t), h)
        return (t + 1, h, ta.write(t, lo), at.write(t, a))

    _, _, ta, at = tf.while_loop(
        lambda t, *_: t < T, body, [0, st, tf.TensorArray(tf.float32, T), tf.TensorArray(tf.float32, T)]
    )
    lo = tf.transpose(ta.stack(), [1, 0, 2])
    msk = tf.sequence_mask(L, T, dtype=tf.float32)
    xe = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tgt, logits=lo)
    loss = tf.reduce_sum(xe * msk) / tf.reduce_sum(msk)
    opt = tf.train.AdamOptimizer(0.05)
    g, v = zip(*opt.compute_gradients(loss))
    g, n = tf.clip_by_global_norm(g, 1.0)
    train = opt.apply_gradients(zip(g, v))

    def gbody(t, x, h, ta):
        l, h, _ = step(x, h)
        y = tf.argmax(l, 1, output_type=tf.int32)
        return (t + 1, y, h, ta.write(t, y))

    _, _, _, gt = tf.while_loop(
        lambda t, *_: t < T, gbody, [0, tf.ones([B], tf.int32), st, tf.TensorArray(tf.int32, T, dynamic_size=True)]
    )
    greedy = tf.transpose(gt.stack())
S = rs.randint(2, V, (B, T))
fd = {src: S, tgt: S[:, ::-1], L: [5, 3, 4, 5]}
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    print([v.op.name for v in tf.trainable_variables()])
    for i in range(6):
        l, _, gn = s.run([loss, train, n], fd)
        print("%.5f %.5f" % (l, gn))
    print(s.run(greedy, fd).shape, s.run(at.stack(), fd).sum())
