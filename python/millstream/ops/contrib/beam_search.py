# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.seq2seq.BeamSearchDecoder: the likeliest sequences, several at a time."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.framework.tensor_shape import TensorShape
from millstream.ops import nest
from millstream.ops.array import array_ops, index_ops
from millstream.ops.contrib import seq2seq as contrib_seq2seq
from millstream.ops.flow import functional_ops, tensor_array_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.nn import nn_ops

if TYPE_CHECKING:
    from typing import Any, Optional

BeamSearchDecoderState = collections.namedtuple("BeamSearchDecoderState", "cell_state log_probs finished lengths")
BeamSearchDecoderOutput = collections.namedtuple("BeamSearchDecoderOutput", "scores predicted_ids parent_ids")
FinalBeamSearchDecoderOutput = collections.namedtuple("FinalBeamSearchDecoderOutput", "predicted_ids beam_search_decoder_output")


def _pick(values, beams):
    """values[b, beams[b, k]] for each k."""
    rows = array_ops.shape(beams)[0]
    batch = gen_ops.tile(array_ops.expand_dims(math_ops.range(rows), 1), array_ops.stack([1, array_ops.shape(beams)[1]]))
    return index_ops.gather_nd(values, array_ops.stack([batch, beams], axis=-1))


def gather_tree(step_ids: Any, parent_ids: Any, max_sequence_lengths: Any, end_token: Any, name: Optional[str] = None) -> Any:
    """Whole sequences [time, batch, beam] from each step's ids and the beams that they continue; after the first end, only ends."""
    with ops.name_scope(name, "GatherTree", [step_ids, parent_ids]):
        step_ids = ops.convert_to_tensor(step_ids, name="step_ids")
        parent_ids = ops.convert_to_tensor(parent_ids, name="parent_ids")
        lengths = ops.convert_to_tensor(max_sequence_lengths, name="max_sequence_lengths")
        shape = array_ops.shape(step_ids)
        own = gen_ops.tile(array_ops.expand_dims(math_ops.range(shape[2]), 0), array_ops.stack([shape[1], 1]))
        end = gen_ops.fill(shape[1:], math_ops.cast(end_token, step_ids.dtype))

        def back(state, now):
            beams, _ = state
            time, ids, parents = now
            inside = gen_ops.tile(array_ops.expand_dims(time < lengths, 1), array_ops.stack([1, shape[2]]))
            return (index_ops.where(inside, _pick(parents, beams), beams), index_ops.where(inside, _pick(ids, beams), end))
        elements = [array_ops.reverse(x, [0]) for x in (math_ops.range(shape[0]), step_ids, parent_ids)]
        _, found = functional_ops.scan(back, tuple(elements), (own, end), parallel_iterations=1)
        found = array_ops.reverse(found, [0])
        ended = math_ops.cumsum(math_ops.cast(gen_ops.equal(found, end), dtypes.int32), axis=0)
        result = index_ops.where(ended > 0, gen_ops.tile(array_ops.expand_dims(end, 0), array_ops.stack([shape[0], 1, 1])), found)
        result.set_shape(step_ids.shape)
        return result


def _gather_array_from_tree(values, parent_ids, lengths):
    """values[time, batch * beam, ...], stacked as the steps wrote them, with each sequence's steps in one beam. Beams change places
    at every step: `parent_ids` [time, batch, beam] says from where each came."""
    times, batch, width = array_ops.unstack(array_ops.shape(parent_ids), num=3)
    own = gen_ops.tile(array_ops.reshape(math_ops.range(width), [1, 1, -1]), array_ops.stack([times, batch, 1]))
    longest = math_ops.cast(reduce_ops.reduce_max(lengths, axis=1), dtypes.int32)
    beams = gather_tree(own, parent_ids, longest, width + 1)
    inside = array_ops.transpose(index_ops.sequence_mask(lengths, maxlen=times), [2, 0, 1])
    beams = index_ops.where(inside, beams, own)
    time_index = gen_ops.tile(array_ops.reshape(math_ops.range(times), [-1, 1, 1]), array_ops.stack([1, batch, width]))
    batch_index = gen_ops.tile(array_ops.reshape(math_ops.range(batch), [1, -1, 1]), array_ops.stack([times, 1, width]))
    shape = array_ops.shape(values)
    apart = array_ops.reshape(values, array_ops.stack([times, batch, width, -1]))
    ordered = index_ops.gather_nd(apart, array_ops.stack([time_index, batch_index, beams], -1))
    result = array_ops.reshape(ordered, shape)
    result.set_shape(values.shape)
    return result


