# SPDX-License-Identifier: Apache-2.0
"""A character model: a class, an embedding, two LSTM layers with dropout, clipped Adam, a rate that is assigned, sampling."""
import numpy as np
import tensorflow as tf

TEXT = "hello world, said the little machine to the larger one; hello world it said again and again. " * 6


class Config:
    rnn_size, num_layers, batch_size, seq_length, grad_clip = 24, 2, 4, 10, 5.0


class Model(object):
    def __init__(self, args, vocab_size, training=True):
        if not training:
            args.batch_size, args.seq_length = 1, 1
        with tf.variable_scope("rnnlm", reuse=None if training else True, initializer=tf.random_uniform_initializer(-0.2, 0.2)):
            cells = []
            for layer in range(args.num_layers):
                cell = tf.nn.rnn_cell.BasicLSTMCell(args.rnn_size, forget_bias=1.0, state_is_tuple=True)
                if training:
                    cell = tf.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=1.0)
                cells.append(cell)
            self.cell = tf.nn.rnn_cell.MultiRNNCell(cells, state_is_tuple=True)
            self.input_data = tf.placeholder(tf.int32, [args.batch_size, args.seq_length])
            self.targets = tf.placeholder(tf.int32, [args.batch_size, args.seq_length])
            self.initial_state = self.cell.zero_state(args.batch_size, tf.float32)
            embedding = tf.get_variable("embedding", [vocab_size, args.rnn_size])
            inputs = tf.nn.embedding_lookup(embedding, self.input_data)
            outputs, self.final_state = tf.nn.dynamic_rnn(self.cell, inputs, initial_state=self.initial_state)
            softmax_w = tf.get_variable("softmax_w", [args.rnn_size, vocab_size])
            softmax_b = tf.get_variable("softmax_b", [vocab_size], initializer=tf.zeros_initializer())
        self.logits = tf.matmul(tf.reshape(outputs, [-1, args.rnn_size]), softmax_w) + softmax_b
        self.probs = tf.nn.softmax(self.logits)
        if not training:
            return
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(self.targets, [-1]), logits=self.logits)
        self.cost = tf.reduce_sum(losses) / args.batch_size / args.seq_length
        self.lr = tf.Variable(0.0, trainable=False)
        tvars = tf.trainable_variables()
        grads, self.norm = tf.clip_by_global_norm(tf.gradients(self.cost, tvars), args.grad_clip)
        self.train_op = tf.train.AdamOptimizer(self.lr).apply_gradients(zip(grads, tvars))


chars = sorted(set(TEXT))
vocab = {c: i for i, c in enumerate(chars)}
encoded = np.array([vocab[c] for c in TEXT], np.int32)
args = Config()
per_batch = args.batch_size * args.seq_length
num_batches = (len(encoded) - 1) // per_batch
xs = np.split(encoded[:num_batches * per_batch].reshape(args.batch_size, -1), num_batches, 1)
ys = np.split(encoded[1:num_batches * per_batch + 1].reshape(args.batch_size, -1), num_batches, 1)

tf.set_random_seed(1)
model = Model(args, len(chars))
sampler = Model(Config(), len(chars), training=False)
print([v.name for v in tf.trainable_variables()])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for e in range(4):
        sess.run(tf.assign(model.lr, 0.02 * (0.9**e)))
        state = sess.run(model.initial_state)
        for b in range(num_batches):
            feed = {model.input_data: xs[b], model.targets: ys[b]}
            for i, (c, h) in enumerate(model.initial_state):
                feed[c] = state[i].c
                feed[h] = state[i].h
            cost, norm, state, _ = sess.run([model.cost, model.norm, model.final_state, model.train_op], feed)
        print("epoch %d cost %.3f norm %.2f" % (e, cost, norm))
    state = sess.run(sampler.cell.zero_state(1, tf.float32))
    out, char = "h", "h"
    for _ in range(12):
        feed = {sampler.input_data: [[vocab[char]]], sampler.initial_state: state}
        probs, state = sess.run([sampler.probs, sampler.final_state], feed)
        char = chars[int(np.argmax(probs[0]))]
        out += char
    print("sample", len(out), probs.shape, type(state).__name__, type(state[0]).__name__)
