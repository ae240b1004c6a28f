# SPDX-License-Identifier: Apache-2.0
"""Batches for replicas."""
from __future__ import annotations

import enum

from millstream import gen_ops
from millstream.framework import ops
from millstream.strategies import values


class InputReplicationMode(enum.Enum):
    PER_WORKER = "PER_WORKER"


class InputContext:
    """Which part of the input a pipeline is for."""

    def __init__(self, num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=1):
        self.num_input_pipelines, self.input_pipeline_id = num_input_pipelines, input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size):
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(f"The `global_batch_size` {global_batch_size!r} is not divisible by `num_replicas_in_sync` "
                             f"{self.num_replicas_in_sync!r}")
        return global_batch_size // self.num_replicas_in_sync


class _Iterator:
    """Elements of a dataset; subclasses say how replicas share them."""

    def __init__(self, dataset, extended):
        self._extended = extended
        with ops.device("/cpu:0"):
            self._iterator = dataset.make_initializable_iterator()

    def initialize(self):
        return [self._iterator.initializer]

    @property
    def initializer(self):
        return self._iterator.initializer

    def __iter__(self):
        return self

    def __next__(self):
        return self.get_next()


def _part(tensor, index, count):
    """Rows for replica `index` of `count`: equal parts where that is possible, else the last ones are smaller."""
    if tensor.shape.rank == 0:
        raise ValueError("A dataset for several replicas needs batches: its elements have no dimension to divide")
    rows = tensor.shape[0].value if tensor.shape.rank is not None else None
    if rows is not None:
        size = -(-rows // count)
        return tensor[min(index * size, rows):min((index + 1) * size, rows)]
    rows = gen_ops.shape(tensor)[0]
    size = gen_ops.floor_div(rows + (count - 1), ops.convert_to_tensor(count))
    return tensor[gen_ops.minimum(index * size, rows):gen_ops.minimum((index + 1) * size, rows)]


class GlobalBatchIterator(_Iterator):
    """A batch is divided among the replicas of all workers. Workers read the same dataset: shuffle it with the same seed everywhere."""

    def get_next(self):
        from millstream.ops import nest
        with ops.device("/cpu:0"):
            batch = self._iterator.get_next()
            count, first = self._extended.num_replicas, self._extended.first_replica
            if count == 1:
                return batch
            local = range(first, first + len(self._extended.worker_devices))
            return values.regroup([nest.map_structure(lambda t, i=i: _part(t, i, count), batch) for i in local])


class ReplicaBatchIterator(_Iterator):
    """Every replica of this worker takes a batch of its own."""

    def get_next(self):
        with ops.device("/cpu:0"):
            return values.regroup([self._iterator.get_next() for _ in self._extended.worker_devices])


class DistributedDataset:
    """Of experimental_distribute_dataset(): iterators over it give each replica its part of a batch."""

    def __init__(self, dataset, extended):
        self._dataset, self._extended = dataset, extended

    def make_initializable_iterator(self, shared_name=None):
        del shared_name
        return GlobalBatchIterator(self._dataset, self._extended)

    def make_one_shot_iterator(self):
        iterator = GlobalBatchIterator.__new__(GlobalBatchIterator)
        iterator._extended, iterator._iterator = self._extended, self._dataset.make_one_shot_iterator()
        return iterator

    def __iter__(self):
        return self.make_one_shot_iterator()
