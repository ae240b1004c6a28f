# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.seq2seq: decoders, the helpers that choose their inputs, dynamic_decode, sequence_loss."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.framework.tensor_shape import TensorShape
from millstream.ops import nest
from millstream.ops.array import array_ops, index_ops
from millstream.ops.flow import control_flow_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.nn import embedding_ops, nn_ops
from millstream.ops.random import random_ops
from millstream.ops.flow import tensor_array_ops
from millstream.ops.variables import variable_scope as vs

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import TensorLike


class Helper:
    """Says what a decoder reads next: initialize(), sample() from its outputs, next_inputs()."""

    batch_size = property(lambda self: self._batch_size)
    sample_ids_shape = property(lambda self: TensorShape([]))
    sample_ids_dtype = property(lambda self: dtypes.int32)


class CustomHelper(Helper):
    def __init__(self, initialize_fn: Any, sample_fn: Any, next_inputs_fn: Any, sample_ids_shape: Any = None,
                 sample_ids_dtype: Any = None) -> None:
        self._initialize_fn, self._sample_fn, self._next_inputs_fn = initialize_fn, sample_fn, next_inputs_fn
        self._batch_size = None
        self._shape, self._dtype = TensorShape(sample_ids_shape or []), sample_ids_dtype or dtypes.int32

    sample_ids_shape = property(lambda self: self._shape)
    sample_ids_dtype = property(lambda self: self._dtype)

    def initialize(self, name=None):
        finished, inputs = self._initialize_fn()
        if self._batch_size is None:
            self._batch_size = array_ops.size(finished)
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: Optional[str] = None) -> Any:
        return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: Optional[str] = None) -> Any:
        return self._next_inputs_fn(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


class TrainingHelper(Helper):
    """Reads given inputs, whatever the decoder says."""

    def __init__(self, inputs: Any, sequence_length: Any, time_major: bool = False, name: Optional[str] = None) -> None:
        with ops.name_scope(name, "TrainingHelper", [inputs, sequence_length]):
            inputs = nest.map_structure(ops.convert_to_tensor, inputs)
            if not time_major:
                inputs = nest.map_structure(lambda x: array_ops.transpose(x, [1, 0] + list(range(2, x.shape.rank))), inputs)
            self._inputs = inputs
            self._arrays = nest.map_structure(_unstacked, inputs)
            self._sequence_length = ops.convert_to_tensor(sequence_length, name="sequence_length")
            if self._sequence_length.shape.rank != 1:
                raise ValueError("Expected sequence_length to be a vector, but received shape: %s" % self._sequence_length.shape)
            self._zero_inputs = nest.map_structure(lambda x: array_ops.zeros_like(x[0]), inputs)
            self._batch_size = array_ops.size(sequence_length)

    inputs = property(lambda self: self._inputs)
    sequence_length = property(lambda self: self._sequence_length)

    def initialize(self, name: Optional[str] = None) -> Any:
        finished = gen_ops.equal(self._sequence_length, 0)
        return finished, self._inputs_or_zeros(reduce_ops.reduce_all(finished), 0)

    def _inputs_or_zeros(self, all_finished, time):
        return control_flow_ops.cond(all_finished, lambda: self._zero_inputs,
                                     lambda: nest.map_structure(lambda a: a.read(time), self._arrays))

    def sample(self, time: Any, outputs: Any, name: Optional[str] = None, **unused: Any) -> Any:
        return math_ops.cast(math_ops.argmax(outputs, axis=-1), dtypes.int32)

    def next_inputs(self, time: Any, outputs: Any, state: Any, name: Optional[str] = None, **unused: Any) -> Any:
        next_time = time + 1
        finished = gen_ops.greater_equal(next_time, self._sequence_length)
        return finished, self._inputs_or_zeros(reduce_ops.reduce_all(finished), next_time), state


def _unstacked(x):
    array = tensor_array_ops.TensorArray(dtype=x.dtype, size=array_ops.shape(x)[0], element_shape=x.shape[1:],
                                         clear_after_read=False)
    return array.unstack(x)


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """Reads given inputs or, with a probability, what the decoder has sampled."""

    def __init__(self, inputs: Any, sequence_length: Any, embedding: Any, sampling_probability: Any, time_major: bool = False,
                 seed: Optional[int] = None, scheduling_seed: Any = None, name: Optional[str] = None) -> None:
        super().__init__(inputs, sequence_length, time_major, name)
        self._embedding_fn = _lookup(embedding)
        self._probability = ops.convert_to_tensor(sampling_probability, name="sampling_probability")
        self._seed, self._scheduling_seed = seed, scheduling_seed

    def sample(self, time, outputs, state, name=None):
        chosen = random_ops.random_uniform([self.batch_size], seed=self._scheduling_seed) < self._probability
        ids = math_ops.cast(random_ops.multinomial(outputs, 1, seed=self._seed)[:, 0], dtypes.int32)
        return index_ops.where(chosen, ids, array_ops.fill([self.batch_size], -1))

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        finished, base, state = super().next_inputs(time, outputs, state)
        sampled = self._embedding_fn(gen_ops.maximum(sample_ids, 0))
        mask = array_ops.expand_dims(math_ops.cast(sample_ids > -1, base.dtype), 1)
        return finished, mask * sampled + (1 - mask) * base, state


class GreedyEmbeddingHelper(Helper):
    """Reads the embedding of the likeliest id, until `end_token`."""

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embedding_fn = _lookup(embedding)
        self._start_tokens = ops.convert_to_tensor(start_tokens, dtype=dtypes.int32, name="start_tokens")
        self._end_token = ops.convert_to_tensor(end_token, dtype=dtypes.int32, name="end_token")
        if self._start_tokens.shape.rank != 1:
            raise ValueError("start_tokens must be a vector")
        self._batch_size = array_ops.size(start_tokens)
        self._start_inputs = self._embedding_fn(self._start_tokens)

    def initialize(self, name: Optional[str] = None) -> Any:
        return array_ops.fill([self._batch_size], False), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: Optional[str] = None) -> Any:
        return math_ops.cast(math_ops.argmax(outputs, axis=-1), dtypes.int32)

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: Optional[str] = None) -> Any:
        finished = gen_ops.equal(sample_ids, self._end_token)
        inputs = control_flow_ops.cond(reduce_ops.reduce_all(finished), lambda: self._start_inputs,
                                       lambda: self._embedding_fn(sample_ids))
        return finished, inputs, state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any, softmax_temperature: Any = None,
                 seed: Optional[int] = None) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time: Any, outputs: Any, state: Any, name: Optional[str] = None) -> Any:
        logits = outputs if self._temperature is None else outputs / self._temperature
        return math_ops.cast(random_ops.multinomial(logits, 1, seed=self._seed)[:, 0], dtypes.int32)


