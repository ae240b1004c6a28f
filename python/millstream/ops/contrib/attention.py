# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.seq2seq: attention over a memory, and the cell that uses it."""
from __future__ import annotations

import collections
import math
from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.framework.tensor_shape import TensorShape
from millstream.ops import nest
from millstream.ops.array import array_ops
from millstream.ops.layers import core as layers_core
from millstream.ops.linalg import linalg_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.nn import nn_ops
from millstream.ops.variables import init_ops
from millstream.ops.array import index_ops
from millstream.ops.flow import tensor_array_ops
from millstream.ops.rnn import rnn_cell
from millstream.ops.variables import variable_scope as vs

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike


class AttentionMechanism:
    """Gives alignments (weights over the memory) for a query."""


class _BaseAttention(AttentionMechanism):
    def __init__(self, query_layer: Any, memory: Any, probability_fn: Any, memory_sequence_length: Any = None,
                 memory_layer: Any = None, check_inner_dims_defined: bool = True, score_mask_value: Any = None) -> None:
        self._query_layer, self._memory_layer = query_layer, memory_layer
        own = memory_layer.dtype if memory_layer is not None else None
        self.dtype = dtypes.as_dtype(own or ops.convert_to_tensor(memory).dtype)
        score_mask_value = -math.inf if score_mask_value is None else score_mask_value
        with ops.name_scope("AttentionMechanismInit"):
            memory = ops.convert_to_tensor(memory, name="memory")
            self._values = _masked(memory, memory_sequence_length)
            self._keys = memory_layer(self._values) if memory_layer is not None else self._values
            self._batch_size = self._keys.shape.as_list()[0] or array_ops.shape(self._keys)[0]
            self._alignments_size = self._keys.shape.as_list()[1] or array_ops.shape(self._keys)[1]
        self._probability = lambda score, state: probability_fn(
            _masked_score(score, memory_sequence_length, score_mask_value))

    memory_layer = property(lambda self: self._memory_layer)
    query_layer = property(lambda self: self._query_layer)
    values = property(lambda self: self._values)
    keys = property(lambda self: self._keys)
    batch_size = property(lambda self: self._batch_size)
    alignments_size = property(lambda self: self._alignments_size)
    state_size = property(lambda self: self._alignments_size)

    def initial_alignments(self, batch_size: Any, dtype: DTypeLike) -> Any:
        return _zeros(self._alignments_size, batch_size, dtype)

    initial_state = initial_alignments

    def __call__(self, query, state):
        with vs.variable_scope(None, self._scope, [query]):
            alignments = self._probability(self._score(query), state)
        return alignments, alignments


def _zeros(size, batch_size, dtype):
    out = array_ops.zeros(array_ops.stack([batch_size, size]), dtype)
    out.set_shape([batch_size if isinstance(batch_size, int) else None, size if isinstance(size, int) else None])
    return out


def _masked(memory, lengths):
    if lengths is None:
        return memory
    mask = index_ops.sequence_mask(lengths, array_ops.shape(memory)[1], dtype=memory.dtype)
    out = memory * array_ops.reshape(mask, array_ops.concat(
        [array_ops.shape(mask), array_ops.ones([memory.shape.rank - 2], dtypes.int32)], 0))
    out.set_shape(memory.shape)
    return out


def _masked_score(score, lengths, value):
    if lengths is None:
        return score
    mask = index_ops.sequence_mask(lengths, maxlen=array_ops.shape(score)[1])
    return index_ops.where(mask, score, math_ops.cast(value, score.dtype) * array_ops.ones_like(score))


class LuongAttention(_BaseAttention):
    """Products of query and keys."""

    _scope = "luong_attention"

    def __init__(self, num_units: Any, memory: Any, memory_sequence_length: Any = None, scale: bool = False,
                 probability_fn: Any = None, score_mask_value: Any = None, dtype: Optional[DTypeLike] = None,
                 name: str = "LuongAttention") -> None:
        super().__init__(None, memory, probability_fn or nn_ops.softmax, memory_sequence_length,
                         layers_core.Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype or dtypes.float32),
                         score_mask_value=score_mask_value)
        self._num_units, self._scale, self._name = num_units, scale, name

    def _score(self, query):
        depth, units = query.shape.as_list()[-1], self._keys.shape.as_list()[-1]
        if depth != units:
            raise ValueError("Incompatible or unknown inner dimensions between query and keys. Query has units: %s. Keys have "
                             "units: %s. Perhaps you need to set num_units to the keys' dimension (%s)?" % (depth, units, units))
        score = array_ops.squeeze(linalg_ops.matmul(array_ops.expand_dims(query, 1), self._keys, transpose_b=True), [1])
        if self._scale:
            score = vs.get_variable("attention_g", dtype=query.dtype, initializer=init_ops.Ones(), shape=()) * score
        return score


