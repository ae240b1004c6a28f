# SPDX-License-Identifier: Apache-2.0
"""Replicas on several devices of one process: MirroredStrategy with a copy of every variable on each, CentralStorageStrategy with one."""
from __future__ import annotations

from millstream.framework import ops
from millstream.strategies import refusals, replica_threads, values
from millstream.strategies.strategy import CPU, Strategy, StrategyExtended
from millstream.training import cluster_resolvers


def canonical_device(device):
    """"/device:GPU:0" for "GPU:0" and "/gpu:0"."""
    from millstream.framework import device as device_lib
    text = str(device)
    merged = device_lib.canonical_name(text if text.startswith("/") else "/" + ("device:" + text if text.count(":") == 1 else text))
    return merged


def make_mirrored(strategy, devices, next_creator, **kwargs):
    """A variable with a copy on each device. All copies begin with the same value."""
    trainable, collections = kwargs.pop("trainable", None), kwargs.pop("collections", None)
    if trainable is None:
        trainable = kwargs.get("synchronization") != values.variables.VariableSynchronization.ON_READ
    name, copies = kwargs.pop("name", None), []
    for index, device in enumerate(devices):
        own = dict(kwargs, name=name, use_resource=True, trainable=False, collections=[])
        if index:
            own.update(initial_value=copies[0].initial_value, name=f"{name or 'Variable'}/replica_{index}")
        with ops.colocate_with(None, ignore_existing=True), ops.device(device):
            copies.append(next_creator(**own))
    mirrored = values.MirroredVariable(copies, strategy)
    mirrored._trainable = trainable
    collections = list(collections) if collections is not None else [ops.GraphKeys.GLOBAL_VARIABLES]
    if trainable and ops.GraphKeys.TRAINABLE_VARIABLES not in collections:
        collections.append(ops.GraphKeys.TRAINABLE_VARIABLES)
    ops.add_to_collections(collections, mirrored)
    return mirrored


class MirroredExtended(StrategyExtended):
    def create_variable(self, next_creator, **kwargs):
        if len(self._devices) == 1:
            return next_creator(**kwargs)
        return make_mirrored(self._strategy, self._devices, next_creator, **kwargs)

    def call_for_each_replica(self, fn, args=(), kwargs=None):
        if len(self._devices) == 1:
            return super().call_for_each_replica(fn, args, kwargs)
        return replica_threads.call_for_each(self._strategy, self._devices, fn, args, kwargs or {}, self.first_replica)


def _local_gpus():
    from millstream.platform import device_lib
    return [d.name for d in device_lib.list_local_devices() if d.device_type == "GPU"]


class MirroredStrategy(Strategy):
    """A replica on each device, with copies of the variables that are kept equal: gradients of all replicas are summed before they are applied.
    Without devices: all GPUs of this process, else its CPU."""

    def __init__(self, devices=None, cross_device_ops=None):
        del cross_device_ops  # says how replicas exchange values, not what they get
        if devices is None:
            tasks = refusals.training_tasks(cluster_resolvers.TFConfigClusterResolver().cluster_spec())
            if tasks > 1:
                refusals.refuse(f"{type(self).__name__} over the {tasks} training tasks of TF_CONFIG",
                                "Use tf.distribute.experimental.MultiWorkerMirroredStrategy (tf.contrib.distribute.CollectiveAllReduceStrategy).")
        devices = [devices] if isinstance(devices, str) else list(devices or _local_gpus() or [CPU])
        devices = [canonical_device(d) for d in devices]
        if len(set(devices)) != len(devices):
            raise ValueError(f"Duplicates in `devices`: {devices}")
        super().__init__(extended=MirroredExtended(self, devices))

    def update_config_proto(self, config_proto):
        """Sessions have as many CPU devices as the strategy."""
        cpus = [int(d.rpartition(":")[2]) + 1 for d in self.extended.worker_devices if "CPU:" in d.upper()]
        if cpus and max(cpus) > config_proto.device_count.get("CPU", 1):
            config_proto.device_count["CPU"] = max(cpus)
        return config_proto


class ContribMirroredStrategy(MirroredStrategy):
    """tf.contrib.distribute.MirroredStrategy, which can also be told a number of GPUs."""

    def __init__(self, devices=None, num_gpus=None, num_gpus_per_worker=None, cross_device_ops=None, auto_shard_dataset=False,
                 cross_tower_ops=None):
        del auto_shard_dataset  # of several workers
        if num_gpus is not None and num_gpus_per_worker is not None:
            raise ValueError("You cannot specify both `num_gpus` and `num_gpus_per_worker`.")
        gpus = num_gpus if num_gpus is not None else num_gpus_per_worker
        if devices is None and gpus:
            devices = [f"/device:GPU:{i}" for i in range(gpus)]
        elif devices is None and gpus == 0:
            devices = [CPU]
        super().__init__(devices, cross_device_ops or cross_tower_ops)


class CentralStorageStrategy(Strategy):
    """A replica on each device; variables are on one of them, or on the CPU, and are read from there."""

    def __init__(self, compute_devices=None, parameter_device=None):
        devices = [canonical_device(d) for d in compute_devices or _local_gpus() or [CPU]]
        if parameter_device is None:
            parameter_device = CPU if len(devices) > 1 else devices[0]
        super().__init__(extended=CentralStorageExtended(self, devices, [canonical_device(parameter_device)]))

    update_config_proto = MirroredStrategy.update_config_proto


class CentralStorageExtended(MirroredExtended):
    def create_variable(self, next_creator, **kwargs):
        with ops.colocate_with(None, ignore_existing=True), ops.device(self._parameter_devices[0]):
            return next_creator(**dict(kwargs, use_resource=True))