class InferenceHelper(Helper):
    """Reads what `sample_fn` makes of the outputs."""

    def __init__(self, sample_fn: Any, sample_shape: Any, sample_dtype: Any, start_inputs: Any, end_fn: Any,
                 next_inputs_fn: Any = None) -> None:
        self._sample_fn, self._end_fn, self._next_inputs_fn = sample_fn, end_fn, next_inputs_fn
        self._shape, self._dtype = TensorShape(sample_shape), sample_dtype
        self._start_inputs = ops.convert_to_tensor(start_inputs)
        self._batch_size = array_ops.shape(start_inputs)[0]

    sample_ids_shape = property(lambda self: self._shape)
    sample_ids_dtype = property(lambda self: self._dtype)

    def initialize(self, name: Optional[str] = None) -> Any:
        return array_ops.fill([self._batch_size], False), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: Optional[str] = None) -> Any:
        return self._sample_fn(outputs)

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: Optional[str] = None) -> Any:
        inputs = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), inputs, state


def _lookup(embedding):
    return embedding if callable(embedding) else lambda ids: embedding_ops.embedding_lookup(embedding, ids)


class Decoder:
    """initialize(), step(), and what they give: batch_size, output_size, output_dtype."""

    tracks_own_finished = False

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> Any:
        raise NotImplementedError


class BasicDecoderOutput(collections.namedtuple("BasicDecoderOutput", ("rnn_output", "sample_id"))):
    pass


