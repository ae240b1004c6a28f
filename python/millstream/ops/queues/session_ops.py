# SPDX-License-Identifier: Apache-2.0
"""tf.get_session_handle() and what goes with it: tensors that stay in the session between steps."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.client import tensor_handle
from millstream.framework import dtypes, ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.operation import Operation
    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import DTypeLike


def get_session_handle(data: Any, name: Optional[str] = None) -> Tensor:
    """A tensor whose value, fetched, is the TensorHandle of `data`, which stays where it is."""
    if not isinstance(data, ops.Tensor):
        raise TypeError("`data` must be of type Tensor.")
    with ops.colocate_with(data):
        return gen_ops.get_session_handle(data, name=name)


def get_session_tensor(handle: Any, dtype: DTypeLike, name: Optional[str] = None) -> tuple[Tensor, Tensor]:
    """(placeholder for a handle, the tensor that it names), on the device of `handle`."""
    graph, dtype = ops.get_default_graph(), dtypes.as_dtype(dtype)
    with ops.device(tensor_handle.device_of(handle)):
        holder = tensor_handle.add_holder(graph, handle, dtype)
        return holder, gen_ops.get_session_tensor(holder, dtype=dtype, name=name)


def delete_session_tensor(handle: Any, name: Optional[str] = None) -> tuple[Tensor, Operation]:
    """(placeholder for a handle, the operation that deletes its tensor), on the device of `handle`."""
    graph = ops.get_default_graph()
    with ops.device(tensor_handle.device_of(handle)):
        holder = tensor_handle.add_holder(graph, handle)
        return holder, gen_ops.delete_session_tensor(holder, name=name)
