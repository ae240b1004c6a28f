# SPDX-License-Identifier: Apache-2.0
"""tf.nn.rnn_cell: cells of recurrent networks."""
from __future__ import annotations

import collections
import itertools
from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import constant_op, dtypes, ops, tensor_util
from millstream.framework.tensor_shape import TensorShape
from millstream.ops import nest
from millstream.ops.array import array_ops
from millstream.ops.linalg import linalg_ops
from millstream.ops.math import clip_ops, math_ops
from millstream.ops.nn import nn_ops
from millstream.ops.variables import init_ops
from millstream.ops.variables import variable_scope as vs
from millstream.ops.layers.base import InputSpec, Layer

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike


class LSTMStateTuple(collections.namedtuple("LSTMStateTuple", ("c", "h"))):
    """The state of LSTM cells: the memory c and the output h."""
    __slots__ = ()

    @property
    def dtype(self) -> Any:
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype


def batch_zeros(size, batch_size, dtype):
    """Zeros [batch_size] + size; batch_size is a number or a scalar tensor."""
    tail = [size] if isinstance(size, int) else TensorShape(size).as_list()
    dynamic = isinstance(batch_size, ops.Tensor)
    first = array_ops.expand_dims(batch_size, 0) if dynamic else constant_op.constant([batch_size], dtypes.int32)
    rest = constant_op.constant(tail, dtypes.int32)
    result = array_ops.zeros(array_ops.concat([first, rest], 0), dtype)
    result.set_shape([tensor_util.constant_value(batch_size) if dynamic else batch_size] + tail)
    return result


class RNNCell(Layer):
    """The base class of recurrent cells: `output, new_state = cell(input, state)`."""

    def __init__(self, trainable: Any = True, name: Optional[str] = None, dtype: Optional[DTypeLike] = None,
                 **kwargs: Any) -> None:
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)

    def __call__(self, inputs, state, scope=None):
        if scope is not None:
            with vs.variable_scope(scope):
                return super().__call__(inputs, state)
        return super().__call__(inputs, state)

    @property
    def state_size(self) -> Any:
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        raise NotImplementedError("Abstract method")

    def build(self, _: Any) -> None:
        self.built = True

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None,
                          dtype: Optional[DTypeLike] = None) -> Any:
        if inputs is not None:
            inputs = ops.convert_to_tensor(inputs, name="inputs")
            batch_size = array_ops.shape(inputs)[0] if batch_size is None else batch_size
            dtype = inputs.dtype.base_dtype if dtype is None else dtype
        if batch_size is None or dtype is None:
            raise ValueError("batch_size and dtype cannot be None while constructing initial state: batch_size="
                             f"{batch_size}, dtype={dtype}")
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        with ops.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return nest.map_structure(lambda size: batch_zeros(size, batch_size, dtype), self.state_size)


class LayerRNNCell(RNNCell):
    """A cell whose variables are made in build()."""

    def __call__(self, inputs, state, scope=None, *args, **kwargs):
        return Layer.__call__(self, inputs, state, *args, scope=scope, **kwargs)

    def _depth(self, inputs_shape):
        shape = TensorShape(inputs_shape)
        depth = shape.as_list()[-1] if shape.rank else None
        if depth is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {shape}")
        return depth

    def _spec(self):
        self.input_spec = InputSpec(ndim=2)


class BasicRNNCell(LayerRNNCell):
    """output = new state = activation(weights * [input, state] + bias)."""

    def __init__(self, num_units: Any, activation: Any = None, reuse: Any = None, name: Optional[str] = None,
                 dtype: Optional[DTypeLike] = None, **kwargs: Any) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._spec()
        self._num_units = num_units
        self._activation = activation or math_ops.tanh

    state_size = property(lambda self: self._num_units)
    output_size = property(lambda self: self._num_units)

    def build(self, inputs_shape: Any) -> None:
        depth = self._depth(inputs_shape)
        self._kernel = self.add_weight("kernel", shape=[depth + self._num_units, self._num_units])
        self._bias = self.add_weight("bias", shape=[self._num_units], initializer=init_ops.Zeros())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        gates = linalg_ops.matmul(array_ops.concat([inputs, state], 1), self._kernel)
        output = self._activation(nn_ops.bias_add(gates, self._bias))
        return output, output


