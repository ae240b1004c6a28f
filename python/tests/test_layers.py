# SPDX-License-Identifier: Apache-2.0
"""tf.layers and recurrent networks against NumPy."""
import numpy as np
import pytest

import millstream as tf


def _run(fetches, feeds=None):
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return sess.run(fetches, feeds)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


X = np.random.RandomState(0).randn(2, 4, 3).astype(np.float32)


def test_dense():
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.layers.dense(x, 2, activation=tf.nn.relu, kernel_regularizer=lambda w: tf.reduce_sum(w * w))
    assert y.op.name == "dense/Relu" and y.shape.as_list() == [None, 2]
    assert [v.name for v in tf.trainable_variables()] == ["dense/kernel:0", "dense/bias:0"]
    kernel, got, loss = _run([tf.trainable_variables()[0], y, tf.losses.get_regularization_loss()], {x: X[0]})
    np.testing.assert_allclose(got, np.maximum(X[0] @ kernel, 0), rtol=1e-5)
    np.testing.assert_allclose(loss, (kernel**2).sum(), rtol=1e-5)


def test_dense_reuse_and_rank_3():
    with tf.variable_scope("a"):
        one = tf.layers.dense(X, 2, name="d")
    with tf.variable_scope("a", reuse=True):
        two = tf.layers.dense(X, 2, name="d")
    three = tf.layers.dense(X, 2, name="e")
    four = tf.layers.dense(X, 2, name="e", reuse=True)
    assert [v.op.name for v in tf.global_variables()] == ["a/d/kernel", "a/d/bias", "e/kernel", "e/bias"]
    with pytest.raises(ValueError):
        tf.layers.dense(X, 2, name="e")
    got = _run([one, two, three, four, tf.global_variables()[0]])
    np.testing.assert_allclose(got[0], X @ got[4], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(got[0], got[1])
    np.testing.assert_array_equal(got[2], got[3])
    with pytest.raises(ValueError):
        tf.layers.dense(tf.placeholder(tf.float32, [2, None]), 2)


def test_layer_objects_share_their_variables():
    layer = tf.layers.Dense(2)
    one, two = layer(X[0]), layer(X[1])
    assert len(tf.trainable_variables()) == 2 and layer.name == "dense" and len(layer.weights) == 2
    got = _run([one, two, layer.kernel])
    np.testing.assert_allclose(got[1], X[1] @ got[2], rtol=1e-5, atol=1e-6)


def test_custom_layer():
    class Scale(tf.layers.Layer):
        def build(self, shape):
            self.factor = self.add_weight("factor", [int(shape[-1])], initializer=tf.constant_initializer(2.0))
            super().build(shape)

        def call(self, x):
            return x * self.factor

    y = Scale()(tf.constant(X))
    assert tf.trainable_variables()[0].op.name == "scale/factor"
    np.testing.assert_allclose(_run(y), X * 2)


def test_convolutions_have_tensorflows_shapes_and_names():
    images = tf.placeholder(tf.float32, [None, 8, 8, 3])
    c = tf.layers.conv2d(images, 4, 3, padding="same", activation=tf.nn.relu)
    p = tf.layers.max_pooling2d(c, 2, 2)
    a = tf.layers.average_pooling2d(c, [2, 2], 2, padding="same")
    t = tf.layers.conv2d_transpose(p, 2, 3, 2, padding="same")
    s = tf.layers.separable_conv2d(images, 5, [3, 3], strides=2)
    f = tf.layers.flatten(p)
    one = tf.layers.conv1d(X, 4, 3)
    pooled = [tf.layers.max_pooling1d(tf.constant(X), 2, 2), tf.layers.average_pooling1d(tf.constant(X), 2, 1)]
    assert c.op.name == "conv2d/Relu" and p.op.name == "max_pooling2d/MaxPool"
    for got, want in ((c, [None, 8, 8, 4]), (p, [None, 4, 4, 4]), (a, [None, 4, 4, 4]), (t, [None, 8, 8, 2]),
                      (s, [None, 3, 3, 5]),
                      (f, [None, 64]), (one, [2, 2, 4]), (pooled[0], [2, 2, 3]), (pooled[1], [2, 3, 3])):
        assert got.shape.as_list() == want
    assert [v.op.name for v in tf.trainable_variables()][:2] == ["conv2d/kernel", "conv2d/bias"]
    loss = sum(tf.reduce_sum(x * x) for x in (c, a, t, s, f, one))
    grads = tf.gradients(loss, tf.trainable_variables())
    assert all(g is not None for g in grads)
    values = _run([t, f, one, pooled, grads], {images: np.random.rand(2, 8, 8, 3)})
    np.testing.assert_allclose(values[3][0], np.maximum(X[:, 0::2], X[:, 1::2]))


def test_dropout_layer():
    x = tf.ones([1000])
    training = tf.placeholder(tf.bool, [])
    y = tf.layers.dropout(x, 0.25, training=training)
    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(y, {training: False}), np.ones(1000))
        got = sess.run(y, {training: True})
    assert set(np.unique(got)) <= {0, np.float32(4 / 3)} and abs(got.mean() - 1) < 0.2
    assert tf.layers.dropout(x, 0.5).op.type == "Identity"


