# SPDX-License-Identifier: Apache-2.0
"""Sequence labels by a bidirectional LSTM over sequences of different lengths; masks; GRU and peepholes beside it."""
import numpy as np
import tensorflow as tf

rs = np.random.RandomState(2)
lengths = np.array([5, 3, 7, 1, 6, 4, 7, 2], np.int32)
words = np.zeros([8, 7], np.int32)
for row, n in enumerate(lengths):
    words[row, :n] = rs.randint(1, 20, n)
tags = (words % 3).astype(np.int64)

tf.reset_default_graph()
tf.set_random_seed(42)
w = tf.placeholder(tf.int32, [None, None], "words")
n = tf.placeholder(tf.int32, [None], "lengths")
t = tf.placeholder(tf.int64, [None, None], "tags")
with tf.variable_scope("embed"), tf.device("/cpu:0"):
    table = tf.get_variable("table", [20, 8])
    x = tf.nn.embedding_lookup(table, w)
with tf.variable_scope("bi-lstm"):
    fw = tf.nn.rnn_cell.LSTMCell(6, initializer=tf.orthogonal_initializer(seed=4))
    bw = tf.nn.rnn_cell.LSTMCell(6, use_peepholes=True, num_proj=5)
    (out_fw, out_bw), (state_fw, state_bw) = tf.nn.bidirectional_dynamic_rnn(fw, bw, x, sequence_length=n, dtype=tf.float32)
    output = tf.concat([out_fw, out_bw], axis=-1)
with tf.variable_scope("gru"):
    gru_out, gru_state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), x, sequence_length=n, dtype=tf.float32)
with tf.variable_scope("proj"):
    steps = tf.shape(output)[1]
    both = tf.concat([output, gru_out], 2)
    logits = tf.reshape(tf.layers.dense(tf.reshape(both, [-1, 15]), 3), [-1, steps, 3])
mask = tf.sequence_mask(n, steps)
losses = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=t)
loss = tf.reduce_mean(tf.boolean_mask(losses, mask))
correct = tf.equal(tf.argmax(logits, -1), t)
accuracy = tf.reduce_sum(tf.cast(tf.logical_and(correct, mask), tf.float32)) / tf.cast(tf.reduce_sum(n), tf.float32)
optimizer = tf.train.AdamOptimizer(0.02)
train = optimizer.apply_gradients([(tf.clip_by_norm(g, 1.0), v) for g, v in optimizer.compute_gradients(loss) if g is not None])
for v in tf.trainable_variables():
    print(v.name, v.shape.as_list())
print(output.shape, state_bw.c.shape, state_bw.h.shape, gru_state.shape)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feeds = {w: words, n: lengths, t: tags}
    for i in range(30):
        value, acc, _ = sess.run([loss, accuracy, train], feeds)
        if i % 6 == 0:
            print(i, value, acc)
    a, b, state, out = sess.run([out_fw, out_bw, state_fw, gru_state], feeds)
    print("last valid output is the state:", np.allclose(a[0, 4], state.h[0]), "beyond it zero:", not b[3, 1:].any())
    print(out.sum())
with tf.Graph().as_default(), tf.Session() as sess:
    tf.set_random_seed(3)
    frames = tf.unstack(tf.constant(rs.rand(4, 3, 5), tf.float32), axis=1)
    one = tf.nn.rnn_cell.BasicRNNCell(4)
    outputs, state = tf.nn.static_rnn(one, frames, dtype=tf.float32)
    both, _, _ = tf.nn.static_bidirectional_rnn(tf.nn.rnn_cell.GRUCell(3), tf.nn.rnn_cell.GRUCell(3), frames, dtype=tf.float32,
                                                scope="both")
    sess.run(tf.global_variables_initializer())
    print(len(outputs), sess.run(state).sum(), sess.run(tf.stack(both)).sum(), [v.name for v in tf.trainable_variables()])