class GRUCell(LayerRNNCell):
    """A gated recurrent unit: gates say how much of the state to keep."""

    def __init__(self, num_units: Any, activation: Any = None, reuse: Any = None, kernel_initializer: Any = None,
                 bias_initializer: Any = None, name: Optional[str] = None, dtype: Optional[DTypeLike] = None,
                 **kwargs: Any) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._spec()
        self._num_units = num_units
        self._activation = activation or math_ops.tanh
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    state_size = property(lambda self: self._num_units)
    output_size = property(lambda self: self._num_units)

    def build(self, inputs_shape: Any) -> None:
        depth, n = self._depth(inputs_shape), self._num_units
        self._gate_kernel = self.add_weight("gates/kernel", shape=[depth + n, 2 * n], initializer=self._kernel_initializer)
        self._gate_bias = self.add_weight("gates/bias", shape=[2 * n],
                                          initializer=self._bias_initializer or init_ops.Constant(1.0))
        self._candidate_kernel = self.add_weight("candidate/kernel", shape=[depth + n, n],
                                                 initializer=self._kernel_initializer)
        self._candidate_bias = self.add_weight("candidate/bias", shape=[n],
                                               initializer=self._bias_initializer or init_ops.Zeros())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        gates = nn_ops.bias_add(linalg_ops.matmul(array_ops.concat([inputs, state], 1), self._gate_kernel), self._gate_bias)
        r, u = array_ops.split(math_ops.sigmoid(gates), num_or_size_splits=2, axis=1)
        candidate = linalg_ops.matmul(array_ops.concat([inputs, r * state], 1), self._candidate_kernel)
        c = self._activation(nn_ops.bias_add(candidate, self._candidate_bias))
        new_h = u * state + (1 - u) * c
        return new_h, new_h


class BasicLSTMCell(LayerRNNCell):
    """A long short-term memory cell without peepholes, clipping and projection."""

    def __init__(self, num_units: Any, forget_bias: Any = 1.0, state_is_tuple: bool = True, activation: Any = None,
                 reuse: Any = None, name: Optional[str] = None, dtype: Optional[DTypeLike] = None, **kwargs: Any) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._spec()
        self._num_units, self._forget_bias, self._state_is_tuple = num_units, forget_bias, state_is_tuple
        self._activation = activation or math_ops.tanh

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self._num_units) if self._state_is_tuple else 2 * self._num_units

    output_size = property(lambda self: self._num_units)

    def build(self, inputs_shape: Any) -> None:
        depth, n = self._depth(inputs_shape), self._num_units
        self._kernel = self.add_weight("kernel", shape=[depth + n, 4 * n])
        self._bias = self.add_weight("bias", shape=[4 * n], initializer=init_ops.Zeros())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        columns = constant_op.constant(1, dtypes.int32)
        c, h = state if self._state_is_tuple else array_ops.split(state, 2, axis=columns)
        gates = nn_ops.bias_add(linalg_ops.matmul(array_ops.concat([inputs, h], 1), self._kernel), self._bias)
        i, j, f, o = array_ops.split(gates, num_or_size_splits=4, axis=columns)
        forget = constant_op.constant(self._forget_bias, dtype=f.dtype.base_dtype)
        add, multiply, sigmoid = math_ops.add, math_ops.multiply, math_ops.sigmoid
        new_c = add(multiply(c, sigmoid(add(f, forget))), multiply(sigmoid(i), self._activation(j)))
        new_h = multiply(self._activation(new_c), sigmoid(o))
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else array_ops.concat([new_c, new_h], 1)


