# SPDX-License-Identifier: Apache-2.0
"""One collective op of a graph each: types that the op does not have are carried by one that it has.

A `group` has size(), group_key(), and device(), where this member's ops run; `name` is the same at all members."""
from __future__ import annotations

import os

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.horovod import keys, process_sets, world_in_graph

_ELASTIC_STALL_SECS = 60.0
_REDUCED = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)
_MOVED = (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)
_WIDENED = (dtypes.uint8, dtypes.int8, dtypes.uint16, dtypes.int16)  # by casts to int32, which lose nothing
_SAME_BITS = {dtypes.bfloat16: dtypes.float16, dtypes.uint32: dtypes.int32, dtypes.uint64: dtypes.int64}


def carrier(dtype):
    """The type in which tensors of a type are reduced."""
    return dtypes.int32 if dtype in _WIDENED else dtype


def timeout_seconds():
    """After how long a collective that waits for other ranks fails; 0: never, it says for whom it waits. Where ranks come and go it always ends:
    a rank that dies before it has used a new world's group is missed by nobody else."""
    given = os.environ.get("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS")
    return float(given or (_ELASTIC_STALL_SECS if process_sets.may_change() else 0))


def _keys(name, group, timeout=None):
    return {"group_size": ops.convert_to_tensor(world_in_graph.size(group), dtype=dtypes.int32),
            "group_key": ops.convert_to_tensor(world_in_graph.group_key(group), dtype=dtypes.int32),
            "instance_key": ops.convert_to_tensor(keys.instance_key(name), dtype=dtypes.int32),
            "timeout_seconds": timeout_seconds() if timeout is None else float(timeout)}


def _unsupported(what, dtype):
    raise TypeError(f"{what}: tensors of type {dtype.name} are not supported")


def reduce(tensor, merge_op, mean, name, group, timeout=None):
    """merge_op: Add, Min, Max or Mul."""
    dtype = tensor.dtype
    with ops.device(group.device()):
        if dtype in _WIDENED:
            return gen_ops.cast(reduce(gen_ops.cast(tensor, DstT=dtypes.int32), merge_op, mean, name, group, timeout), DstT=dtype)
        if dtype not in _REDUCED:
            _unsupported("allreduce", dtype)
        return gen_ops.collective_reduce_v2(tensor, ordering_token=[], merge_op=merge_op, final_op="Div" if mean else "Id", name=name,
                                            **_keys(name, group, timeout))


def _carried(what, tensor, group, function):
    """function(tensor) of a type that can be moved, and the result in the tensor's own type."""
    dtype = tensor.dtype
    with ops.device(group.device()):
        if dtype in _MOVED:
            return function(tensor)
        if dtype in _SAME_BITS:
            return gen_ops.bitcast(function(gen_ops.bitcast(tensor, type=_SAME_BITS[dtype])), type=dtype)
        if dtype in _WIDENED or dtype == dtypes.bool:
            return gen_ops.cast(function(gen_ops.cast(tensor, DstT=dtypes.int32)), DstT=dtype)
        return _unsupported(what, dtype)


def gather(tensor, name, group):
    """Tensors of the same shape, joined along the first dimension."""
    return _carried("allgather", tensor, group, lambda x: gen_ops.collective_gather_v2(x, ordering_token=[], name=name, **_keys(name, group)))


def all_to_all(tensor, name, group):
    return _carried("alltoall", tensor, group,
                    lambda x: gen_ops.collective_all_to_all_v2(x, ordering_token=[], name=name, **_keys(name, group)))


def broadcast(tensor, is_root, name, group):
    """`is_root`: a bool, or a tensor where the root may be another member in the next step."""
    def move(x):
        if isinstance(is_root, ops.Tensor):
            from millstream.ops.flow import control_flow_ops
            return control_flow_ops.cond(is_root, lambda: broadcast(x, True, name, group), lambda: broadcast(x, False, name, group))
        if is_root:
            return gen_ops.collective_bcast_send_v2(x, name=name, **_keys(name, group))
        received = gen_ops.collective_bcast_recv_v2(T=x.dtype, shape=gen_ops.shape(x), name=name, **_keys(name, group))
        received.set_shape(x.shape)
        return received
    return _carried("broadcast", tensor, group, move)
