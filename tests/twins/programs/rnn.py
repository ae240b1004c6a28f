# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks: every cell, in loops and unrolled, with the gradients of an optimizer."""
from functools import partial

import millstream as tf

BATCH, TIME, DEPTH, UNITS = 2, 5, 3, 4
_cells = tf.nn.rnn_cell

CELLS = {
    "basic_rnn": lambda: _cells.BasicRNNCell(UNITS),
    "gru": lambda: _cells.GRUCell(UNITS),
    "gru.relu": lambda: _cells.GRUCell(UNITS, activation=tf.nn.relu, bias_initializer=tf.zeros_initializer()),
    "basic_lstm": lambda: _cells.BasicLSTMCell(UNITS),
    "basic_lstm.forget": lambda: _cells.BasicLSTMCell(UNITS, forget_bias=0.5, name="memory"),
    "lstm": lambda: _cells.LSTMCell(UNITS),
    "lstm.peepholes": lambda: _cells.LSTMCell(UNITS, use_peepholes=True),
    "lstm.clip": lambda: _cells.LSTMCell(UNITS, cell_clip=0.5),
    "lstm.projection": lambda: _cells.LSTMCell(UNITS, num_proj=2),
    "lstm.all": lambda: _cells.LSTMCell(UNITS, use_peepholes=True, cell_clip=0.5, num_proj=2, proj_clip=0.25,
                                        forget_bias=0.5),
    "multi": lambda: _cells.MultiRNNCell([_cells.GRUCell(UNITS), _cells.BasicLSTMCell(2)]),
    "dropout": lambda: _cells.DropoutWrapper(_cells.BasicLSTMCell(UNITS), 0.5, 0.75, 0.875, seed=3),
    "dropout.multi": lambda: _cells.DropoutWrapper(
        _cells.MultiRNNCell([_cells.BasicLSTMCell(UNITS), _cells.GRUCell(2)]), state_keep_prob=0.5, seed=4),
    "multi.dropout": lambda: _cells.MultiRNNCell(
        [_cells.DropoutWrapper(_cells.GRUCell(UNITS), output_keep_prob=0.5, seed=i) for i in range(2)]),
}


def _inputs(batch=None, time=None):
    return tf.placeholder(tf.float32, [batch, time, DEPTH], name="x")


def _lengths(batch=None, dtype=tf.int32):
    return tf.placeholder(dtype, [batch], name="lengths")


def _minimize(outputs):
    tf.train.GradientDescentOptimizer(0.1).minimize(tf.nn.l2_loss(outputs))


def _dynamic(make, lengths, batch=None, time=None, **kwargs):
    x = _inputs(batch, time)
    if lengths:
        kwargs["sequence_length"] = _lengths(batch)
    outputs, _ = tf.nn.dynamic_rnn(make(), x, dtype=tf.float32, **kwargs)
    _minimize(outputs)


def _static(make, lengths, batch=None, **kwargs):
    x = [tf.placeholder(tf.float32, [batch, DEPTH], name=f"x{i}") for i in range(3)]
    if lengths:
        kwargs["sequence_length"] = _lengths(batch)
    outputs, _ = tf.nn.static_rnn(make(), x, dtype=tf.float32, **kwargs)
    _minimize(outputs[-1])


def _initial_state(name="state"):
    return _cells.LSTMStateTuple(*[tf.placeholder(tf.float32, [None, UNITS], name=f"{name}_{part}") for part in "ch"])


def _dynamic_from_state(lengths):
    x, state = _inputs(), _initial_state()
    sequence_length = _lengths(dtype=tf.int64) if lengths else None
    outputs, last = tf.nn.dynamic_rnn(_cells.BasicLSTMCell(UNITS), x, sequence_length, state)
    _minimize(outputs)
    tf.identity(last.c, name="last")


def _static_from_state():
    x, state = [tf.placeholder(tf.float32, [None, DEPTH], name="x0")], _initial_state()
    outputs, _ = tf.nn.static_rnn(_cells.BasicLSTMCell(UNITS), x, state)
    _minimize(outputs[0])


def _bidirectional(lengths, from_state=False, **kwargs):
    x = _inputs()
    if lengths:
        kwargs["sequence_length"] = _lengths()
    if from_state:
        kwargs.update(initial_state_fw=_initial_state("fw"), initial_state_bw=_initial_state("bw"))
    (forward, backward), _ = tf.nn.bidirectional_dynamic_rnn(
        _cells.BasicLSTMCell(UNITS), _cells.BasicLSTMCell(UNITS), x, dtype=tf.float32, **kwargs)
    _minimize(tf.concat([forward, backward], 2))


def _keep_prob_fed():
    keep = tf.placeholder(tf.float32, [], name="keep")
    _dynamic(lambda: _cells.DropoutWrapper(_cells.GRUCell(UNITS), input_keep_prob=keep, output_keep_prob=keep, seed=5), False)


def _two_in_scopes():
    x = _inputs()
    with tf.variable_scope("encoder"):
        outputs, state = tf.nn.dynamic_rnn(_cells.GRUCell(UNITS), x, dtype=tf.float32)
    with tf.variable_scope("decoder"):
        outputs, _ = tf.nn.dynamic_rnn(_cells.GRUCell(UNITS), outputs, initial_state=state, scope="inner")
    _minimize(outputs)


def _adam_on_ps():
    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        x = _inputs()
        outputs, _ = tf.nn.dynamic_rnn(_cells.BasicLSTMCell(UNITS), x, _lengths(), dtype=tf.float32)
        tf.train.AdamOptimizer(0.1).minimize(tf.nn.l2_loss(outputs), tf.train.create_global_step())


PROGRAMS = {
    "dynamic.known_shape": partial(_dynamic, CELLS["basic_lstm"], False, BATCH, TIME),
    "dynamic.known_shape.lengths": partial(_dynamic, CELLS["basic_lstm"], True, BATCH, TIME),
    "dynamic.known_batch": partial(_dynamic, CELLS["gru"], True, BATCH),
    "dynamic.time_major": partial(_dynamic, CELLS["gru"], False, time_major=True),
    "dynamic.time_major.lengths": partial(_dynamic, CELLS["gru"], True, time_major=True),
    "dynamic.parallel": partial(_dynamic, CELLS["gru"], False, parallel_iterations=4, swap_memory=True),
    "dynamic.initial_state": partial(_dynamic_from_state, False),
    "dynamic.initial_state.lengths": partial(_dynamic_from_state, True),
    "dynamic.two_in_scopes": _two_in_scopes,
    "dynamic.adam_on_ps": _adam_on_ps,
    "dynamic.keep_prob_fed": _keep_prob_fed,
    "static.known_batch": partial(_static, CELLS["basic_lstm"], False, BATCH),
    "static.known_batch.lengths": partial(_static, CELLS["basic_lstm"], True, BATCH),
    "static.initial_state": _static_from_state,
    "bidirectional": partial(_bidirectional, False),
    "bidirectional.lengths": partial(_bidirectional, True),
    "bidirectional.time_major": partial(_bidirectional, False, time_major=True),
    "bidirectional.time_major.lengths": partial(_bidirectional, True, time_major=True),
    "bidirectional.initial_state": partial(_bidirectional, False, from_state=True),
}
for _name, _make in CELLS.items():
    PROGRAMS[f"dynamic.{_name}"] = partial(_dynamic, _make, False)
    PROGRAMS[f"dynamic.{_name}.lengths"] = partial(_dynamic, _make, True)
    PROGRAMS[f"static.{_name}"] = partial(_static, _make, False)
    PROGRAMS[f"static.{_name}.lengths"] = partial(_static, _make, True)