class LSTMCell(LayerRNNCell):
    """With peepholes, clipping and a projection of the output."""

    def __init__(self, num_units: Any, use_peepholes: bool = False, cell_clip: Any = None, initializer: Any = None,
                 num_proj: Any = None, proj_clip: Any = None, num_unit_shards: Any = None, num_proj_shards: Any = None,
                 forget_bias: Any = 1.0, state_is_tuple: bool = True, activation: Any = None, reuse: Any = None,
                 name: Optional[str] = None, dtype: Optional[DTypeLike] = None, **kwargs: Any) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._spec()
        self._num_units, self._use_peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._initializer, self._num_proj, self._proj_clip = initializer, num_proj, proj_clip
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple
        self._shards = num_unit_shards, num_proj_shards
        self._activation = activation or math_ops.tanh
        self._output = num_proj or num_units

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self._output) if self._state_is_tuple else self._num_units + self._output

    output_size = property(lambda self: self._output)

    def build(self, inputs_shape: Any) -> None:
        from millstream.ops.variables import partitioned_variables
        depth, n = self._depth(inputs_shape), self._num_units
        split = partitioned_variables.fixed_size_partitioner(self._shards[0]) if self._shards[0] is not None else None
        self._kernel = self.add_weight("kernel", shape=[depth + self._output, 4 * n], initializer=self._initializer,
                                       partitioner=split)
        self._bias = self.add_weight("bias", shape=[4 * n], initializer=init_ops.Zeros())
        if self._use_peepholes:
            self._w_f_diag = self.add_weight("w_f_diag", shape=[n], initializer=self._initializer)
            self._w_i_diag = self.add_weight("w_i_diag", shape=[n], initializer=self._initializer)
            self._w_o_diag = self.add_weight("w_o_diag", shape=[n], initializer=self._initializer)
        if self._num_proj is not None:
            split = partitioned_variables.fixed_size_partitioner(self._shards[1]) if self._shards[1] is not None else None
            self._proj_kernel = self.add_weight("projection/kernel", shape=[n, self._num_proj],
                                                initializer=self._initializer,
                                                partitioner=split)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        if self._state_is_tuple:
            c_prev, m_prev = state
        else:
            c_prev, m_prev = state[:, :self._num_units], state[:, self._num_units:]
        gates = nn_ops.bias_add(linalg_ops.matmul(array_ops.concat([inputs, m_prev], 1), self._kernel), self._bias)
        i, j, f, o = array_ops.split(gates, num_or_size_splits=4, axis=1)
        sigmoid = math_ops.sigmoid
        if self._use_peepholes:
            c = (sigmoid(f + self._forget_bias + self._w_f_diag * c_prev) * c_prev
                 + sigmoid(i + self._w_i_diag * c_prev) * self._activation(j))
        else:
            c = sigmoid(f + self._forget_bias) * c_prev + sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            c = clip_ops.clip_by_value(c, -self._cell_clip, self._cell_clip)
        m = sigmoid(o + self._w_o_diag * c if self._use_peepholes else o) * self._activation(c)
        if self._num_proj is not None:
            m = linalg_ops.matmul(m, self._proj_kernel)
            if self._proj_clip is not None:
                m = clip_ops.clip_by_value(m, -self._proj_clip, self._proj_clip)
        return m, LSTMStateTuple(c, m) if self._state_is_tuple else array_ops.concat([c, m], 1)