@pytest.mark.parametrize("rank", [2, 4])
def test_batch_normalization(rank):
    data = np.random.RandomState(1).randn(*([6, 5, 5, 3] if rank == 4 else [6, 3])).astype(np.float32)
    x = tf.placeholder(tf.float32, [None] + list(data.shape[1:]))
    training = tf.placeholder(tf.bool, [])
    y = tf.layers.batch_normalization(x, training=training, momentum=0.9)
    names = ["gamma", "beta", "moving_mean", "moving_variance"]
    assert [v.op.name for v in tf.global_variables()] == ["batch_normalization/" + n for n in names]
    assert len(tf.trainable_variables()) == 2
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert len(updates) == 2
    axes = tuple(range(rank - 1))
    mean, var = data.mean(axes), data.var(axes)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        got = sess.run(y, {x: data, training: True})
        np.testing.assert_allclose(got, (data - mean) / np.sqrt(var + 1e-3), rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(sess.run(y, {x: data, training: False}), data / np.sqrt(1.001), rtol=1e-3)
        sess.run(updates, {x: data, training: True})
        np.testing.assert_allclose(sess.run(tf.global_variables()[2]), mean * 0.1, rtol=1e-3, atol=1e-6)
        before = sess.run(tf.global_variables()[3])
        sess.run(updates, {x: data, training: False})
        np.testing.assert_array_equal(sess.run(tf.global_variables()[3]), before)


def _lstm(x, c, h, kernel, bias, forget=1.0):
    i, j, f, o = np.split(np.concatenate([x, h], 1) @ kernel + bias, 4, axis=1)
    c = c * _sigmoid(f + forget) + _sigmoid(i) * np.tanh(j)
    return c, np.tanh(c) * _sigmoid(o)


def test_basic_lstm_with_lengths():
    lengths = [2, 4]
    cell = tf.nn.rnn_cell.BasicLSTMCell(3)
    outputs, state = tf.nn.dynamic_rnn(cell, tf.constant(X), sequence_length=lengths, dtype=tf.float32)
    names = [v.op.name for v in tf.trainable_variables()]
    assert names == ["rnn/basic_lstm_cell/kernel", "rnn/basic_lstm_cell/bias"]
    assert isinstance(state, tf.nn.rnn_cell.LSTMStateTuple) and outputs.shape.as_list() == [2, 4, 3]
    got, (c_got, h_got), (kernel, bias) = _run([outputs, state, tf.trainable_variables()])
    for b, length in enumerate(lengths):
        c = h = np.zeros((1, 3), np.float32)
        for t in range(length):
            c, h = _lstm(X[b:b + 1, t], c, h, kernel, bias)
            np.testing.assert_allclose(got[b, t], h[0], rtol=1e-5, atol=1e-6)
        assert not got[b, length:].any()
        np.testing.assert_allclose(c_got[b], c[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(h_got[b], h[0], rtol=1e-5, atol=1e-6)


def test_gru_and_basic_rnn():
    gru, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(3), tf.constant(X), dtype=tf.float32, scope="g")
    rnn, _ = tf.nn.static_rnn(tf.nn.rnn_cell.BasicRNNCell(3), tf.unstack(tf.constant(X), axis=1), dtype=tf.float32,
                              scope="r")
    names = [v.op.name for v in tf.trainable_variables()]
    assert names == ["g/gru_cell/gates/kernel", "g/gru_cell/gates/bias", "g/gru_cell/candidate/kernel",
                     "g/gru_cell/candidate/bias",
                     "r/basic_rnn_cell/kernel", "r/basic_rnn_cell/bias"]
    got, got_rnn, (gk, gb, ck, cb, k, b) = _run([gru, rnn, tf.trainable_variables()])
    h = r_h = np.zeros((2, 3), np.float32)
    for t in range(4):
        x = X[:, t]
        r, u = np.split(_sigmoid(np.concatenate([x, h], 1) @ gk + gb), 2, axis=1)
        c = np.tanh(np.concatenate([x, r * h], 1) @ ck + cb)
        h = u * h + (1 - u) * c
        np.testing.assert_allclose(got[:, t], h, rtol=1e-5, atol=1e-6)
        r_h = np.tanh(np.concatenate([x, r_h], 1) @ k + b)
        np.testing.assert_allclose(got_rnn[t], r_h, rtol=1e-5, atol=1e-6)


def test_cells_on_top_of_each_other():
    cell = tf.nn.rnn_cell
    def one(n):
        return cell.DropoutWrapper(cell.LSTMCell(n, use_peepholes=True, num_proj=2, cell_clip=3.0), output_keep_prob=1.0)
    stacked = cell.MultiRNNCell([one(3), cell.ResidualWrapper(cell.GRUCell(2)),
                                 cell.DeviceWrapper(cell.BasicLSTMCell(4), "/cpu:0")])
    initial = stacked.zero_state(2, tf.float32)
    outputs, state = tf.nn.dynamic_rnn(stacked, tf.constant(X), initial_state=initial)
    grads = tf.gradients(outputs, tf.trainable_variables())
    assert all(g is not None for g in grads)
    names = [v.op.name for v in tf.trainable_variables()]
    assert "rnn/multi_rnn_cell/cell_0/lstm_cell/projection/kernel" in names
    assert "rnn/multi_rnn_cell/cell_2/basic_lstm_cell/bias" in names
    values = _run([outputs, state, grads])
    assert values[0].shape == (2, 4, 4) and len(values[1]) == 3


def test_dynamic_and_static_agree_and_differentiate():
    x = tf.constant(X)
    with tf.variable_scope("s"):
        dynamic, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(3), x, dtype=tf.float32, sequence_length=[3, 4])
    with tf.variable_scope("s", reuse=True):
        static, last = tf.nn.static_rnn(tf.nn.rnn_cell.BasicLSTMCell(3), tf.unstack(x, axis=1), dtype=tf.float32,
                                        sequence_length=[3, 4])
    static = tf.stack(static, 1)
    assert len(tf.trainable_variables()) == 2
    grads = [tf.gradients(tf.reduce_sum(y * y), tf.trainable_variables() + [x]) for y in (dynamic, static)]
    a, b, s, e, (ga, gb) = _run([dynamic, static, state, last, grads])
    np.testing.assert_allclose(a, b, rtol=1e-5)
    np.testing.assert_allclose(s.h, e.h, rtol=1e-5)
    for one, two in zip(ga, gb):
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-6)


