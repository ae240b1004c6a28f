# SPDX-License-Identifier: Apache-2.0
"""The workers that reduce and broadcast together, each of which builds the same graph for itself."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.flow import control_flow_group
from millstream.ops.variables import state_ops

if TYPE_CHECKING:
    from typing import Any

# Types that TensorFlow's ops can gather and broadcast.
GATHERED = (dtypes.float32, dtypes.float16, dtypes.float64, dtypes.int32, dtypes.int64)


class CollectiveGroup:
    """Ops that belong together have the same instance key, which is counted here: so all workers add them in the same order."""

    def __init__(self, size: int, group_key: int = 1, first_instance_key: int = 1) -> None:
        if size <= 0:
            raise ValueError(f"A group needs at least one worker: {size}")
        self._size, self._group_key, self._next_instance_key = size, group_key, first_instance_key

    @property
    def size(self) -> int:
        return self._size

    def _keys(self):
        key = self._next_instance_key
        self._next_instance_key += 1
        return {"group_size": self._size, "group_key": self._group_key, "instance_key": key}

    def mean(self, tensor: Any) -> Any:
        """The mean of what the workers have."""
        if self._size == 1:
            return tensor
        return gen_ops.collective_reduce(tensor, merge_op="Add", final_op="Div", subdiv_offsets=[0], **self._keys())

    def gather(self, tensor: Any) -> Any:
        """The rows of all, one worker's after the other's. The workers have tensors of the same shape."""
        if self._size == 1:
            return tensor
        shape = tensor.shape.as_list() if tensor.shape.rank is not None else None
        if shape:
            shape[0] = None if shape[0] is None else shape[0] * self._size
        return gen_ops.collective_gather(tensor, shape=shape, **self._keys())

    def send_to_all(self, tensor: Any) -> Any:
        """The root's value, at the root."""
        return tensor if self._size == 1 else gen_ops.collective_bcast_send(tensor, shape=tensor.shape, **self._keys())

    def receive_from_root(self, dtype: Any, shape: Any) -> Any:
        """The root's value, elsewhere."""
        return gen_ops.collective_bcast_recv(T=dtype, shape=shape, **self._keys())

    def broadcast(self, variables: Any, is_root: bool) -> Any:
        """An op after which the variables have the values that they have at the root."""
        with ops.name_scope("broadcast_variables"):
            return control_flow_group.group(*[self._broadcast_one(v, is_root) for v in variables if self._size > 1])

    def _broadcast_one(self, variable, is_root):
        dtype = variable.dtype.base_dtype
        if dtype not in GATHERED and dtype != dtypes.bool:
            raise NotImplementedError(f"Variable '{variable.op.name}' cannot be broadcast: it has type {dtype.name}")
        with ops.device(variable.device):
            # The root assigns what it has, too: a step that is repeated then applies all of its updates everywhere, not only
            # those that an outage had kept from the root.
            value = self.send_to_all(ops.convert_to_tensor(variable)) if is_root else self.receive_from_root(dtype, variable.shape)
            return state_ops.assign(variable, value).op
