# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.rnn: further cells, wrappers and stacks."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework import ops
from millstream.ops import nest
from millstream.ops.array import array_ops
from millstream.ops.linalg import linalg_ops
from millstream.ops.math import clip_ops, math_ops
from millstream.ops.nn import nn_norm, nn_ops
from millstream.ops.rnn import rnn
from millstream.ops.variables import init_ops
from millstream.ops.rnn import rnn_cell
from millstream.ops.variables import variable_scope as vs

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike, TensorLike


def _linear(args, output_size, bias, bias_initializer=None, kernel_initializer=None):
    """The inputs side by side times a matrix `kernel`, plus `bias`."""
    args = list(args) if isinstance(args, (list, tuple)) else [args]
    x = array_ops.concat(args, 1) if len(args) > 1 else args[0]
    kernel = vs.get_variable("kernel", [x.shape.as_list()[1], output_size], dtype=x.dtype, initializer=kernel_initializer)
    out = linalg_ops.matmul(x, kernel)
    if bias:
        out = nn_ops.bias_add(out, vs.get_variable("bias", [output_size], dtype=x.dtype,
                                                   initializer=bias_initializer or init_ops.Zeros()))
    return out


class _Sized:
    """Cells whose state and output have `_num_units`."""

    state_size = property(lambda self: self._num_units)
    output_size = property(lambda self: self._num_units)


class LayerNormBasicLSTMCell(rnn_cell.RNNCell):
    """LSTM with layer normalization of the gates and dropout of the new values."""

    def __init__(self, num_units, forget_bias=1.0, input_size=None, activation=math_ops.tanh, layer_norm=True, norm_gain=1.0,
                 norm_shift=0.0, dropout_keep_prob=1.0, dropout_prob_seed=None, reuse=None):
        super().__init__(_reuse=reuse)
        self._num_units, self._forget_bias, self._activation, self._layer_norm = num_units, forget_bias, activation, layer_norm
        self._gain, self._shift, self._keep_prob, self._seed = norm_gain, norm_shift, dropout_keep_prob, dropout_prob_seed

    state_size = property(lambda self: rnn_cell.LSTMStateTuple(self._num_units, self._num_units))
    output_size = property(lambda self: self._num_units)

    def _norm(self, x, scope, dtype):
        with vs.variable_scope(scope):
            gamma = vs.get_variable("gamma", [self._num_units], dtype, init_ops.Constant(self._gain))
            beta = vs.get_variable("beta", [self._num_units], dtype, init_ops.Constant(self._shift))
        mean, variance = nn_norm.moments(x, [1], keep_dims=True)
        return nn_norm.batch_normalization(x, mean, variance, beta, gamma, 1e-12)

    def call(self, inputs: Any, state: Any) -> Any:
        c, h = state
        x = array_ops.concat([inputs, h], 1)
        weights = vs.get_variable("kernel", [x.shape.as_list()[-1], 4 * self._num_units], x.dtype)
        gates = linalg_ops.matmul(x, weights)
        if not self._layer_norm:
            gates = nn_ops.bias_add(gates, vs.get_variable("bias", [4 * self._num_units], x.dtype))
        i, j, f, o = array_ops.split(gates, 4, 1)
        if self._layer_norm:
            i, j, f, o = (self._norm(v, n, x.dtype) for v, n in ((i, "input"), (j, "transform"), (f, "forget"), (o, "output")))
        g = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            g = nn_ops.dropout(g, self._keep_prob, seed=self._seed)
        new_c = c * math_ops.sigmoid(f + self._forget_bias) + math_ops.sigmoid(i) * g
        if self._layer_norm:
            new_c = self._norm(new_c, "state", x.dtype)
        new_h = self._activation(new_c) * math_ops.sigmoid(o)
        return new_h, rnn_cell.LSTMStateTuple(new_c, new_h)


class LSTMBlockCell(rnn_cell.LayerRNNCell):
    """BasicLSTMCell with gates in the order i, c, f, o and optional peepholes and clipping."""

    def __init__(self, num_units: Any, forget_bias: Any = 1.0, cell_clip: Any = None, use_peephole: bool = False,
                 dtype: Optional[DTypeLike] = None, reuse: Any = None, name: str = "lstm_cell") -> None:
        super().__init__(_reuse=reuse, dtype=dtype, name=name)
        self._num_units, self._forget_bias, self._use_peephole = num_units, forget_bias, use_peephole
        self._cell_clip = cell_clip if cell_clip is not None else -1

    state_size = property(lambda self: rnn_cell.LSTMStateTuple(self._num_units, self._num_units))
    output_size = property(lambda self: self._num_units)

    def build(self, inputs_shape: Any) -> None:
        self._kernel = self.add_weight("kernel", shape=[self._depth(inputs_shape) + self._num_units, self._num_units * 4])
        self._bias = self.add_weight("bias", shape=[self._num_units * 4], initializer=init_ops.Constant(0.0))
        if self._use_peephole:
            self._w_i, self._w_f, self._w_o = (self.add_weight(f"w_{g}_peephole", shape=[self._num_units]) for g in "ifo")
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        c, h = state
        gates = nn_ops.bias_add(linalg_ops.matmul(array_ops.concat([inputs, h], 1), self._kernel), self._bias)
        i, g, f, o = array_ops.split(gates, 4, 1)
        if self._use_peephole:
            i, f = i + self._w_i * c, f + self._w_f * c
        new_c = math_ops.sigmoid(f + self._forget_bias) * c + math_ops.sigmoid(i) * math_ops.tanh(g)
        if self._cell_clip > 0:
            new_c = clip_ops.clip_by_value(new_c, -self._cell_clip, self._cell_clip)
        if self._use_peephole:
            o = o + self._w_o * new_c
        new_h = math_ops.sigmoid(o) * math_ops.tanh(new_c)
        return new_h, rnn_cell.LSTMStateTuple(new_c, new_h)