def test_bidirectional():
    cells = [tf.nn.rnn_cell.GRUCell(3) for _ in range(4)]
    (fw, bw), states = tf.nn.bidirectional_dynamic_rnn(cells[0], cells[1], tf.constant(X), sequence_length=[2, 4],
                                                       dtype=tf.float32)
    outputs, _, _ = tf.nn.static_bidirectional_rnn(cells[2], cells[3], tf.unstack(tf.constant(X), axis=1), dtype=tf.float32,
                                                   scope="other")
    assert tf.trainable_variables()[0].op.name == "bidirectional_rnn/fw/gru_cell/gates/kernel"
    got_fw, got_bw, out, _ = _run([fw, bw, outputs, states])
    assert not got_fw[0, 2:].any() and not got_bw[0, 2:].any() and out[0].shape == (2, 6)


def test_raw_rnn_counts():
    cell = tf.nn.rnn_cell.BasicRNNCell(3)
    array = tf.TensorArray(tf.float32, 4).unstack(tf.transpose(tf.constant(X), [1, 0, 2]))

    def loop_fn(time, output, state, loop_state):
        state = cell.zero_state(2, tf.float32) if output is None else state
        done = time >= [3, 4]
        following = tf.cond(tf.reduce_all(done), lambda: tf.zeros([2, 3]), lambda: array.read(time))
        return done, following, state, output, None

    emits, state, _ = tf.nn.raw_rnn(cell, loop_fn)
    got = _run(emits.stack())
    assert got.shape == (4, 2, 3) and not got[3, 0].any() and got[3, 1].any()


