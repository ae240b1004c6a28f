# SPDX-License-Identifier: Apache-2.0
"""An encoder and a decoder with attention by hand, tf.nn.raw_rnn, teacher forcing, buckets by tf.pad; CTC."""
import numpy as np
import tensorflow as tf

PAD, EOS, V, E, H = 0, 1, 10, 6, 7
rs = np.random.RandomState(1)
lengths = np.array([3, 5, 2], np.int32)
source = np.zeros([5, 3], np.int32)
for b, n in enumerate(lengths):
    source[:n, b] = rs.randint(2, V, n)

tf.set_random_seed(7)
encoder_inputs = tf.placeholder(tf.int32, [None, None], name="encoder_inputs")
encoder_lengths = tf.placeholder(tf.int32, [None], name="encoder_lengths")
decoder_targets = tf.placeholder(tf.int32, [None, None], name="decoder_targets")
embeddings = tf.Variable(tf.random_uniform([V, E], -1.0, 1.0), dtype=tf.float32)
embedded = tf.nn.embedding_lookup(embeddings, encoder_inputs)
(fw_out, bw_out), (fw_state, bw_state) = tf.nn.bidirectional_dynamic_rnn(
    tf.nn.rnn_cell.LSTMCell(H), tf.nn.rnn_cell.LSTMCell(H), embedded, sequence_length=encoder_lengths, dtype=tf.float32,
    time_major=True)
encoder_state = tf.nn.rnn_cell.LSTMStateTuple(c=tf.concat((fw_state.c, bw_state.c), 1), h=tf.concat((fw_state.h, bw_state.h), 1))
decoder_cell = tf.nn.rnn_cell.LSTMCell(2 * H)
max_time, batch = tf.unstack(tf.shape(encoder_inputs))
decoder_lengths = encoder_lengths + 3
W = tf.Variable(tf.random_uniform([2 * H, V], -1, 1), dtype=tf.float32)
b = tf.Variable(tf.zeros([V]), dtype=tf.float32)
eos_step = tf.nn.embedding_lookup(embeddings, tf.ones([batch], tf.int32) * EOS)
pad_step = tf.nn.embedding_lookup(embeddings, tf.zeros([batch], tf.int32))


def loop_fn_initial():
    return 0 >= decoder_lengths, eos_step, encoder_state, None, None


def loop_fn_transition(time, output, state, loop_state):
    def next_input():
        prediction = tf.argmax(tf.add(tf.matmul(output, W), b), axis=1)
        return tf.nn.embedding_lookup(embeddings, prediction)
    elements_finished = time >= decoder_lengths
    finished = tf.reduce_all(elements_finished)
    return elements_finished, tf.cond(finished, lambda: pad_step, next_input), state, output, None


def loop_fn(time, output, state, loop_state):
    if state is None:
        return loop_fn_initial()
    return loop_fn_transition(time, output, state, loop_state)


outputs_ta, final_state, _ = tf.nn.raw_rnn(decoder_cell, loop_fn)
outputs = outputs_ta.stack()
steps, rows, dim = tf.unstack(tf.shape(outputs))
logits = tf.reshape(tf.add(tf.matmul(tf.reshape(outputs, (-1, dim)), W), b), (steps, rows, V))
prediction = tf.argmax(logits, 2)
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.one_hot(decoder_targets, V), logits=logits))
train_op = tf.train.AdamOptimizer(0.02).minimize(loss)

targets = np.zeros([8, 3], np.int32)
targets[:5] = source
for k, n in enumerate(lengths):
    targets[n, k] = EOS
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {encoder_inputs: source, encoder_lengths: lengths, decoder_targets: targets}
    for i in range(25):
        value, _ = sess.run([loss, train_op], feed)
        if i % 6 == 0:
            print("batch", i, "loss", value)
    print(sess.run(prediction, feed).shape, sess.run(final_state, feed).h.shape, logits.shape)

# Attention by hand over static steps.
tf.reset_default_graph()
tf.set_random_seed(8)
memory = tf.constant(rs.randn(2, 4, 5), tf.float32)
query = tf.zeros([2, 5])
cell = tf.nn.rnn_cell.GRUCell(5)
keys = tf.layers.conv1d(memory, 5, 1, use_bias=False, name="keys")
weights = []
with tf.variable_scope("decode") as scope:
    for step in range(3):
        if step > 0:
            scope.reuse_variables()
        scores = tf.reduce_sum(tf.tanh(keys + tf.expand_dims(tf.layers.dense(query, 5, name="q"), 1)), 2)
        alpha = tf.nn.softmax(scores)
        context = tf.einsum("bt,btd->bd", alpha, memory)
        _, query = cell(context, query)
        weights.append(alpha)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(tf.stack(weights, 1))[0], sess.run(tf.reduce_sum(query)))

# CTC.
with tf.Graph().as_default(), tf.Session() as sess:
    inputs = tf.Variable(rs.randn(6, 2, 4).astype(np.float32))
    labels = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 2, 0], [2, 2])
    seq_len = tf.constant([6, 4])
    cost = tf.reduce_mean(tf.nn.ctc_loss(labels, inputs, seq_len))
    step = tf.train.MomentumOptimizer(0.5, 0.9).minimize(cost)
    decoded, log_prob = tf.nn.ctc_greedy_decoder(inputs, seq_len)
    ler = tf.reduce_mean(tf.edit_distance(tf.cast(decoded[0], tf.int32), labels))
    sess.run(tf.global_variables_initializer())
    for i in range(9):
        c, e, _ = sess.run([cost, ler, step])
        if i % 4 == 0:
            print("ctc", c, e)
    print(sess.run(decoded[0]).values, sess.run(log_prob).ravel())
