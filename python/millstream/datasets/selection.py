# SPDX-License-Identifier: Apache-2.0
"""Datasets whose elements come from others, as a dataset of choices says; resampling of classes."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.datasets.components import Spec
from millstream.datasets.dataset_ops import Dataset, _int64, _joined_spec
from millstream.framework import dtypes, ops, random_seed, tensor_util

if TYPE_CHECKING:
    from typing import Any, Optional


def random(seed=None):
    """Random int64 numbers below 2^32, without end."""
    seed1, seed2 = random_seed.get_seed(seed)
    return Dataset(Spec(dtypes.int64, []), lambda: gen_ops.random_dataset(
        _int64(seed1, 0), _int64(seed2, 0), output_types=[dtypes.int64], output_shapes=[[]]))


def _directed(selector, datasets, stop_on_empty_dataset):
    spec = datasets[0]._spec
    for other in datasets[1:]:
        if other.output_types != datasets[0].output_types:
            raise TypeError(f"Datasets to choose from must have the same types: {datasets[0].output_types}, {other.output_types}")
        spec = _joined_spec(spec, other._spec)
    out = Dataset(spec, None)
    out._make = lambda: gen_ops.directed_interleave_dataset(
        selector._make(), [d._make() for d in datasets], stop_on_empty_dataset=stop_on_empty_dataset, **out._flat())
    return out


def choose_from_datasets(datasets: Any, choice_dataset: Any, stop_on_empty_dataset: bool = False) -> Any:
    """Elements of `datasets`, each from the one that the next element of `choice_dataset` says."""
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    if choice_dataset.output_types != dtypes.int64 or not choice_dataset.output_shapes.is_compatible_with([]):
        raise TypeError("Elements of `choice_dataset` must be scalar `tf.int64` tensors, not "
                        f"{choice_dataset.output_types} {choice_dataset.output_shapes}.")
    return _directed(choice_dataset, list(datasets), stop_on_empty_dataset)


def _pick(logits, seed):
    from millstream.ops.array import array_ops
    return array_ops.squeeze(gen_ops.stateless_multinomial(logits, 1, seed), [0, 1])


def sample_from_datasets(datasets: Any, weights: Any = None, seed: Optional[int] = None,
                         stop_on_empty_dataset: bool = False) -> Any:
    """Elements of `datasets`, each from one drawn by `weights`: a list, a tensor or a dataset of them."""
    datasets = list(datasets)
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    if isinstance(weights, Dataset):
        pairs = Dataset.zip((weights.map(lambda *p: gen_ops.log(ops.convert_to_tensor(p[0] if len(p) == 1 else p))), random(seed).batch(2)))
        return _directed(pairs.map(_pick), datasets, stop_on_empty_dataset)
    if weights is not None and not isinstance(weights, ops.Tensor):
        if len(weights) != len(datasets):
            raise ValueError("Invalid `weights`. `weights` should have the same length as `datasets` but got "
                             f"`len(weights)={len(weights)}` vs. `len(datasets)={len(datasets)}`.")
        drawn = [(d, w) for d, w in zip(datasets, weights) if w > 0] or [(datasets[0].take(0), 1.0)]
        datasets, weights = [d for d, _ in drawn], [w for _, w in drawn]
    if len(datasets) == 1:
        return datasets[0]

    def choose(pair):
        if weights is None:
            return _pick(ops.convert_to_tensor([[1.0] * len(datasets)]), pair)
        return _pick(gen_ops.expand_dims(gen_ops.log(ops.convert_to_tensor(weights)), 0), pair)
    return _directed(random(seed).batch(2).map(choose), datasets, stop_on_empty_dataset)


def _acceptance(initial, target):
    """(how often an element of each class is taken, how often an element is taken without asking for its class)."""
    from millstream.ops.math import reduce_ops
    ratio = target / (initial + np.finfo(np.float32).tiny)
    lowest, highest = reduce_ops.reduce_min(ratio), reduce_ops.reduce_max(ratio)
    return (ratio - lowest) / (highest - lowest), lowest


def _estimated(target, classes):
    """What is known of the classes' shares after each batch of 32 elements: a dataset, one for each of them."""
    from millstream.datasets.transformations import scan
    from millstream.ops.array import array_ops, index_ops
    from millstream.ops.math import math_ops, reduce_ops
    number = target.shape.as_list()[0]

    def update(seen, batch):
        seen = seen + reduce_ops.reduce_sum(index_ops.one_hot(batch, number, dtype=dtypes.int64), 0)
        share = math_ops.cast(math_ops.truediv(seen, reduce_ops.reduce_sum(seen)), dtypes.float32)
        return seen, gen_ops.tile(array_ops.expand_dims(share, 0), [32, 1])
    return classes.batch(32).apply(scan(np.full([number], 10, np.int64), update)).unbatch()


def rejection_resample(class_func: Any, target_dist: Any, initial_dist: Any = None, seed: Optional[int] = None) -> Any:
    """(class, element) of a dataset, so that classes come as often as `target_dist` says: for Dataset.apply()."""
    def apply(dataset):
        from millstream.ops.array import index_ops
        from millstream.ops.math import math_ops
        from millstream.ops.random import random_ops
        target = math_ops.cast(ops.convert_to_tensor(target_dist), dtypes.float32)
        if initial_dist is not None:
            initial = math_ops.cast(ops.convert_to_tensor(initial_dist), dtypes.float32)
            rates = Dataset.from_tensors(_acceptance(initial, target)).repeat()
        else:
            rates = _estimated(target, dataset.map(class_func)).map(lambda share: _acceptance(share, target))

        def gather(rate, data):
            label = class_func(*data) if isinstance(data, tuple) else class_func(data)
            return label, index_ops.gather(rate, label), data
        taken = Dataset.zip((rates.map(lambda rate, _: rate), dataset)).map(gather).filter(
            lambda label, rate, data: random_ops.random_uniform([], seed=seed, dtype=rate.dtype) < rate)
        taken = taken.map(lambda label, rate, data: (label, data)).prefetch(3)
        labelled = dataset.map(lambda *x: (class_func(*x), x[0] if len(x) == 1 else x))
        always = _static_share(initial_dist, target)
        if always == 1:
            return labelled
        if always == 0:
            return taken
        weights = rates.map(lambda _, share: ops.convert_to_tensor([[share, 1.0 - share]]))
        return sample_from_datasets([labelled, taken], weights, seed, stop_on_empty_dataset=True)
    return apply


def _static_share(initial_dist, target):
    if initial_dist is None:
        return None
    initial, wanted = tensor_util.constant_value(ops.convert_to_tensor(initial_dist)), tensor_util.constant_value(target)
    return None if initial is None or wanted is None else np.min(wanted / initial)
