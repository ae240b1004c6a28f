# SPDX-License-Identifier: Apache-2.0
"""Strategies of several processes, which TF_CONFIG names: workers that reduce among themselves, and workers with parameter servers."""
from __future__ import annotations

import contextlib
import enum

from millstream.client import default_target
from millstream.framework import ops
from millstream.framework.indexed_slices import IndexedSlices
from millstream.horovod import collectives, environment, meeting, reductions
from millstream.strategies import mirrored
from millstream.strategies.strategy import CPU, Strategy, StrategyExtended
from millstream.training import cluster_resolvers

_TRAINING_JOBS = ("chief", "master", "worker")


class CollectiveCommunication(enum.Enum):
    """How workers exchange values. Results are the same; AUTO chooses."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class _Workers:
    """The group of all training tasks, for collective ops."""

    def __init__(self, tasks, own):
        self.tasks, self.index = tasks, tasks.index(own)

    def size(self):
        return len(self.tasks)

    def rank(self):
        return self.index

    def group_key(self):
        return 1

    def device(self):
        return self.devices()[self.index]

    def devices(self):
        return [f"/job:{job}/replica:0/task:{index}/device:CPU:0" for job, index in self.tasks]


def _next_name(kind):
    """Names of a graph's collectives in the order in which they are made, which is the same at all workers."""
    counts = ops.get_default_graph().__dict__.setdefault("_strategy_collectives", {})
    counts[kind] = counts.get(kind, 0) + 1
    return f"Collective{kind}_{counts[kind]}"


class _Server:
    """This task's server: one that the program has started, or one that is started when the first session needs it."""

    def __init__(self, cluster_spec, job, index, workers):
        self._cluster, self._task, self._workers, self._server, self._met = cluster_spec, (job, index), workers, None, False

    def target(self):
        from millstream.training import server_lib
        job, index = self._task
        found = server_lib.target_of_address(self._cluster.task_address(job, index))
        if found is None:
            self._server = server_lib.Server(self._cluster, job_name=job, task_index=index)
            found = self._server.target
        if not self._met:
            self._met = True
            meeting.wait_for_all("CollectiveStart", self._workers, environment.start_timeout(), "the workers of a strategy", found)
        return found


def _read_cluster(resolver):
    """(ClusterSpec, job, index) from a resolver or TF_CONFIG; None without a cluster."""
    resolver = resolver or cluster_resolvers.TFConfigClusterResolver()
    spec = resolver.cluster_spec()
    if not spec.as_dict():
        return None
    job = resolver.task_type
    index = resolver.task_id if getattr(resolver, "task_id", None) is not None else getattr(resolver, "task_index", 0)
    return spec, job, int(index or 0)


class CollectiveExtended(mirrored.MirroredExtended):
    """Replicas of this worker, and the other workers. Variables have the same values everywhere: those of the first worker at the start, and the
    same changes from then on."""

    def __init__(self, strategy, devices, workers):
        super().__init__(strategy, devices)
        self.workers = workers
        self.num_workers, self.worker_index = (workers.size(), workers.index) if workers else (1, 0)
        self.should_checkpoint = self.should_save_summary = self.worker_index == 0

    def create_variable(self, next_creator, **kwargs):
        if self.num_workers > 1:
            kwargs["initial_value"] = self._of_first_worker(kwargs)
        return super().create_variable(next_creator, **kwargs)

    def _of_first_worker(self, kwargs):
        given, dtype, name = kwargs.get("initial_value"), kwargs.get("dtype"), _next_name("Broadcast")

        def initial_value():
            value = ops.convert_to_tensor(given() if callable(given) else given, dtype=dtype)
            if not value.shape.is_fully_defined():
                raise ValueError(f"The shape of the initial value of {kwargs.get('name')} must be known, so that workers can receive it: {value.shape}")
            with ops.colocate_with(None, ignore_existing=True):
                return collectives.broadcast(value, self.worker_index == 0, name, self.workers)
        return initial_value

    def across_workers(self, value):
        return self.many_across_workers([value])[0]

    def many_across_workers(self, many):
        if self.num_workers == 1:
            return many
        many = [v if isinstance(v, IndexedSlices) else ops.convert_to_tensor(v) for v in many]
        results = [_gather_slices(v, self.workers) if isinstance(v, IndexedSlices) else None for v in many]
        dense = [i for i, v in enumerate(many) if not isinstance(v, IndexedSlices)]

        def reduce(tensor):
            total = collectives.reduce(tensor, "Add", False, _next_name("Reduce"), self.workers)
            total.set_shape(tensor.shape)
            return total
        # The gradients of the last layers are there first.
        for i, total in zip(dense[::-1], reductions.in_buckets([many[i] for i in dense[::-1]], reduce)):
            results[i] = total
        return results


