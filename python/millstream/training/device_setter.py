# SPDX-License-Identifier: Apache-2.0
"""replica_device_setter(): variables on ps tasks, the rest on the worker."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework import device as device_lib
from millstream.framework import dtypes, tensor_shape

if TYPE_CHECKING:
    from typing import Any, Callable, Optional
    from millstream.framework.operation import Operation

STANDARD_PS_OPS = ("Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2",
                   "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableDenseHashTable",
                   "MutableDenseHashTableV2", "VarHandleOp", "BoostedTreesEnsembleResourceHandleOp",
                   "BoostedTreesQuantileStreamResourceHandleOp", "ResourceConditionalAccumulator",
                   "DecisionTreeResource", "HashEmbedding")


class _RoundRobinStrategy:
    def __init__(self, num_tasks):
        self._num_tasks, self._next = num_tasks, 0

    def __call__(self, op):
        task = self._next
        self._next = (self._next + 1) % self._num_tasks
        return task


def byte_size_load_fn(op):
    """The bytes of a variable."""
    if isinstance(op.get_attr("dtype"), dtypes.DType) and op.outputs[0].dtype.base_dtype == dtypes.resource:
        dtype = op.get_attr("dtype")
    else:
        dtype = op.outputs[0].dtype.base_dtype
    shape = tensor_shape.TensorShape(op.get_attr("shape"))
    if not shape.is_fully_defined():
        raise ValueError(f"The shape of {op.name} is not fully defined: {shape}")
    size = dtype.size if dtype != dtypes.string else 16
    return size * shape.num_elements()


class GreedyLoadBalancingStrategy:
    """Each variable goes to the task that has least so far, by load_fn(op)."""

    def __init__(self, num_tasks: Any, load_fn: Any) -> None:
        self._num_tasks, self._load_fn = num_tasks, load_fn
        self._loads = [0.0] * num_tasks

    def __call__(self, op):
        task = min(range(self._num_tasks), key=lambda i: self._loads[i])
        self._loads[task] += self._load_fn(op)
        return task


class RandomStrategy:
    """A random task, the same for the same name in every process."""

    def __init__(self, num_ps_tasks: Any, seed: int = 0) -> None:
        self._num_tasks, self._seed = num_ps_tasks, seed

    def __call__(self, op):
        import hashlib
        digest = hashlib.sha256(f"{op.name}_{self._seed}".encode()).digest()
        return int.from_bytes(digest[:8], "little") % self._num_tasks


class _ReplicaDeviceChooser:
    def __init__(self, ps_tasks, ps_device, worker_device, merge_devices, ps_ops, ps_strategy):
        self._ps_tasks, self._merge_devices, self._ps_ops, self._ps_strategy = ps_tasks, merge_devices, ps_ops, ps_strategy
        self._ps = device_lib.DeviceSpec.from_string(_text(ps_device)) if ps_device else None
        self._worker = device_lib.DeviceSpec.from_string(_text(worker_device) or "")

    def device_function(self, op):
        if not self._merge_devices and op.device:
            return op.device
        current = device_lib.DeviceSpec.from_string(op.device or "")
        kind = op.op if not hasattr(op, "type") else op.type
        if self._ps_tasks and self._ps is not None and kind in self._ps_ops:
            spec = self._ps
            if spec.job and (not current.job or current.job == spec.job):
                spec = spec.replace(task=self._ps_strategy(op))
            return spec.make_merged_spec(current).to_string()
        return self._worker.make_merged_spec(current).to_string()


def _text(device):
    return device.to_string() if hasattr(device, "to_string") else device


def replica_device_setter(ps_tasks: Any = 0, ps_device: str = "/job:ps", worker_device: str = "/job:worker",
                          merge_devices: bool = True, cluster: Any = None, ps_ops: Any = None, ps_strategy: Any = None) -> Optional[Callable[[Operation], str]]:
    """A device function for `with tf.device(...)`. `ps_strategy` is a function op -> task; "bytes" balances by size."""
    if cluster is not None:
        from millstream.training import server_lib
        spec = cluster.as_dict() if isinstance(cluster, server_lib.ClusterSpec) else server_lib.ClusterSpec(cluster).as_dict()
        job = device_lib.DeviceSpec.from_string(_text(ps_device)).job
        if job not in spec or not spec[job]:
            return None
        ps_tasks = len(spec[job])
    if ps_tasks == 0:
        return None
    if ps_ops is None:
        ps_ops = STANDARD_PS_OPS
    if ps_strategy is None:
        ps_strategy = _RoundRobinStrategy(ps_tasks)
    elif ps_strategy == "bytes":
        ps_strategy = GreedyLoadBalancingStrategy(ps_tasks, byte_size_load_fn)
    if not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    return _ReplicaDeviceChooser(ps_tasks, ps_device, worker_device, merge_devices, ps_ops, ps_strategy).device_function
