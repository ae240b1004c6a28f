# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.crf: linear-chain conditional random fields."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.array import array_ops, index_ops
from millstream.ops.flow import functional_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.variables import variable_scope as vs

if TYPE_CHECKING:
    from typing import Any


def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> Any:
    """The sum of the scores of the tags themselves."""
    shape = array_ops.shape(inputs)
    hot = index_ops.one_hot(tag_indices, shape[2], dtype=inputs.dtype)
    mask = index_ops.sequence_mask(sequence_lengths, maxlen=shape[1], dtype=inputs.dtype)
    return reduce_ops.reduce_sum(reduce_ops.reduce_sum(inputs * hot, 2) * mask, 1)


def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The sum of the scores of passing from each tag to the next."""
    tags = transition_params.shape.as_list()[0]
    flat = tag_indices[:, :-1] * tags + tag_indices[:, 1:]
    scores = index_ops.gather(array_ops.reshape(transition_params, [-1]), flat)
    mask = index_ops.sequence_mask(sequence_lengths - 1, maxlen=array_ops.shape(flat)[1], dtype=scores.dtype)
    return reduce_ops.reduce_sum(scores * mask, 1)


def crf_sequence_score(inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    transition_params = ops.convert_to_tensor(transition_params)
    tag_indices, sequence_lengths = (math_ops.cast(t, dtypes.int32) for t in (tag_indices, sequence_lengths))
    unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
    return unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)


def _forward(inputs, sequence_lengths, step):
    """scan over time; rows whose sequence has ended keep their value."""
    by_time = array_ops.transpose(inputs, [1, 0, 2])
    count = array_ops.shape(by_time)[0]

    def body(alphas, item):
        time, scores = item
        return index_ops.where(gen_ops.less(time, sequence_lengths), step(alphas, scores), alphas)

    return functional_ops.foldl(body, (math_ops.range(1, count), by_time[1:]), initializer=by_time[0])


def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The logarithm of the sum over all sequences of tags."""
    lengths = math_ops.cast(sequence_lengths, dtypes.int32)
    transitions = array_ops.expand_dims(ops.convert_to_tensor(transition_params), 0)

    def step(alphas, scores):
        return scores + reduce_ops.reduce_logsumexp(array_ops.expand_dims(alphas, 2) + transitions, [1])
    norm = reduce_ops.reduce_logsumexp(_forward(inputs, lengths, step), [1])
    return index_ops.where(gen_ops.less_equal(lengths, 0), array_ops.zeros_like(norm), norm)


def crf_log_likelihood(inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None) -> Any:
    """(log likelihood of each sequence, the transition parameters: made if not given)."""
    inputs = ops.convert_to_tensor(inputs)
    if transition_params is None:
        tags = inputs.shape.as_list()[2]
        transition_params = vs.get_variable("transitions", [tags, tags])
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


def viterbi_decode(score: Any, transition_params: Any) -> Any:
    """NumPy: (the best sequence of tags, its score) for scores [time, tags]."""
    trellis, pointers = np.zeros_like(score), np.zeros_like(score, dtype=np.int32)
    trellis[0] = score[0]
    for t in range(1, score.shape[0]):
        v = np.expand_dims(trellis[t - 1], 1) + transition_params
        trellis[t], pointers[t] = score[t] + np.max(v, 0), np.argmax(v, 0)
    best = [int(np.argmax(trellis[-1]))]
    for pointer in reversed(pointers[1:]):
        best.append(int(pointer[best[-1]]))
    return best[::-1], np.max(trellis[-1])


def crf_decode(potentials: Any, transition_params: Any, sequence_length: Any) -> Any:
    """(best tags [batch, time], their scores [batch])."""
    potentials = ops.convert_to_tensor(potentials)
    lengths = math_ops.cast(sequence_length, dtypes.int32)
    lengths = gen_ops.maximum(lengths, 1)
    transitions = array_ops.expand_dims(ops.convert_to_tensor(transition_params), 0)
    tags = potentials.shape.as_list()[2]
    by_time = array_ops.transpose(potentials, [1, 0, 2])
    count = array_ops.shape(by_time)[0]
    times = math_ops.range(1, count)
    identity = array_ops.expand_dims(math_ops.range(0, tags), 0)

    def step(state, item):
        best, _ = state
        time, scores = item
        all_scores = array_ops.expand_dims(best, 2) + transitions
        pointers = math_ops.cast(math_ops.argmax(all_scores, 1), dtypes.int32)
        new = scores + reduce_ops.reduce_max(all_scores, [1])
        going = gen_ops.less(time, lengths)
        return index_ops.where(going, new, best), index_ops.where(going, pointers, gen_ops.tile(
            identity, [array_ops.shape(pointers)[0], 1]))

    first = (by_time[0], gen_ops.tile(identity, [array_ops.shape(by_time)[1], 1]))
    scores, pointers = functional_ops.scan(step, (times, by_time[1:]), initializer=first)
    last = array_ops.concat([array_ops.expand_dims(by_time[0], 0), scores], 0)[-1]
    end = math_ops.cast(math_ops.argmax(last, 1), dtypes.int32)

    def back(tag, pointer):
        return reduce_ops.reduce_sum(pointer * index_ops.one_hot(tag, tags, dtype=dtypes.int32), 1)
    earlier = functional_ops.scan(back, array_ops.reverse(pointers, [0]), initializer=end)
    path = array_ops.concat([array_ops.reverse(earlier, [0]), array_ops.expand_dims(end, 0)], 0)
    path = array_ops.transpose(path, [1, 0])
    mask = index_ops.sequence_mask(lengths, count, dtype=dtypes.int32)
    return path * mask, reduce_ops.reduce_max(last, [1])