def _gather_slices(slices, workers):
    from millstream.horovod import mpi_ops
    name = _next_name("Gather")
    sizes = mpi_ops.gathered_sizes(slices.values, name, workers)
    return IndexedSlices(mpi_ops.gather_rows(slices.values, sizes, name + "/values", workers),
                         mpi_ops.gather_rows(slices.indices, sizes, name + "/indices", workers), slices.dense_shape)


class CollectiveAllReduceStrategy(Strategy):
    """Replicas on the devices of several workers, which reduce gradients among themselves. Without a cluster: MirroredStrategy."""

    def __init__(self, num_gpus_per_worker=0, communication=None, cluster_resolver=None):
        del communication
        devices = [f"/device:GPU:{i}" for i in range(num_gpus_per_worker)] or [CPU]
        cluster, workers = _read_cluster(cluster_resolver), None
        if cluster is not None:
            spec, job, index = cluster
            tasks = [(j, i) for j in _TRAINING_JOBS if j in spec.jobs for i in spec.task_indices(j)]
            if (job, index) in tasks and len(tasks) > 1:
                workers = _Workers(tasks, (job, index))
                devices = [f"/job:{job}/replica:0/task:{index}{d}" for d in devices]
        super().__init__(extended=CollectiveExtended(self, devices, workers))
        if workers is not None:
            self._server = _Server(spec, job, index, workers)
            default_target.set_target(self._server.target)

    def start_server(self):
        """The target of this worker's server, which is started if it does not run yet."""
        return self._server.target()


class MultiWorkerMirroredStrategy(CollectiveAllReduceStrategy):
    """tf.distribute.experimental.MultiWorkerMirroredStrategy: the GPUs of each worker, else its CPU."""

    def __init__(self, communication=None, cluster_resolver=None):
        super().__init__(len(mirrored._local_gpus()), communication, cluster_resolver)


class ParameterServerExtended(StrategyExtended):
    def __init__(self, strategy, cluster):
        super().__init__(strategy, [CPU])
        self.cluster = cluster
        if cluster is not None:
            spec, job, index = cluster
            tasks = [(j, i) for j in _TRAINING_JOBS if j in spec.jobs for i in spec.task_indices(j)]
            if (job, index) in tasks:
                self._worker = f"/job:{job}/task:{index}"
                self._pipelines = len(tasks), tasks.index((job, index))
                self._devices = (f"/job:{job}/replica:0/task:{index}{CPU}",)

    def placement(self):
        """Variables on ps tasks by turns, everything else at this worker."""
        from millstream.training import device_setter
        if self.cluster is None:
            return contextlib.nullcontext()
        return ops.device(device_setter.replica_device_setter(cluster=self.cluster[0], worker_device=self._worker, merge_devices=True))

    def call_for_each_replica(self, fn, args=(), kwargs=None):
        if self.cluster is None:
            return super().call_for_each_replica(fn, args, kwargs)
        from millstream.strategies import context, replica_threads
        with context.entered(self._strategy, replica_threads.ReplicaContext(self._strategy), 0):
            return fn(*args, **(kwargs or {}))


class ParameterServerStrategy(Strategy):
    """Workers that train on their own with variables on ps tasks, asynchronously: one replica in each. The
    program starts a tf.train.Server: ps tasks join() it, workers give its target to their sessions."""

    def __init__(self, cluster_resolver=None):
        cluster = _read_cluster(cluster_resolver)
        super().__init__(extended=ParameterServerExtended(self, cluster))

    @contextlib.contextmanager
    def _in_scope(self):
        from millstream.strategies import context
        placed = contextlib.nullcontext() if context.current()[0] is self else self.extended.placement()
        with placed, super()._in_scope():
            yield self


class ContribParameterServerStrategy(ParameterServerStrategy):
    """tf.contrib.distribute.ParameterServerStrategy."""

    def __init__(self, num_gpus_per_worker=0):
        from millstream.strategies import refusals
        if num_gpus_per_worker > 1:
            refusals.refuse(f"ParameterServerStrategy with {num_gpus_per_worker} GPUs in each worker")
        super().__init__()


__all__ = ["CollectiveAllReduceStrategy", "CollectiveCommunication", "ContribParameterServerStrategy", "MultiWorkerMirroredStrategy",
           "ParameterServerStrategy"]
