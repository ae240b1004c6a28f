# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.rnn: a cell found by search, and cells that run over a whole sequence at once."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.ops.array import array_ops, index_ops
from millstream.ops.contrib import rnn as contrib_rnn
from millstream.ops.linalg import linalg_ops
from millstream.ops.math import math_ops
from millstream.ops.nn import nn_ops
from millstream.ops.rnn import rnn, rnn_cell
from millstream.ops.variables import init_ops
from millstream.ops.variables import variable_scope as vs

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike


class NASCell(rnn_cell.RNNCell):
    """The cell of "Neural Architecture Search with Reinforcement Learning" (2016)."""

    def __init__(self, num_units: Any, num_proj: Any = None, use_bias: bool = False, reuse: Any = None, **kwargs: Any) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units, self._num_proj, self._use_bias = num_units, num_proj, use_bias

    output_size = property(lambda self: self._num_proj or self._num_units)
    state_size = property(lambda self: rnn_cell.LSTMStateTuple(self._num_units, self.output_size))

    def call(self, inputs: Any, state: Any) -> Any:
        c, m = state
        width = inputs.shape.as_list()[1]
        if width is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        recurrent = vs.get_variable("recurrent_kernel", [self.output_size, 8 * self._num_units], dtype=inputs.dtype)
        kernel = vs.get_variable("kernel", [width, 8 * self._num_units], dtype=inputs.dtype)
        from_m, from_x = linalg_ops.matmul(m, recurrent), linalg_ops.matmul(inputs, kernel)
        if self._use_bias:
            from_m = nn_ops.bias_add(from_m, vs.get_variable("bias", [8 * self._num_units], initializer=init_ops.Zeros(),
                                                             dtype=inputs.dtype))
        pairs = list(zip(array_ops.split(from_x, 8, 1), array_ops.split(from_m, 8, 1)))
        sigmoid, tanh, relu = gen_ops.sigmoid, gen_ops.tanh, gen_ops.relu
        first = [f(x * y if i == 3 else x + y)
                 for i, (f, (x, y)) in enumerate(zip((sigmoid, relu, sigmoid, relu, tanh, sigmoid, tanh, sigmoid), pairs))]
        a, b = tanh(first[0] * first[1]), tanh(first[2] + first[3])
        d, e = tanh(first[4] * first[5]), sigmoid(first[6] + first[7])
        new_c = tanh(a + c) * b
        new_m = tanh(new_c * tanh(d + e))
        if self._num_proj is not None:
            new_m = linalg_ops.matmul(new_m, vs.get_variable("projection_weights", [self._num_units, self._num_proj], dtype=inputs.dtype))
        return new_m, rnn_cell.LSTMStateTuple(new_c, new_m)


class LSTMBlockFusedCell:
    """A LSTMBlockCell over [time, batch, width]."""

    def __init__(self, num_units: Any, forget_bias: Any = 1.0, cell_clip: Any = None, use_peephole: bool = False,
                 reuse: Any = None, dtype: Optional[DTypeLike] = None, name: str = "lstm_fused_cell") -> None:
        self._cell = contrib_rnn.LSTMBlockCell(num_units, forget_bias=forget_bias, cell_clip=cell_clip, use_peephole=use_peephole,
                                               dtype=dtype, reuse=reuse, name=name)
        self._num_units = num_units

    num_units = property(lambda self: self._num_units)

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        state = None if initial_state is None else rnn_cell.LSTMStateTuple(*initial_state)
        if state is None and dtype is None:
            raise ValueError("Either initial_state or dtype needs to be specified")
        return rnn.dynamic_rnn(self._cell, inputs, sequence_length=sequence_length, initial_state=state, dtype=dtype, time_major=True,
                               scope=scope or vs.get_variable_scope())


class FusedRNNCellAdaptor:
    """A cell over a whole sequence, as fused cells are called."""

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        self._cell = cell

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        return rnn.dynamic_rnn(self._cell, inputs, sequence_length=sequence_length, initial_state=initial_state, dtype=dtype,
                               time_major=True, scope=scope)


class TimeReversedFusedRNN:
    """A fused cell from the end to the beginning."""

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    @staticmethod
    def _reversed(x, sequence_length):
        if sequence_length is None:
            return array_ops.reverse(x, [0])
        return index_ops.reverse_sequence(x, math_ops.cast(sequence_length, "int64"), seq_axis=0, batch_axis=1)

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        outputs, state = self._cell(self._reversed(inputs, sequence_length), initial_state, dtype, sequence_length, scope)
        return self._reversed(outputs, sequence_length), state
