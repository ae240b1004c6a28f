# SPDX-License-Identifier: Apache-2.0
"""Losses over a sample of the classes: tf.nn.nce_loss, tf.nn.sampled_softmax_loss, and the samplers."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.array import array_ops
from millstream.ops.linalg import linalg_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.nn import embedding_ops, nn_ops
from millstream.ops.random import random_ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import TensorLike


def _sampler(gen_name):
    def sample(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
        return getattr(gen_ops, gen_name)(true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique,
                                          range_max=range_max, **random_ops._seeds(seed), name=name)
    sample.__name__ = gen_name
    return sample


uniform_candidate_sampler = _sampler("uniform_candidate_sampler")
log_uniform_candidate_sampler = _sampler("log_uniform_candidate_sampler")
learned_unigram_candidate_sampler = _sampler("learned_unigram_candidate_sampler")


def all_candidate_sampler(true_classes: Any, num_true: Any, num_sampled: Any, unique: Any, seed: Optional[int] = None,
                          name: Optional[str] = None) -> Any:
    """Samples every class."""
    return gen_ops.all_candidate_sampler(true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique,
                                         **random_ops._seeds(seed), name=name)


def fixed_unigram_candidate_sampler(true_classes: Any, num_true: Any, num_sampled: Any, unique: Any, range_max: Any,
                                    vocab_file: str = "", distortion: Any = 1.0, num_reserved_ids: Any = 0, num_shards: Any = 1,
                                    shard: Any = 0, unigrams: Any = (), seed: Optional[int] = None,
                                    name: Optional[str] = None) -> Any:
    """Samples classes by given frequencies."""
    return gen_ops.fixed_unigram_candidate_sampler(
        true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max, vocab_file=vocab_file,
        distortion=distortion, num_reserved_ids=num_reserved_ids, num_shards=num_shards, shard=shard,
        unigrams=list(unigrams),
        **random_ops._seeds(seed), name=name)


def compute_accidental_hits(true_classes: Any, sampled_candidates: Any, num_true: Any, seed: Optional[int] = None,
                            name: Optional[str] = None) -> Any:
    """Sampled classes that are among the true ones: (example, sample, a very small weight)."""
    return gen_ops.compute_accidental_hits(true_classes, sampled_candidates, num_true=num_true, **random_ops._seeds(seed),
                                           name=name)


def _compute_sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                            subtract_log_q,
                            remove_accidental_hits, partition_strategy, name, seed):
    weights = embedding_ops._tables(weights)
    with ops.name_scope(name, "compute_sampled_logits", [inputs, labels]):
        labels = math_ops.cast(labels, dtypes.int64)
        labels_flat = array_ops.reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(labels, num_true=num_true, num_sampled=num_sampled, unique=True,
                                                           range_max=num_classes, seed=seed)
        sampled, true_expected, sampled_expected = (gen_ops.stop_gradient(s) for s in sampled_values)
        sampled = math_ops.cast(sampled, dtypes.int64)
        all_ids = array_ops.concat([labels_flat, sampled], 0)
        all_w = embedding_ops.embedding_lookup(weights, all_ids, partition_strategy=partition_strategy)
        all_w = math_ops.cast(all_w, inputs.dtype.base_dtype)
        all_b = embedding_ops.embedding_lookup(biases, all_ids, partition_strategy=partition_strategy)
        all_b = math_ops.cast(all_b, inputs.dtype.base_dtype)
        count = array_ops.shape(labels_flat)[0]
        true_w, sampled_w = all_w[:count], all_w[count:]
        true_b, sampled_b = all_b[:count], all_b[count:]
        sampled_logits = linalg_ops.matmul(inputs, sampled_w, transpose_b=True)
        size = array_ops.shape(true_w)[1]
        rows = array_ops.expand_dims(inputs, 1) * array_ops.reshape(true_w, array_ops.stack([-1, num_true, size]))
        true_logits = reduce_ops.reduce_sum(rows, 2) + array_ops.reshape(true_b, [-1, num_true])
        sampled_logits = sampled_logits + sampled_b
        if remove_accidental_hits:
            indices, ids, hit_weights = compute_accidental_hits(labels, sampled, num_true=num_true)
            pairs = array_ops.stack([indices, math_ops.cast(ids, dtypes.int32)], axis=1)
            shape = array_ops.concat([array_ops.shape(labels)[:1], [num_sampled]], 0)
            sampled_logits = sampled_logits + gen_ops.scatter_nd(pairs,
                                                                 math_ops.cast(hit_weights, sampled_logits.dtype.base_dtype),
                                                                 shape)
        if subtract_log_q:
            true_logits = true_logits - gen_ops.log(true_expected)
            sampled_logits = sampled_logits - gen_ops.log(sampled_expected)
        out_logits = array_ops.concat([true_logits, sampled_logits], 1)
        ones = array_ops.ones_like(true_logits) / num_true
        out_labels = array_ops.concat([ones, array_ops.zeros_like(sampled_logits)], 1)
        return out_logits, out_labels


def nce_loss(weights: Any, biases: Any, labels: TensorLike, inputs: Any, num_sampled: Any, num_classes: Any, num_true: Any = 1,
             sampled_values: Any = None, remove_accidental_hits: bool = False, partition_strategy: str = "mod",
             name: str = "nce_loss") -> Tensor:
    """Noise-contrastive estimation: the cost of telling true classes from sampled ones."""
    logits, targets = _compute_sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true,
                                              sampled_values, True, remove_accidental_hits, partition_strategy, name, None)
    losses = nn_ops.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name="sampled_losses")
    return reduce_ops.reduce_sum(losses, 1)


def sampled_softmax_loss(weights: Any, biases: Any, labels: TensorLike, inputs: Any, num_sampled: Any, num_classes: Any,
                         num_true: Any = 1, sampled_values: Any = None, remove_accidental_hits: bool = True,
                         partition_strategy: str = "mod", name: str = "sampled_softmax_loss",
                         seed: Optional[int] = None) -> Tensor:
    """Softmax cross entropy over the true classes and a sample of the others."""
    logits, targets = _compute_sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true,
                                              sampled_values, True, remove_accidental_hits, partition_strategy, name, seed)
    targets = gen_ops.stop_gradient(targets, name="labels_stop_gradient")
    return nn_ops.softmax_cross_entropy_with_logits_v2(labels=targets, logits=logits)
