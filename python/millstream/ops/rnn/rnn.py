# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks over time: tf.nn.dynamic_rnn, tf.nn.static_rnn, tf.nn.bidirectional_*, tf.nn.raw_rnn."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import constant_op, dtypes, ops
from millstream.framework.tensor_shape import TensorShape
from millstream.ops import nest
from millstream.ops.array import array_ops, index_ops
from millstream.ops.flow import control_flow_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.variables import variable_scope
from millstream.ops.flow.tensor_array_ops import TensorArray
from millstream.ops.rnn.rnn_cell import batch_zeros

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import DTypeLike

_NO_STATE = "If there is no initial_state, you must give a dtype."


def _like_cell(cell):
    if not hasattr(cell, "output_size") or not hasattr(cell, "state_size") or not callable(cell):
        raise TypeError(f"The argument 'cell' ({cell}) is not an RNNCell")


def _transpose_batch_time(x):
    """[batch, time, ...] <-> [time, batch, ...]."""
    if x.shape.rank is not None and x.shape.rank < 2:
        raise ValueError(f"Expected input tensor {x} to have rank at least 2, but saw shape: {x.shape}")
    result = array_ops.transpose(x, array_ops.concat(([1, 0], math_ops.range(2, array_ops.rank(x))), axis=0))
    if x.shape.rank is not None:
        sizes = x.shape.as_list()
        result.set_shape([sizes[1], sizes[0]] + sizes[2:])
    return result


def _batch_size(tensors):
    """The number of sequences in inputs [time, batch, ...]: a number if one of the shapes tells it, else a tensor."""
    for tensor in tensors:
        if tensor.shape.rank is not None and tensor.shape.as_list()[1] is not None:
            return tensor.shape.as_list()[1]
    return array_ops.shape(tensors[0])[1]


def _zero_state(cell, batch_size, dtype):
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def _select(done, old, new):
    """`old` for the sequences that have ended, `new` for the others."""
    if isinstance(new, TensorArray) or new.shape.rank == 0:
        return new
    with ops.colocate_with(new):
        result = index_ops.where(done, old, new)
    result.set_shape(new.shape)
    return result


class _EndedSequences:
    """Leaves the state of ended sequences as it is, and gives zeros for their outputs."""

    def __init__(self, time, lengths, zero_output, state):
        self._zero_output, self._state = zero_output, state
        self._old = nest.flatten(zero_output) + nest.flatten(state)
        self._ended = gen_ops.greater_equal(time, lengths)

    def _called(self, call):
        output, new_state = call()
        nest.assert_same_structure(self._zero_output, output)
        nest.assert_same_structure(self._state, new_state)
        return nest.flatten(output) + nest.flatten(new_state)

    def _mixed(self, new):
        return [_select(self._ended, o, n) for o, n in zip(self._old, new)]

    def _packed(self, values):
        count = len(nest.flatten(self._zero_output))
        return (nest.pack_sequence_as(self._zero_output, values[:count]),
                nest.pack_sequence_as(self._state, values[count:]))

    def step(self, call):
        """Calls the cell, whichever sequences have ended: what a loop over all times does."""
        return self._packed(self._mixed(self._called(call)))

    def conditional_step(self, call, time, longest, shortest):
        """Calls the cell only if a sequence goes on, and mixes only if one has ended."""
        def some():
            new = self._called(call)
            return control_flow_ops.cond(gen_ops.less(time, shortest), lambda: new, lambda: self._mixed(new))

        values = control_flow_ops.cond(gen_ops.greater_equal(time, longest), lambda: self._old, some)
        values = values if isinstance(values, list) else [values]
        for value, like in zip(values, self._old):
            value.set_shape(like.shape)
        return self._packed(values)


