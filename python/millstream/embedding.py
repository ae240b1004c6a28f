# SPDX-License-Identifier: Apache-2.0
"""Embeddings whose keys are integers or strings and whose tables grow with the vocabulary.

    from millstream import embedding

    with tf.device(tf.train.replica_device_setter(cluster=cluster)):
        words = embedding.HashEmbedding("words", width=16, key_dtype=tf.string, shards=2, min_count=3)
        rows = words.lookup(tokens)                               # tokens.shape + [16]
        loss = ...
        train = tf.group(tf.train.AdagradOptimizer(0.1).minimize(loss, global_step),
                         words.minimize(loss, tf.train.AdagradOptimizer(0.1)))
    evict = words.evict(before=global_step - 100000, max_rows=10_000_000)

docs/embeddings.md has the reasons. A Saver that saves everything saves these tables too.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.array import array_ops, index_ops
from millstream.ops.flow import control_flow_group
from millstream.ops.math import math_ops
from millstream.ops.variables import variables
from millstream.training import adagrad, adam, gradient_descent, saveable, training_util

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor

__all__ = ["HashEmbedding"]

_STATE = ("keys", "counts", "last_used", "rows", "candidates", "candidate_counts", "candidate_last_used", "slot_names", "slot_initials")


class _Saveable(saveable.SaveableObject):
    """Saved as NAME-keys, NAME-rows and so on, where NAME is the shard's node."""

    def __init__(self, handle, key_dtype):
        name = handle.op.name
        with ops.name_scope(f"{name}_export/"), ops.colocate_with(handle.op):
            parts = gen_ops.hash_embedding_export(handle, Tkeys=key_dtype)
        super().__init__(handle, [saveable.SaveSpec(part, "", f"{name}-{what}") for what, part in zip(_STATE, parts)], name)

    def restore(self, restored_tensors, restored_shapes):
        with ops.colocate_with(self.op.op):
            return gen_ops.hash_embedding_import(self.op, *restored_tensors)