def test_embedding_of_partitioned_variable():
    with tf.variable_scope("e", partitioner=tf.fixed_size_partitioner(3)):
        table = tf.get_variable("t", [10, 2], initializer=tf.random_normal_initializer())
    div = tf.nn.embedding_lookup(table, [0, 4, 9], partition_strategy="div")
    whole = tf.convert_to_tensor(table)
    grads = tf.gradients(div, tf.global_variables())
    assert all(isinstance(g, tf.IndexedSlices) for g in grads)
    got, rows, _ = _run([div, whole, [tf.convert_to_tensor(g) for g in grads]])
    np.testing.assert_allclose(got, rows[[0, 4, 9]])


def _noise_of(tensor):
    """The random node that a dropped value depends on: its name and its seed."""
    todo, seen = [tensor.op], set()
    while todo:
        op = todo.pop()
        if op.type == "RandomUniform":
            return op.name, op.get_attr("seed2")
        if op not in seen:
            seen.add(op)
            todo.extend(i.op for i in op.inputs)
    return None


@pytest.mark.parametrize("variational", [False, True])
def test_each_state_has_its_own_dropout(fresh_graph, variational):
    """A state that is not dropped (c of an LSTM) counts, so that the others have the seeds and the noise that TensorFlow gives
    them."""
    cells = tf.nn.rnn_cell

    class Echo(cells.RNNCell):
        state_size = property(lambda self: (cells.LSTMStateTuple(2, 3), 4, cells.LSTMStateTuple(5, 6)))
        output_size = property(lambda self: 4)

        def call(self, inputs, state):
            return inputs, state

    cell = cells.DropoutWrapper(Echo(), output_keep_prob=0.5, state_keep_prob=0.5, seed=7,
                                variational_recurrent=variational, dtype=tf.float32)
    state = tf.nest.map_structure(lambda n: tf.placeholder(tf.float32, [None, n]), cell.state_size)
    output, (first, second, third) = cell(tf.placeholder(tf.float32, [None, 4]), state)
    assert first.c is state[0].c and third.c is state[2].c
    seeds = [cell._gen_seed("state", i) for i in (1, 2, 4)] + [cell._gen_seed("output", 0)]
    assert [_noise_of(t)[1] for t in (first.h, second, third.h, output)] == seeds
    assert [t.shape.as_list() for t in (first.h, second, third.h)] == [[None, 3], [None, 4], [None, 6]]


def test_a_part_of_a_state_that_is_left_alone_counts_once(fresh_graph):
    cells = tf.nn.rnn_cell

    class Echo(cells.RNNCell):
        state_size = property(lambda self: ((2, 3), 4))
        output_size = property(lambda self: 4)

        def call(self, inputs, state):
            return inputs, state

    cell = cells.DropoutWrapper(Echo(), state_keep_prob=0.5, seed=7, variational_recurrent=True, dtype=tf.float32,
                                dropout_state_filter_visitor=lambda s: not (isinstance(s, tuple) and len(s) == 2
                                                                            and not isinstance(s[0], tuple)))
    state = tf.nest.map_structure(lambda n: tf.placeholder(tf.float32, [None, n]), cell.state_size)
    _, new_state = cell(tf.placeholder(tf.float32, [None, 4]), state)
    assert new_state[0] == state[0]
    assert _noise_of(new_state[1])[1] == cell._gen_seed("state", 2)  # its own noise, of its size
    assert new_state[1].shape.as_list() == [None, 4]