def dynamic_rnn(cell: Any, inputs: Any, sequence_length: Any = None, initial_state: Any = None,
                dtype: Optional[DTypeLike] = None, parallel_iterations: Any = None, swap_memory: bool = False,
                time_major: bool = False, scope: Any = None) -> tuple[Any, Any]:
    """Runs a cell over inputs [batch, time, ...] in a loop and returns (outputs, final state)."""
    _like_cell(cell)
    with variable_scope.variable_scope(scope or "rnn"):
        flat = [ops.convert_to_tensor(x) for x in nest.flatten(inputs)]
        if not time_major:
            flat = [_transpose_batch_time(x) for x in flat]
        if sequence_length is not None:
            sequence_length = math_ops.cast(sequence_length, dtypes.int32)
            if sequence_length.shape.rank not in (None, 1):
                raise ValueError("sequence_length must be a vector of length batch_size, but saw shape: "
                                 f"{sequence_length.shape}")
            sequence_length = gen_ops.identity(sequence_length, name="sequence_length")
        batch_size = _batch_size(flat)
        if initial_state is not None:
            state = initial_state
        else:
            if not dtype:
                raise ValueError(_NO_STATE)
            state = _zero_state(cell, batch_size, dtype)
        if sequence_length is not None:
            with ops.control_dependencies([_assert_shape(sequence_length, [batch_size])]):
                sequence_length = gen_ops.identity(sequence_length, name="CheckSeqLen")
        outputs, final = _dynamic_loop(cell, nest.pack_sequence_as(inputs, flat), state, parallel_iterations or 32,
                                       swap_memory, sequence_length, dtype)
        if not time_major:
            outputs = nest.map_structure(_transpose_batch_time, outputs)
        return outputs, final


def _assert_shape(x, shape):
    from millstream.ops.debugging import check_ops
    found, wanted = array_ops.shape(x), array_ops.stack(shape)
    return check_ops.Assert(reduce_ops.reduce_all(gen_ops.equal(found, wanted)),
                            [f"Expected shape for Tensor {x.name} is ", wanted, " but saw shape: ", found])


def _dynamic_loop(cell, inputs, state, parallel_iterations, swap_memory, lengths, dtype):
    flat_in = nest.flatten(inputs)
    steps_tensor = array_ops.shape(flat_in[0])[0]
    batch_size = _batch_size(flat_in)
    steps, batch = flat_in[0].shape.as_list()[:2] if flat_in[0].shape.rank is not None else (None, None)
    state = nest.map_structure(lambda s: s if isinstance(s, TensorArray) else ops.convert_to_tensor(s), state)
    out_dtype = dtypes.as_dtype(dtype or nest.flatten(state)[0].dtype.base_dtype)
    sizes = nest.flatten(cell.output_size)
    zero_output = nest.pack_sequence_as(cell.output_size, [batch_zeros(s, batch_size, out_dtype) for s in sizes])
    last = steps_tensor
    if lengths is not None:
        last = reduce_ops.reduce_max(lengths)
    time = constant_op.constant(0, name="time")
    with ops.name_scope("dynamic_rnn") as base:
        pass

    def array(kind, i, shape, of):
        return TensorArray(of, size=steps_tensor, tensor_array_name=f"{base}{kind}_{i}", element_shape=shape)

    arrays = tuple(array("output", i, TensorShape([batch]).concatenate(TensorShape(s)), out_dtype)
                   for i, s in enumerate(sizes))
    sources = [array("input", i, x.shape[1:], x.dtype.base_dtype) for i, x in enumerate(flat_in)]
    sources = [source.unstack(x) for source, x in zip(sources, flat_in)]

    def body(time, outs, now):
        reads = [s.read(time) for s in sources]
        for r, x in zip(reads, flat_in):
            r.set_shape(x.shape[1:])
        input_t = nest.pack_sequence_as(inputs, reads)
        if lengths is not None:
            output, new_state = _EndedSequences(time, lengths, zero_output, now).step(lambda: cell(input_t, now))
        else:
            output, new_state = cell(input_t, now)
        nest.assert_same_structure(state, new_state)
        outs = tuple(a.write(time, o) for a, o in zip(outs, nest.flatten(output)))
        return time + 1, outs, new_state

    # At least one step, if there is an input, so that the arrays know the shapes of their elements.
    bound = gen_ops.minimum(steps_tensor, gen_ops.maximum(1, last))
    _, outs, final = control_flow_ops.while_loop(
        lambda time, *_: time < bound, body, (time, arrays, state), parallel_iterations=parallel_iterations,
        swap_memory=swap_memory, maximum_iterations=steps_tensor)
    results = [a.stack() for a in outs]
    for r, s in zip(results, sizes):
        r.set_shape(TensorShape([steps, batch]).concatenate(TensorShape(s)))
    return nest.pack_sequence_as(cell.output_size, results), final