class GRUBlockCellV2(rnn_cell.GRUCell):
    """GRUCell under the name of the fused one."""

    def __init__(self, num_units: Any = None, cell_size: Any = None, reuse: Any = None, name: str = "gru_cell") -> None:
        super().__init__(num_units if num_units is not None else cell_size, reuse=reuse, name=name)


GRUBlockCell = GRUBlockCellV2


class UGRNNCell(_Sized, rnn_cell.RNNCell):
    """One gate between the old state and the new."""

    def __init__(self, num_units, initializer=None, forget_bias=1.0, activation=math_ops.tanh, reuse=None):
        super().__init__(_reuse=reuse)
        self._num_units, self._initializer, self._forget_bias, self._activation = num_units, initializer, forget_bias, activation

    def call(self, inputs: Any, state: Any) -> Any:
        with vs.variable_scope(vs.get_variable_scope(), initializer=self._initializer):
            gate, value = array_ops.split(_linear([inputs, state], 2 * self._num_units, True), 2, 1)
        gate = math_ops.sigmoid(gate + self._forget_bias)
        new = gate * state + (1.0 - gate) * self._activation(value)
        return new, new


class _Around(rnn_cell.RNNCell):
    """A cell with something before or after it; its state is the cell's."""

    def __init__(self, cell: Any, reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        self._cell = cell

    state_size = property(lambda self: self._cell.state_size)
    output_size = property(lambda self: self._cell.output_size)

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        return self._cell.zero_state(batch_size, dtype)


class OutputProjectionWrapper(_Around):
    def __init__(self, cell: Any, output_size: Any, activation: Any = None, reuse: Any = None) -> None:
        super().__init__(cell, reuse)
        self._size, self._activation = output_size, activation

    output_size = property(lambda self: self._size)

    def call(self, inputs: Any, state: Any) -> Any:
        output, state = self._cell(inputs, state)
        projected = _linear(output, self._size, True)
        return self._activation(projected) if self._activation else projected, state


class InputProjectionWrapper(_Around):
    def __init__(self, cell: Any, num_proj: Any, activation: Any = None, input_size: Any = None, reuse: Any = None) -> None:
        super().__init__(cell, reuse)
        self._num_proj, self._activation = num_proj, activation

    def call(self, inputs: Any, state: Any) -> Any:
        projected = _linear(inputs, self._num_proj, True)
        return self._cell(self._activation(projected) if self._activation else projected, state)


class EmbeddingWrapper(_Around):
    """Reads ids: their embeddings go to the cell."""

    def __init__(self, cell: Any, embedding_classes: Any, embedding_size: Any, initializer: Any = None,
                 reuse: Any = None) -> None:
        super().__init__(cell, reuse)
        self._classes, self._size, self._initializer = embedding_classes, embedding_size, initializer

    def call(self, inputs: Any, state: Any) -> Any:
        from millstream.ops.nn import embedding_ops
        initializer = self._initializer or vs.get_variable_scope().initializer or init_ops.RandomUniform(
            minval=-(3 ** 0.5), maxval=3 ** 0.5)
        dtype = nest.flatten(state)[0].dtype
        table = vs.get_variable("embedding", [self._classes, self._size], initializer=initializer, dtype=dtype)
        return self._cell(embedding_ops.embedding_lookup(table, array_ops.reshape(inputs, [-1])), state)


class HighwayWrapper(_Around):
    """A gate carries the input past the cell."""

    def __init__(self, cell: Any, couple_carry_transform_gates: bool = True, carry_bias_init: Any = 1.0) -> None:
        super().__init__(cell)
        self._couple, self._bias = couple_carry_transform_gates, carry_bias_init

    def _gate(self, x, name, sign):
        size = x.shape.as_list()[1]
        weight = vs.get_variable(name + "_w", [size, size], x.dtype)
        bias = vs.get_variable(name + "_b", [size], x.dtype, init_ops.Constant(sign * self._bias))
        return math_ops.sigmoid(nn_ops.xw_plus_b(x, weight, bias))

    def call(self, inputs: Any, state: Any) -> Any:
        outputs, state = self._cell(inputs, state)
        carry = self._gate(inputs, "carry", 1.0)
        transform = 1 - carry if self._couple else self._gate(inputs, "transform", -1.0)
        return inputs * carry + outputs * transform, state


class AttentionCellWrapper(rnn_cell.RNNCell):
    """A cell that attends to its own last `attn_length` outputs."""

    def __init__(self, cell: Any, attn_length: Any, attn_size: Any = None, attn_vec_size: Any = None, input_size: Any = None,
                 state_is_tuple: bool = True, reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        if not state_is_tuple:
            raise NotImplementedError("AttentionCellWrapper(state_is_tuple=False)")
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        self._cell, self._length = cell, attn_length
        self._size = attn_size or cell.output_size
        self._vec_size, self._input_size = attn_vec_size or self._size, input_size

    state_size = property(lambda self: (self._cell.state_size, self._size, self._size * self._length))
    output_size = property(lambda self: self._size)

    def call(self, inputs: Any, state: Any) -> Any:
        from millstream.ops.math import reduce_ops
        from millstream.ops.nn import nn_conv
        state, attention, memory = state
        memory = array_ops.reshape(memory, [-1, self._length, self._size])
        with vs.variable_scope("input_projection"):
            inputs = _linear([inputs, attention], self._input_size or inputs.shape.as_list()[1], True)
        output, new_state = self._cell(inputs, state)
        query = array_ops.concat(nest.flatten(new_state), 1)
        with vs.variable_scope("attention"):
            k = vs.get_variable("attn_w", [1, 1, self._size, self._vec_size])
            v = vs.get_variable("attn_v", [self._vec_size])
            hidden = array_ops.reshape(memory, [-1, self._length, 1, self._size])
            features = nn_conv.conv2d(hidden, k, [1, 1, 1, 1], "SAME")
            y = array_ops.reshape(_linear(query, self._vec_size, True), [-1, 1, 1, self._vec_size])
            weights = nn_ops.softmax(reduce_ops.reduce_sum(v * math_ops.tanh(features + y), [2, 3]))
            context = reduce_ops.reduce_sum(array_ops.reshape(weights, [-1, self._length, 1, 1]) * hidden, [1, 2])
            new_attention = array_ops.reshape(context, [-1, self._size])
            rest = memory[:, 1:]
        with vs.variable_scope("output_projection"):
            output = _linear([output, new_attention], self._size, True)
        memory = array_ops.concat([rest, array_ops.expand_dims(output, 1)], 1)
        return output, (new_state, new_attention, array_ops.reshape(memory, [-1, self._size * self._length]))


def _check_stack(cells_fw, cells_bw):
    if not isinstance(cells_fw, list) or not isinstance(cells_bw, list) or not cells_fw or len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must be lists of the same length, not empty.")


def stack_bidirectional_dynamic_rnn(cells_fw: Any, cells_bw: Any, inputs: Any, initial_states_fw: Any = None,
                                    initial_states_bw: Any = None, dtype: Optional[DTypeLike] = None,
                                    sequence_length: Any = None, parallel_iterations: Any = None, time_major: bool = False,
                                    scope: Any = None, swap_memory: bool = False) -> Any:
    """Layers of bidirectional networks; each reads both outputs of the one below."""
    _check_stack(cells_fw, cells_bw)
    states_fw, states_bw, layer = [], [], inputs
    with vs.variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (fw, bw) in enumerate(zip(cells_fw, cells_bw)):
            with vs.variable_scope(f"cell_{i}"):
                outputs, (state_fw, state_bw) = rnn.bidirectional_dynamic_rnn(
                    fw, bw, layer, initial_state_fw=initial_states_fw[i] if initial_states_fw else None,
                    initial_state_bw=initial_states_bw[i] if initial_states_bw else None, sequence_length=sequence_length,
                    parallel_iterations=parallel_iterations, dtype=dtype, swap_memory=swap_memory, time_major=time_major)
                layer = array_ops.concat(outputs, 2)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return layer, tuple(states_fw), tuple(states_bw)


def stack_bidirectional_rnn(cells_fw: Any, cells_bw: Any, inputs: Any, initial_states_fw: Any = None,
                            initial_states_bw: Any = None, dtype: Optional[DTypeLike] = None, sequence_length: Any = None,
                            scope: Any = None) -> Any:
    _check_stack(cells_fw, cells_bw)
    states_fw, states_bw, layer = [], [], inputs
    with vs.variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (fw, bw) in enumerate(zip(cells_fw, cells_bw)):
            with vs.variable_scope(f"cell_{i}"):
                layer, state_fw, state_bw = rnn.static_bidirectional_rnn(
                    fw, bw, layer, initial_state_fw=initial_states_fw[i] if initial_states_fw else None,
                    initial_state_bw=initial_states_bw[i] if initial_states_bw else None, sequence_length=sequence_length,
                    dtype=dtype)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return layer, tuple(states_fw), tuple(states_bw)


def transpose_batch_time(x: TensorLike) -> Any:
    return rnn._transpose_batch_time(ops.convert_to_tensor(x))