class BahdanauAttention(_BaseAttention):
    """A small network over query and keys."""

    _scope = "bahdanau_attention"

    def __init__(self, num_units: Any, memory: Any, memory_sequence_length: Any = None, normalize: bool = False,
                 probability_fn: Any = None, score_mask_value: Any = None, dtype: Optional[DTypeLike] = None,
                 name: str = "BahdanauAttention") -> None:
        dtype = dtype or dtypes.float32
        super().__init__(layers_core.Dense(num_units, name="query_layer", use_bias=False, dtype=dtype), memory,
                         probability_fn or nn_ops.softmax, memory_sequence_length,
                         layers_core.Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype),
                         score_mask_value=score_mask_value)
        self._num_units, self._normalize, self._name = num_units, normalize, name

    def _score(self, query):
        processed = array_ops.expand_dims(self._query_layer(query), 1)
        dtype = processed.dtype
        v = vs.get_variable("attention_v", [self._num_units], dtype=dtype)
        if not self._normalize:
            return reduce_ops.reduce_sum(v * math_ops.tanh(self._keys + processed), [2])
        g = vs.get_variable("attention_g", dtype=dtype, initializer=init_ops.Constant(math.sqrt(1. / self._num_units)), shape=())
        b = vs.get_variable("attention_b", [self._num_units], dtype=dtype, initializer=init_ops.Zeros())
        v = g * v * gen_ops.rsqrt(reduce_ops.reduce_sum(math_ops.square(v)))
        return reduce_ops.reduce_sum(v * math_ops.tanh(self._keys + processed + b), [2])


class AttentionWrapperState(collections.namedtuple("AttentionWrapperState", (
        "cell_state", "attention", "time", "alignments", "alignment_history", "attention_state"))):
    def clone(self, **kwargs: Any) -> Any:
        """This state with other parts: state.clone(cell_state=encoder_state)."""
        return self._replace(**kwargs)


class AttentionWrapper(rnn_cell.RNNCell):
    """A cell that reads its inputs beside the last attention, and attends with its output."""

    def __init__(self, cell, attention_mechanism, attention_layer_size=None, alignment_history=False, cell_input_fn=None,
                 output_attention=True, initial_cell_state=None, name=None, attention_layer=None):
        super().__init__(name=name)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        self._mechanisms = list(attention_mechanism) if self._is_multi else [attention_mechanism]
        sizes = attention_layer_size if isinstance(attention_layer_size, (list, tuple)) else [attention_layer_size]
        if attention_layer is not None:
            self._layers = list(attention_layer) if isinstance(attention_layer, (list, tuple)) else [attention_layer]
            widths = [layer.compute_output_shape([None, m.values.shape.as_list()[-1]])[-1]
                      for layer, m in zip(self._layers, self._mechanisms)]
            self._attention_layer_size = sum(int(w) for w in widths)
        elif sizes != [None]:
            if len(sizes) != len(self._mechanisms):
                raise ValueError("If provided, attention_layer_size must contain exactly one integer per attention_mechanism")
            self._layers = [layers_core.Dense(size, name="attention_layer", use_bias=False, dtype=m.dtype)
                            for size, m in zip(sizes, self._mechanisms)]
            self._attention_layer_size = sum(sizes)
        else:
            self._layers = None
            self._attention_layer_size = sum(m.values.shape.as_list()[-1] for m in self._mechanisms)
        self._cell, self._output_attention, self._history = cell, output_attention, alignment_history
        self._cell_input_fn = cell_input_fn or (lambda inputs, attention: array_ops.concat([inputs, attention], -1))
        self._initial_cell_state = initial_cell_state

    @property
    def output_size(self) -> Any:
        return self._attention_layer_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> Any:
        return AttentionWrapperState(
            cell_state=self._cell.state_size, time=TensorShape([]), attention=self._attention_layer_size,
            alignments=self._one_or_all([m.alignments_size for m in self._mechanisms]),
            attention_state=self._one_or_all([m.state_size for m in self._mechanisms]),
            alignment_history=self._one_or_all([() for _ in self._mechanisms]))

    def _one_or_all(self, items):
        return tuple(items) if self._is_multi else items[0]

    def _all(self, item):
        return item if self._is_multi else [item]

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        with ops.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            cell_state = self._cell.zero_state(batch_size, dtype) if self._initial_cell_state is None else \
                nest.map_structure(array_ops.identity, self._initial_cell_state)
            alignments = [m.initial_alignments(batch_size, dtype) for m in self._mechanisms]
            history = [tensor_array_ops.TensorArray(dtype, size=0, dynamic_size=True) if self._history else ()
                       for _ in self._mechanisms]
            return AttentionWrapperState(
                cell_state=cell_state, time=array_ops.zeros([], dtypes.int32),
                attention=_zeros(self._attention_layer_size, batch_size, dtype),
                alignments=self._one_or_all(alignments), attention_state=self._one_or_all(list(alignments)),
                alignment_history=self._one_or_all(history))

    def call(self, inputs: Any, state: Any) -> Any:
        if not isinstance(state, AttentionWrapperState):
            raise TypeError("Expected state to be instance of AttentionWrapperState. Received type %s instead." % type(state))
        cell_output, cell_state = self._cell(self._cell_input_fn(inputs, state.attention), state.cell_state)
        attentions, alignments, states, histories = [], [], [], []
        for i, mechanism in enumerate(self._mechanisms):
            weights, attention_state = mechanism(cell_output, self._all(state.attention_state)[i])
            context = array_ops.squeeze(linalg_ops.matmul(array_ops.expand_dims(weights, 1), mechanism.values), [1])
            if self._layers is not None:
                context = self._layers[i](array_ops.concat([cell_output, context], 1))
            history = self._all(state.alignment_history)[i]
            histories.append(history.write(state.time, weights) if self._history else ())
            attentions.append(context)
            alignments.append(weights)
            states.append(attention_state)
        attention = array_ops.concat(attentions, 1) if len(attentions) > 1 else attentions[0]
        new = AttentionWrapperState(
            time=state.time + 1, cell_state=cell_state, attention=attention, alignments=self._one_or_all(alignments),
            attention_state=self._one_or_all(states), alignment_history=self._one_or_all(histories))
        return (attention if self._output_attention else cell_output), new