class HashEmbedding:
    """A table with a row of `width` floats for each key that training has seen at least `min_count` times.

    A key without a row gives zeros, and its gradients are dropped. New rows are uniform in [-scale, scale), by seed and key. The keys are
    dealt out to `shards` tables; with tf.train.replica_device_setter() these go to the ps tasks one after the other.
    """

    def __init__(self, name: str, width: int, key_dtype: Any = dtypes.int64, shards: int = 1, min_count: int = 1, scale: float = 0.05,
                 seed: int = 0) -> None:
        self.width, self.key_dtype = int(width), dtypes.as_dtype(key_dtype)
        if self.key_dtype not in (dtypes.int64, dtypes.string):
            raise TypeError(f"key_dtype must be int64 or string, got {self.key_dtype.name}")
        if shards < 1:
            raise ValueError(f"shards must be at least 1, got {shards}")
        self._lookups: list[_Lookup] = []
        with ops.name_scope(None), ops.control_dependencies(None):
            self.name = ops.get_default_graph().unique_name(name)
            self.handles = [self._make(f"{self.name}/shard_{i}", min_count, scale, seed) for i in range(shards)]

    def _make(self, name, min_count, scale, seed):
        handle = gen_ops.hash_embedding(key_dtype=self.key_dtype, width=self.width, min_count=min_count, scale=scale, seed=seed,
                                        shared_name=name, name=name)
        ops.add_to_collection(ops.GraphKeys.SAVEABLE_OBJECTS, _Saveable(handle, self.key_dtype))
        return handle

    def lookup(self, keys: Any, train: bool = True, name: Optional[str] = None) -> Tensor:
        """The rows of `keys`, with shape keys.shape + [width]. With train=False nothing is counted, added or trained."""
        with ops.name_scope(name, f"{self.name}_lookup", [keys]):
            keys = ops.convert_to_tensor(keys, dtype=self.key_dtype, name="keys")
            found = _Lookup(self, keys, train)
            if train:
                self._lookups.append(found)
            rows = index_ops.gather(found.rows, array_ops.reshape(found.positions, array_ops.shape(keys)))
            rows.set_shape(keys.shape.concatenate([self.width]))
            return rows

    def minimize(self, loss: Tensor, optimizer: Any, name: Optional[str] = None) -> Any:
        """An op that trains the rows of all lookups so far by the gradients of `loss`."""
        from millstream.framework import gradients as gradients_lib
        if not self._lookups:
            raise ValueError(f"Embedding {self.name} has not been looked up for training")
        found = gradients_lib.gradients(loss, [one.rows for one in self._lookups])
        if all(gradient is None for gradient in found):
            raise ValueError(f"{loss.name} does not depend on embedding {self.name}")
        return self.apply_gradients(found, optimizer, name)

    def apply_gradients(self, gradients: Any, optimizer: Any, name: Optional[str] = None) -> Any:
        """Trains with `gradients`, one for the unique rows of each lookup (None: none)."""
        with ops.name_scope(name, f"{self.name}_{type(optimizer).__name__}"):
            used = [(one, ops.convert_to_tensor(gradient)) for one, gradient in zip(self._lookups, gradients) if gradient is not None]
            update = _update_of(optimizer, self.handles[0])
            updates = []
            for shard, handle in enumerate(self.handles):
                keys = _joined([one.keys[shard] for one, _ in used])
                rows = _joined([index_ops.gather(gradient, one.places[shard]) for one, gradient in used])
                with ops.colocate_with(handle.op):
                    updates.append(update.apply(handle, keys, rows))
            return control_flow_group.group(*update.finish(updates))

    def evict(self, before: Any, max_rows: Any = 0, name: Optional[str] = None) -> Tensor:
        """Removes keys that were used last before step `before`, then the least recently used beyond `max_rows` (0: no limit).

        Each shard keeps its part of max_rows. Returns how many keys were removed."""
        with ops.name_scope(name, f"{self.name}_evict"):
            before = math_ops.cast(before, dtypes.int64)
            each = -(-math_ops.cast(max_rows, dtypes.int64) // len(self.handles))
            removed = []
            for handle in self.handles:
                with ops.colocate_with(handle.op):
                    removed.append(gen_ops.hash_embedding_evict(handle, before, each))
            return gen_ops.add_n(removed)

    def size(self, name: Optional[str] = None) -> Tensor:
        """How many keys have a row."""
        return self._sizes(0, name or "size")

    def num_candidates(self, name: Optional[str] = None) -> Tensor:
        """How many keys were not seen often enough to have a row."""
        return self._sizes(1, name or "num_candidates")

    def _sizes(self, which, name):
        with ops.name_scope(f"{self.name}_{name}"):
            sizes = []
            for handle in self.handles:
                with ops.colocate_with(handle.op):
                    sizes.append(gen_ops.hash_embedding_size(handle)[which])
            return gen_ops.add_n(sizes)


class _Lookup:
    """The unique keys of a batch, dealt out to shards, and their rows."""

    def __init__(self, table, keys, train):
        unique, self.positions, counts = array_ops.unique_with_counts(array_ops.reshape(keys, [-1]))
        count = len(table.handles)
        order = math_ops.range(array_ops.size(unique))
        if count == 1:
            self.keys, self.places, counts = [unique], [order], [counts]
        else:
            shard = _shard_of(unique, count)
            self.keys, self.places, counts = (gen_ops.dynamic_partition(x, shard, num_partitions=count) for x in (unique, order, counts))
        rows = []
        step = _step() if train else None
        for handle, own_keys, own_counts in zip(table.handles, self.keys, counts):
            with ops.colocate_with(handle.op):
                rows.append(gen_ops.hash_embedding_lookup(handle, own_keys, math_ops.cast(own_counts, dtypes.int64), step) if train else
                            gen_ops.hash_embedding_find(handle, own_keys))
        rows = rows[0] if count == 1 else gen_ops.parallel_dynamic_stitch(self.places, rows)
        self.rows = array_ops.reshape(rows, [-1, table.width])


def _joined(parts):
    return parts[0] if len(parts) == 1 else array_ops.concat(parts, 0)


def _shard_of(keys, count):
    if keys.dtype.base_dtype == dtypes.string:
        return math_ops.cast(gen_ops.string_to_hash_bucket_fast(keys, num_buckets=count), dtypes.int32)
    return math_ops.cast(keys % count, dtypes.int32)


def _step():
    step = training_util.get_global_step()
    return ops.convert_to_tensor(0, dtype=dtypes.int64) if step is None else math_ops.cast(step, dtypes.int64)


class _Update:
    """An optimizer's rule, as an op on one shard."""

    def __init__(self, optimizer, op, numbers, **attrs):
        self._op, self._attrs = op, attrs
        self._numbers = [ops.convert_to_tensor(optimizer._call_if_callable(number), dtype=dtypes.float32) for number in numbers]

    def apply(self, handle, keys, rows):
        return self._op(handle, keys, rows, *self._numbers, **self._attrs)

    def finish(self, updates):
        return updates


class _AdamUpdate(_Update):
    def __init__(self, optimizer, beside):
        with ops.colocate_with(beside.op):
            self._powers = [variables.Variable(optimizer._call_if_callable(beta), trainable=False, name=name, dtype=dtypes.float32)
                            for name, beta in (("beta1_power", optimizer._beta1), ("beta2_power", optimizer._beta2))]
        super().__init__(optimizer, gen_ops.hash_embedding_apply_adam,
                         [optimizer._lr, *self._powers, optimizer._beta1, optimizer._beta2, optimizer._epsilon])

    def finish(self, updates):
        with ops.control_dependencies(updates):
            return [power.assign(power * beta) for power, beta in zip(self._powers, self._numbers[3:5])]


def _update_of(optimizer, beside):
    if isinstance(optimizer, adam.AdamOptimizer):
        return _AdamUpdate(optimizer, beside)
    if isinstance(optimizer, adagrad.AdagradOptimizer):
        return _Update(optimizer, gen_ops.hash_embedding_apply_adagrad, [optimizer._learning_rate],
                       initial_accumulator_value=optimizer._initial_accumulator_value)
    if type(optimizer) is gradient_descent.GradientDescentOptimizer:
        return _Update(optimizer, gen_ops.hash_embedding_apply_gradient_descent, [optimizer._learning_rate])
    raise TypeError(f"A HashEmbedding is trained by GradientDescentOptimizer, AdagradOptimizer or AdamOptimizer, not {type(optimizer).__name__}")