def static_rnn(cell: Any, inputs: Any, initial_state: Any = None, dtype: Optional[DTypeLike] = None,
               sequence_length: Any = None, scope: Any = None) -> tuple[list[Any], Any]:
    """Runs a cell over a list of inputs, with nodes of its own for each step, and returns (list of outputs, final state)."""
    _like_cell(cell)
    if not nest.is_nested(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    outputs = []
    with variable_scope.variable_scope(scope or "rnn") as varscope:
        first = ops.convert_to_tensor(nest.flatten(inputs[0])[0])
        known = first.shape.as_list()[0] if first.shape.rank is not None else None
        batch_size = array_ops.shape(first)[0] if known is None else known
        if initial_state is not None:
            state = initial_state
        else:
            if not dtype:
                raise ValueError("If no initial_state is provided, dtype must be specified")
            state = _zero_state(cell, batch_size, dtype)
        if sequence_length is not None:
            sequence_length = ops.convert_to_tensor(sequence_length, name="sequence_length")
            if sequence_length.shape.rank not in (None, 1):
                raise ValueError("sequence_length must be a vector of length batch_size")
            out_dtype = dtypes.as_dtype(dtype or nest.flatten(state)[0].dtype.base_dtype)
            zero_output = nest.map_structure(lambda s: batch_zeros(s, batch_size, out_dtype), cell.output_size)
            sequence_length = math_ops.cast(sequence_length, dtypes.int32)
            shortest, longest = reduce_ops.reduce_min(sequence_length), reduce_ops.reduce_max(sequence_length)
        for time, input_ in enumerate(inputs):
            if time > 0:
                varscope.reuse_variables()
            if sequence_length is not None:
                ended = _EndedSequences(time, sequence_length, zero_output, state)
                output, state = ended.conditional_step(lambda input_=input_, state=state: cell(input_, state), time,
                                                       longest, shortest)
            else:
                output, state = cell(input_, state)
            outputs.append(output)
        return outputs, state


def static_state_saving_rnn(cell: Any, inputs: Any, state_saver: Any, state_name: Any, sequence_length: Any = None,
                            scope: Any = None) -> Any:
    """static_rnn() that begins with a state which `state_saver` keeps, and saves the last one there."""
    names = nest.flatten(state_name)
    initial = nest.pack_sequence_as(cell.state_size, [state_saver.state(n) for n in names])
    outputs, state = static_rnn(cell, inputs, initial_state=initial, sequence_length=sequence_length, scope=scope)
    saves = [state_saver.save_state(n, s) for n, s in zip(names, nest.flatten(state))]
    with ops.control_dependencies(saves):
        outputs[-1] = nest.map_structure(gen_ops.identity, outputs[-1])
    return outputs, state


def _reversed(x, lengths, seq_axis, batch_axis):
    if lengths is not None:
        return index_ops.reverse_sequence(x, lengths, seq_axis=seq_axis, batch_axis=batch_axis)
    return array_ops.reverse(x, axis=[seq_axis])


def bidirectional_dynamic_rnn(cell_fw: Any, cell_bw: Any, inputs: Any, sequence_length: Any = None,
                              initial_state_fw: Any = None, initial_state_bw: Any = None, dtype: Optional[DTypeLike] = None,
                              parallel_iterations: Any = None, swap_memory: bool = False, time_major: bool = False,
                              scope: Any = None) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Runs two cells over the inputs, one of them backwards, and returns ((outputs of both), (final states of both))."""
    _like_cell(cell_fw)
    _like_cell(cell_bw)
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)
    with variable_scope.variable_scope(scope or "bidirectional_rnn"):
        with variable_scope.variable_scope("fw") as fw_scope:
            output_fw, state_fw = dynamic_rnn(cell_fw, inputs, sequence_length, initial_state_fw, dtype, parallel_iterations,
                                              swap_memory, time_major, fw_scope)
        with variable_scope.variable_scope("bw") as bw_scope:
            turned = nest.map_structure(lambda x: _reversed(ops.convert_to_tensor(x), sequence_length, time_axis,
                                                            batch_axis),
                                        inputs)
            output, state_bw = dynamic_rnn(cell_bw, turned, sequence_length, initial_state_bw, dtype, parallel_iterations,
                                           swap_memory, time_major, bw_scope)
    output_bw = nest.map_structure(lambda x: _reversed(x, sequence_length, time_axis, batch_axis), output)
    return (output_fw, output_bw), (state_fw, state_bw)


def _reverse_list(inputs, lengths):
    if lengths is None:
        return list(reversed(inputs))
    stacked = array_ops.stack(inputs)
    return array_ops.unstack(index_ops.reverse_sequence(stacked, lengths, seq_axis=0, batch_axis=1))


def static_bidirectional_rnn(cell_fw: Any, cell_bw: Any, inputs: Any, initial_state_fw: Any = None,
                             initial_state_bw: Any = None, dtype: Optional[DTypeLike] = None, sequence_length: Any = None,
                             scope: Any = None) -> tuple[list[Any], Any, Any]:
    """Runs two cells over a list of inputs, one of them backwards, and returns (outputs, forward state, backward state)."""
    _like_cell(cell_fw)
    _like_cell(cell_bw)
    if not nest.is_nested(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with variable_scope.variable_scope(scope or "bidirectional_rnn"):
        with variable_scope.variable_scope("fw") as fw_scope:
            output_fw, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=fw_scope)
        with variable_scope.variable_scope("bw") as bw_scope:
            backwards, state_bw = static_rnn(cell_bw, _reverse_list(inputs, sequence_length), initial_state_bw, dtype,
                                             sequence_length, scope=bw_scope)
    output_bw = _reverse_list(backwards, sequence_length)
    outputs = [array_ops.concat([f, b], 1) for f, b in zip(output_fw, output_bw)]
    return outputs, state_fw, state_bw


def raw_rnn(cell: Any, loop_fn: Any, parallel_iterations: Any = None, swap_memory: bool = False,
            scope: Any = None) -> tuple[TensorArray, Tensor, Tensor]:
    """Runs a cell in a loop that `loop_fn(time, output, state, loop_state)` controls.

    Returns a TensorArray of the outputs, the final state and the final loop state.
    """
    _like_cell(cell)
    with variable_scope.variable_scope(scope or "rnn"):
        time = constant_op.constant(0, dtypes.int32)
        finished, next_input, state, emit_like, loop_state = loop_fn(time, None, None, None)
        loop_state = constant_op.constant(0) if loop_state is None else loop_state
        flat_input = [ops.convert_to_tensor(x) for x in nest.flatten(next_input)]
        known = flat_input[0].shape.as_list()[0]
        batch_size = array_ops.shape(flat_input[0])[0] if known is None else known
        state = nest.map_structure(ops.convert_to_tensor, state)
        structure = cell.output_size if emit_like is None else emit_like
        if emit_like is None:
            emit_like = nest.map_structure(lambda s: array_ops.zeros([s] if isinstance(s, int) else s,
                                                                     flat_input[0].dtype.base_dtype), cell.output_size)
        arrays = [TensorArray(e.dtype.base_dtype, size=0, dynamic_size=True, element_shape=TensorShape([known]).concatenate(
            e.shape), tensor_array_name=f"rnn_output_{i}") for i, e in enumerate(nest.flatten(emit_like))]
        zeros = [batch_zeros(e.shape.as_list(), batch_size, e.dtype.base_dtype) for e in nest.flatten(emit_like)]

        def body(time, done, current, emits, states, loop_state):
            output, cell_state = cell(nest.pack_sequence_as(next_input, current), nest.pack_sequence_as(state, states))
            next_done, following, next_state, emit, next_loop = loop_fn(time + 1, output, cell_state, loop_state)
            next_loop = loop_state if next_loop is None else next_loop
            emit = nest.flatten(output if emit is None else emit)
            emit = [_select(done, z, e) for z, e in zip(zeros, emit)]
            kept = [_select(done, old, new) for old, new in zip(states, nest.flatten(next_state))]
            emits = [a.write(time, e) for a, e in zip(emits, emit)]
            return (time + 1, gen_ops.logical_or(next_done, done), nest.flatten(following), emits, kept, next_loop)

        _, _, _, emits, states, loop_state = control_flow_ops.while_loop(
            lambda time, done, *_: gen_ops.logical_not(reduce_ops.reduce_all(done)), body,
            (time, finished, flat_input, arrays, nest.flatten(state), loop_state),
            parallel_iterations=parallel_iterations or 32, swap_memory=swap_memory)
        return nest.pack_sequence_as(structure, emits), nest.pack_sequence_as(state, states), loop_state