class MultiRNNCell(RNNCell):
    """Cells on top of each other."""

    def __init__(self, cells: Any, state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not isinstance(cells, (list, tuple)):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        self._cells, self._state_is_tuple = list(cells), state_is_tuple
        if not state_is_tuple and any(nest.is_nested(c.state_size) for c in cells):
            raise ValueError(f"Some cells return tuples of states, but the flag state_is_tuple is not set.  State sizes "
                             f"are: "
                             f"{[c.state_size for c in cells]}")

    @property
    def state_size(self) -> Any:
        sizes = tuple(c.state_size for c in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    output_size = property(lambda self: self._cells[-1].output_size)
    trainable_weights = property(lambda self: [w for c in self._cells for w in c.trainable_weights])
    non_trainable_weights = property(lambda self: [w for c in self._cells for w in c.non_trainable_weights])
    weights = property(lambda self: self.trainable_weights + self.non_trainable_weights)

    def zero_state(self, batch_size, dtype):
        with ops.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            if self._state_is_tuple:
                return tuple(c.zero_state(batch_size, dtype) for c in self._cells)
            return super().zero_state(batch_size, dtype)

    def call(self, inputs: Any, state: Any) -> Any:
        position, current, states = 0, inputs, []
        for i, cell in enumerate(self._cells):
            with vs.variable_scope(f"cell_{i}"):
                if self._state_is_tuple:
                    if not nest.is_nested(state):
                        raise ValueError(f"Expected state to be a tuple of length {len(self.state_size)}, but received: "
                                         f"{state}")
                    own = state[i]
                else:
                    own = array_ops.slice(state, [0, position], [-1, cell.state_size])
                    position += cell.state_size
                current, new_state = cell(current, own)
                states.append(new_state)
        return current, tuple(states) if self._state_is_tuple else array_ops.concat(states, 1)


class _Wrapper(RNNCell):
    def __init__(self, cell: Any) -> None:
        super().__init__()
        self._cell = cell

    cell = property(lambda self: self._cell)
    wrapped_cell = property(lambda self: self._cell)
    state_size = property(lambda self: self._cell.state_size)
    output_size = property(lambda self: self._cell.output_size)
    trainable_weights = property(lambda self: self._cell.trainable_weights)
    non_trainable_weights = property(lambda self: self._cell.non_trainable_weights)
    weights = property(lambda self: self._cell.weights)

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        with ops.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self._cell.zero_state(batch_size, dtype)


def _drop_all_but_memories(state):
    """Which parts of a state may be dropped: not the memory c of LSTMs, nor arrays."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not hasattr(state, "flow")


class DropoutWrapper(_Wrapper):
    """Dropout of a cell's inputs, outputs and states."""

    def __init__(self, cell: Any, input_keep_prob: Any = 1.0, output_keep_prob: Any = 1.0, state_keep_prob: Any = 1.0,
                 variational_recurrent: bool = False, input_size: Any = None, dtype: Optional[DTypeLike] = None,
                 seed: Optional[int] = None, dropout_state_filter_visitor: Any = None) -> None:
        super().__init__(cell)
        self._keep = {"input": input_keep_prob, "state": state_keep_prob, "output": output_keep_prob}
        for what, value in self._keep.items():
            if isinstance(value, (int, float)) and not 0 <= value <= 1:
                raise ValueError(f"Parameter {what}_keep_prob must be between 0 and 1: {value}")
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._filter = dropout_state_filter_visitor or _drop_all_but_memories
        self._seed, self._noise = seed, None
        if variational_recurrent:
            if dtype is None:
                raise ValueError("When variational_recurrent=True, dtype must be provided")
            self._noise = {}
            sizes = {"input": input_size, "state": cell.state_size, "output": cell.output_size}
            for what, size in sizes.items():
                if self._active(what):
                    if size is None:
                        raise ValueError("When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, "
                                         "input_size "
                                         "must be provided")
                    noise = [self._draw(what, i, s, dtype) for i, s in enumerate(nest.flatten(size))]
                    self._noise[what] = nest.pack_sequence_as(size, noise)

    def _active(self, what):
        keep = self._keep[what]
        return ops.is_dense_tensor_like(keep) or keep < 1

    def _draw(self, what, i, size, dtype):
        from millstream.ops.random import random_ops
        shape = [1] + ([size] if isinstance(size, int) else TensorShape(size).as_list())
        return random_ops.random_uniform(shape, seed=self._gen_seed(what, i), dtype=dtype)

    def _gen_seed(self, salt, index):
        if self._seed is None:
            return None
        import hashlib
        salted = f"{self._seed}{salt}_{index}"
        return int(hashlib.md5(salted.encode()).hexdigest()[:8], 16) & 0x7FFFFFFF

    def _dropout(self, value, what, index, noise):
        """Dropout of the part `index` of the input, state or output: each part has its own seed and noise."""
        keep = self._keep[what]
        if self._noise is None:
            return nn_ops.dropout(value, keep_prob=keep, seed=self._gen_seed(what, index))
        result = value / keep * gen_ops.floor(ops.convert_to_tensor(keep, dtype=value.dtype.base_dtype) + noise)
        result.set_shape(value.shape)
        return result

    def _noise_for(self, what, values):
        """In the structure of the values; without variational_recurrent there is none."""
        return values if self._noise is None else self._noise[what]

    def _dropout_all(self, values, what):
        if not self._active(what):
            return values
        pairs = zip(nest.flatten(values), nest.flatten(self._noise_for(what, values)))
        return nest.pack_sequence_as(values, [self._dropout(v, what, i, noise) for i, (v, noise) in enumerate(pairs)])

    def _state_dropout(self, state):
        if not self._active("state"):
            return state
        return self._filtered(state, self._filter(state), self._noise_for("state", state), itertools.count())

    def _filtered(self, state, chosen, noise, index):
        """`chosen` is True or False for all of a state, or has the structure of its outer levels; `index` counts what was
        chosen or not, as TensorFlow does."""
        if nest.is_nested(chosen):
            parts = [self._filtered(s, c, n, index) for s, c, n in zip(state, chosen, noise)]
            return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)
        if chosen and nest.is_nested(state):
            return self._filtered(state, [self._filter(s) for s in state], noise, index)
        position = next(index)
        return self._dropout(state, "state", position, noise) if chosen else state

    def __call__(self, inputs, state, scope=None):
        output, new_state = self._cell(self._dropout_all(inputs, "input"), state, scope=scope)
        new_state = self._state_dropout(new_state)
        return self._dropout_all(output, "output"), new_state


class ResidualWrapper(_Wrapper):
    """The output plus the input."""

    def __init__(self, cell: Any, residual_fn: Any = None) -> None:
        super().__init__(cell)
        self._residual_fn = residual_fn

    def __call__(self, inputs, state, scope=None):
        outputs, new_state = self._cell(inputs, state, scope=scope)
        if self._residual_fn is not None:
            return self._residual_fn(inputs, outputs), new_state
        nest.assert_same_structure(inputs, outputs)
        return nest.map_structure(lambda i, o: i + o, inputs, outputs), new_state


class DeviceWrapper(_Wrapper):
    """Runs a cell on a device."""

    def __init__(self, cell: Any, device: Any) -> None:
        super().__init__(cell)
        self._device = device

    def __call__(self, inputs, state, scope=None):
        with ops.device(self._device):
            return self._cell(inputs, state, scope=scope)

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        with ops.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]), ops.device(self._device):
            return self._cell.zero_state(batch_size, dtype)