class BasicDecoder(Decoder):
    """A cell, a helper, and perhaps a layer over the cell's outputs."""

    def __init__(self, cell: Any, helper: Any, initial_state: Any, output_layer: Any = None) -> None:
        self._cell, self._helper, self._initial_state, self._output_layer = cell, helper, initial_state, output_layer

    batch_size = property(lambda self: self._helper.batch_size)

    def _rnn_output_size(self):
        size = self._cell.output_size
        if self._output_layer is None:
            return size
        return nest.map_structure(lambda s: self._output_layer.compute_output_shape(
            TensorShape([None]).concatenate(s if not isinstance(s, int) else [s]))[1:], size)

    @property
    def output_size(self) -> Any:
        return BasicDecoderOutput(self._rnn_output_size(), self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> Any:
        dtype = nest.flatten(self._initial_state)[0].dtype
        return BasicDecoderOutput(nest.map_structure(lambda _: dtype, self._rnn_output_size()), self._helper.sample_ids_dtype)

    def initialize(self, name: Optional[str] = None) -> Any:
        return self._helper.initialize() + (self._initial_state,)

    def step(self, time: Any, inputs: Any, state: Any, name: Optional[str] = None) -> Any:
        with ops.name_scope(name, "BasicDecoderStep", [time]):
            outputs, state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            ids = self._helper.sample(time=time, outputs=outputs, state=state)
            finished, inputs, state = self._helper.next_inputs(time=time, outputs=outputs, state=state, sample_ids=ids)
        return BasicDecoderOutput(outputs, ids), state, inputs, finished


def _sizes(size):
    return TensorShape([size] if isinstance(size, int) else size)


def _keep(finished, new, old):
    """`old` in the rows that are finished, for values with a batch axis."""
    if isinstance(new, tensor_array_ops.TensorArray) or new.shape.rank == 0:
        return new
    new.set_shape(old.shape)
    return index_ops.where(finished, old, new)


def dynamic_decode(decoder: Any, output_time_major: bool = False, impute_finished: bool = False, maximum_iterations: Any = None,
                   parallel_iterations: Any = 32, swap_memory: bool = False, scope: Any = None) -> Any:
    """Steps of `decoder` until all sequences have ended: (outputs, final state, lengths)."""
    with vs.variable_scope(scope, "decoder"):
        limit = None
        if maximum_iterations is not None:
            limit = ops.convert_to_tensor(maximum_iterations, dtype=dtypes.int32, name="maximum_iterations")
            if limit.shape.rank != 0:
                raise ValueError("maximum_iterations must be a scalar")
        finished, inputs, state = decoder.initialize()
        if limit is not None:
            finished = gen_ops.logical_or(finished, gen_ops.greater_equal(0, limit))
        lengths = array_ops.zeros_like(finished, dtype=dtypes.int32)
        sizes, types = decoder.output_size, decoder.output_dtype
        batch = finished.shape.as_list()[0] if finished.shape.rank else None
        batch_size = array_ops.shape(finished)[0]
        zeros = nest.map_structure(lambda s, t: array_ops.zeros(array_ops.concat(
            [[batch_size], ops.convert_to_tensor(_sizes(s).as_list(), dtype=dtypes.int32)], 0), t), sizes, types)
        arrays = nest.map_structure(lambda s, t: tensor_array_ops.TensorArray(
            dtype=t, size=0, dynamic_size=True, element_shape=TensorShape([batch]).concatenate(_sizes(s))), sizes, types)

        def body(time, arrays, state, inputs, finished, lengths):
            outputs, new_state, next_inputs, ended = decoder.step(time, inputs, state)
            now = ended if decoder.tracks_own_finished else gen_ops.logical_or(ended, finished)
            new_lengths = index_ops.where(gen_ops.logical_not(finished),
                                          array_ops.fill(array_ops.shape(lengths), time + 1), lengths)
            nest.assert_same_structure(state, new_state)
            if impute_finished:
                outputs = nest.map_structure(lambda o, z: index_ops.where(finished, z, o), outputs, zeros)
                new_state = nest.map_structure(lambda n, o: _keep(finished, n, o), new_state, state)
            arrays = nest.map_structure(lambda a, o: a.write(time, o), arrays, outputs)
            return time + 1, arrays, new_state, next_inputs, now, new_lengths

        _, arrays, state, _, _, lengths = control_flow_ops.while_loop(
            lambda time, arrays, state, inputs, finished, lengths: gen_ops.logical_not(reduce_ops.reduce_all(finished)), body,
            (ops.convert_to_tensor(0, dtype=dtypes.int32), arrays, state, inputs, finished, lengths),
            parallel_iterations=parallel_iterations, maximum_iterations=limit, swap_memory=swap_memory)
        outputs = nest.map_structure(lambda a: a.stack(), arrays)
        try:
            outputs, state = decoder.finalize(outputs, state, lengths)
        except NotImplementedError:
            pass
        if not output_time_major:
            outputs = nest.map_structure(lambda x: array_ops.transpose(x, [1, 0] + list(range(2, x.shape.rank))), outputs)
    return outputs, state, lengths


def sequence_loss(logits: Any, targets: Any, weights: Any, average_across_timesteps: Any = True,
                  average_across_batch: Any = True, sum_over_timesteps: Any = False, sum_over_batch: Any = False,
                  softmax_loss_function: Any = None, name: Optional[str] = None) -> Any:
    """Weighted cross entropy of logits [batch, time, classes] and targets [batch, time]."""
    if len(logits.get_shape()) != 3 or len(targets.get_shape()) != 2 or len(weights.get_shape()) != 2:
        raise ValueError("Logits must be a [batch_size x sequence_length x logits] tensor, targets and weights "
                         "[batch_size x sequence_length] tensors")
    with ops.name_scope(name, "sequence_loss", [logits, targets, weights]):
        classes = array_ops.shape(logits)[2]
        flat, labels = array_ops.reshape(logits, [-1, classes]), array_ops.reshape(targets, [-1])
        if softmax_loss_function is None:
            crossent = nn_ops.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=flat)
        else:
            crossent = softmax_loss_function(labels=labels, logits=flat)
        crossent *= array_ops.reshape(weights, [-1])
        if average_across_timesteps and average_across_batch:
            return reduce_ops.reduce_sum(crossent) / (reduce_ops.reduce_sum(weights) + 1e-12)
        crossent = array_ops.reshape(crossent, array_ops.shape(logits)[0:2])
        for axis, average, total in ((0, average_across_batch, sum_over_batch),
                                     (1, average_across_timesteps, sum_over_timesteps)):
            if average or total:
                keep = axis == 0
                crossent = reduce_ops.reduce_sum(crossent, axis=[axis], keepdims=keep)
                size = reduce_ops.reduce_sum(weights, axis=[axis], keepdims=keep)
                if average:
                    crossent /= size + 1e-12
                weights = size
        if (average_across_batch or sum_over_batch) and crossent.shape.rank:
            crossent = array_ops.squeeze(crossent, [0])
    return crossent


def hardmax(logits: TensorLike, name: Optional[str] = None) -> Any:
    """One-hot of the largest in each row."""
    with ops.name_scope(name, "Hardmax", [logits]):
        logits = ops.convert_to_tensor(logits, name="logits")
        depth = logits.shape.as_list()[-1] or array_ops.shape(logits)[-1]
        return index_ops.one_hot(math_ops.argmax(logits, -1), depth, dtype=logits.dtype)


def tile_batch(t: Any, multiplier: Any, name: Optional[str] = None) -> Any:
    """Each row of the batch `multiplier` times, for beam search."""

    def tile(x):
        x = ops.convert_to_tensor(x, name="t")
        shape = array_ops.shape(x)
        wide = gen_ops.tile(array_ops.expand_dims(x, 1), [1, multiplier] + [1] * (x.shape.rank - 1))
        out = array_ops.reshape(wide, array_ops.concat([[shape[0] * multiplier], shape[1:]], 0))
        rows = x.shape.as_list()[0]
        out.set_shape([None if rows is None else rows * multiplier] + x.shape.as_list()[1:])
        return out
    with ops.name_scope(name, "tile_batch"):
        return nest.map_structure(tile, t)