class BeamSearchDecoder(contrib_seq2seq.Decoder):
    """Keeps the `beam_width` likeliest beginnings. `initial_state` has each row that often: see tile_batch()."""

    tracks_own_finished = True

    def __init__(self, cell: Any, embedding: Any, start_tokens: Any, end_token: Any, initial_state: Any, beam_width: Any,
                 output_layer: Any = None, length_penalty_weight: Any = 0.0, coverage_penalty_weight: Any = 0.0,
                 reorder_tensor_arrays: bool = True) -> None:
        if output_layer is not None and not hasattr(output_layer, "compute_output_shape"):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        if coverage_penalty_weight:
            raise ValueError("coverage_penalty_weight is not supported")
        self._cell, self._output_layer, self._beam_width = cell, output_layer, beam_width
        self._embedding_fn = contrib_seq2seq._lookup(embedding)
        self._start_tokens = ops.convert_to_tensor(start_tokens, dtype=dtypes.int32, name="start_tokens")
        self._end_token = ops.convert_to_tensor(end_token, dtype=dtypes.int32, name="end_token")
        if self._start_tokens.shape.rank != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end_token.shape.rank != 0:
            raise ValueError("end_token must be a scalar")
        self._penalty, self._reorder_arrays = length_penalty_weight, reorder_tensor_arrays
        self._batch_size = array_ops.size(self._start_tokens)
        self._initial_cell_state = nest.map_structure(self._split, initial_state)
        wide = gen_ops.tile(array_ops.expand_dims(self._start_tokens, 1), [1, beam_width])
        self._start_inputs = self._embedding_fn(wide)

    batch_size = property(lambda self: self._batch_size)

    def _split(self, x):
        """[batch * beam, ...] as [batch, beam, ...]"""
        if isinstance(x, tensor_array_ops.TensorArray) or x.shape.rank == 0:
            return x
        known = x.shape.as_list()
        rest = array_ops.shape(x)[1:]
        out = array_ops.reshape(x, array_ops.concat([array_ops.stack([self._batch_size, self._beam_width]), rest], 0))
        batch = self._start_tokens.shape.as_list()[0]
        out.set_shape([batch, self._beam_width] + known[1:])
        return out

    def _merge(self, x):
        if isinstance(x, tensor_array_ops.TensorArray) or x.shape.rank == 0:
            return x
        known = x.shape.as_list()
        out = array_ops.reshape(x, array_ops.concat([array_ops.stack([self._batch_size * self._beam_width]), array_ops.shape(x)[2:]], 0))
        out.set_shape([None if known[0] is None else known[0] * self._beam_width] + known[2:])
        return out

    @property
    def output_size(self) -> Any:
        width = TensorShape([self._beam_width])
        return BeamSearchDecoderOutput(width, width, width)

    @property
    def output_dtype(self) -> Any:
        return BeamSearchDecoderOutput(nest.flatten(self._initial_cell_state)[0].dtype, dtypes.int32, dtypes.int32)

    def initialize(self, name: Optional[str] = None) -> Any:
        batch = self._start_tokens.shape.as_list()[0]
        finished = gen_ops.fill(array_ops.stack([self._batch_size, self._beam_width]), False)
        finished.set_shape([batch, self._beam_width])
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        first = index_ops.one_hot(array_ops.zeros(array_ops.stack([self._batch_size]), dtypes.int32), self._beam_width,
                                  on_value=ops.convert_to_tensor(0.0, dtype=dtype),
                                  off_value=ops.convert_to_tensor(-np.inf, dtype=dtype), dtype=dtype)
        first.set_shape([batch, self._beam_width])
        lengths = array_ops.zeros_like(finished, dtype=dtypes.int64)
        state = BeamSearchDecoderState(self._initial_cell_state, first, finished, lengths)
        return finished, self._start_inputs, state

    def step(self, time: Any, inputs: Any, state: Any, name: Optional[str] = None) -> Any:
        with ops.name_scope(name, "BeamSearchDecoderStep"):
            cell_state = nest.map_structure(self._merge, state.cell_state)
            outputs, new_cell_state = self._cell(nest.map_structure(self._merge, inputs), cell_state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            logits = nest.map_structure(self._split, outputs)
            new_cell_state = nest.map_structure(self._split, new_cell_state)
            output, new_state = self._advance(logits, new_cell_state, state)
            inputs = self._embedding_fn(output.predicted_ids)
            inputs.set_shape(self._start_inputs.shape)
        return output, new_state, inputs, new_state.finished

    def _advance(self, logits, cell_state, state):
        words = logits.shape.as_list()[-1] or array_ops.shape(logits)[-1]
        total = array_ops.expand_dims(state.log_probs, 2) + self._step_log_probs(logits, state.finished, words)
        goes_on = math_ops.cast(gen_ops.logical_not(state.finished), dtypes.int64)
        not_end = index_ops.one_hot(self._end_token, words, on_value=np.int64(0), off_value=np.int64(1), dtype=dtypes.int64)
        lengths = array_ops.expand_dims(state.lengths, 2) + array_ops.expand_dims(goes_on, 2) * not_end
        scores = total / self._length_penalty(lengths, total.dtype)
        flat_shape = array_ops.stack([self._batch_size, -1])
        next_scores, places = nn_ops.top_k(array_ops.reshape(scores, flat_shape), k=self._beam_width)
        word_ids, beams = places % words, places // words
        batch = self._start_tokens.shape.as_list()[0]
        for x in (next_scores, word_ids, beams):
            x.set_shape([batch, self._beam_width])
        log_probs = _pick(array_ops.reshape(total, flat_shape), places)
        was_finished = _pick(state.finished, beams)
        finished = gen_ops.logical_or(was_finished, gen_ops.equal(word_ids, self._end_token))
        new_lengths = _pick(state.lengths, beams) + math_ops.cast(gen_ops.logical_not(was_finished), dtypes.int64)
        cell_state = nest.map_structure(lambda x: self._follow(x, beams), cell_state)
        for x in (log_probs, finished, new_lengths):
            x.set_shape([batch, self._beam_width])
        return BeamSearchDecoderOutput(next_scores, word_ids, beams), BeamSearchDecoderState(cell_state, log_probs, finished, new_lengths)

    @staticmethod
    def _follow(x, beams):
        if isinstance(x, tensor_array_ops.TensorArray) or x.shape.rank == 0:
            return x
        out = _pick(x, beams)
        out.set_shape(x.shape)
        return out

    def _step_log_probs(self, logits, finished, words):
        """What each word adds; a sequence that has ended can only end again, at no cost."""
        logs = nn_ops.log_softmax(logits)
        only_end = index_ops.one_hot(self._end_token, words, on_value=ops.convert_to_tensor(0.0, dtype=logs.dtype),
                                     off_value=ops.convert_to_tensor(logs.dtype.min, dtype=logs.dtype), dtype=logs.dtype)
        ended = array_ops.expand_dims(math_ops.cast(finished, logs.dtype), 2)
        return (1.0 - ended) * logs + ended * only_end

    def _length_penalty(self, lengths, dtype):
        if not isinstance(self._penalty, ops.Tensor) and self._penalty == 0:
            return 1.0
        return gen_ops.pow((5.0 + math_ops.cast(lengths, dtype)) / 6.0, ops.convert_to_tensor(self._penalty, dtype=dtype))

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> Any:
        longest = math_ops.cast(reduce_ops.reduce_max(final_state.lengths, axis=1), dtypes.int32)
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
        if self._reorder_arrays:
            final_state = final_state._replace(cell_state=nest.map_structure(
                lambda x: self._in_beams(x, outputs.parent_ids, final_state.lengths), final_state.cell_state))
        return FinalBeamSearchDecoderOutput(beam_search_decoder_output=outputs, predicted_ids=ids), final_state

    @staticmethod
    def _in_beams(x, parent_ids, lengths):
        """A TensorArray with an entry for each step (alignments) as a tensor [time, batch * beam, ...]; other states as they are."""
        if not isinstance(x, tensor_array_ops.TensorArray) or not x.element_shape.rank:
            return x
        return _gather_array_from_tree(x.stack(), parent_ids, lengths)
