# SPDX-License-Identifier: Apache-2.0
"""tf.TensorArray: a list of tensors that loops fill and read. Each write gives an array with a new flow, which orders
the writes and the reads after them."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import constant_op, dtypes, ops, tensor_util
from millstream.framework.tensor_shape import TensorShape

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.graph import Graph
    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import DTypeLike


class TensorArray:
    """A list of tensors that loops write to and read from; gradients flow through it.

    Every method that writes returns a new TensorArray, which must be used from then on: it carries the order of the writes.
    """

    def __init__(self, dtype: DTypeLike, size: Any = None, dynamic_size: Any = None, clear_after_read: Any = None,
                 tensor_array_name: Any = None, handle: Any = None, flow: Any = None, infer_shape: bool = True,
                 element_shape: Any = None, colocate_with_first_write_call: bool = True, name: Optional[str] = None) -> None:
        if handle is not None and tensor_array_name:
            raise ValueError("Cannot provide both `handle` and `tensor_array_name` arguments at the same time.")
        if handle is not None and size is not None:
            raise ValueError("Cannot provide both a `handle` and `size` arguments at the same time")
        if handle is None and size is None:
            raise ValueError("Argument `size` must be provided if handle is not provided.")
        if handle is not None and dynamic_size is not None:
            raise ValueError("Cannot provide both a `handle` and `dynamic_size` arguments at the same time.")
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._dynamic_size = bool(dynamic_size)
        self._infer_shape = infer_shape
        self._element_shape = [TensorShape(element_shape)]  # shared by all arrays that come from this one
        with ops.name_scope(name, "TensorArray", [handle, size, flow]) as scope:
            if handle is not None:
                self._handle = handle
                self._flow = constant_op.constant(0, dtypes.float32, name="flow") if flow is None else flow
            else:
                self._handle, self._flow = gen_ops.tensor_array_v3(
                    size, dtype=self._dtype, element_shape=TensorShape(element_shape), dynamic_size=self._dynamic_size,
                    clear_after_read=True if clear_after_read is None else clear_after_read,
                    identical_element_shapes=bool(infer_shape), tensor_array_name=tensor_array_name or "", name=scope)
                if flow is not None:
                    self._flow = flow

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def handle(self) -> Any:
        return self._handle

    @property
    def flow(self) -> Tensor:
        return self._flow

    @property
    def dynamic_size(self) -> Any:
        return self._dynamic_size

    @property
    def element_shape(self) -> TensorShape:
        return self._element_shape[0]

    @property
    def graph(self) -> Graph:
        return self._flow.graph

    def _next(self, flow):
        array = TensorArray.__new__(TensorArray)
        array.__dict__.update(self.__dict__)
        array._flow = flow
        return array

    def _merge(self, shape):
        if self._infer_shape:
            if not self._element_shape[0].is_compatible_with(shape):
                raise ValueError(f"Inconsistent shapes: saw {shape} but expected {self._element_shape[0]}")
            self._element_shape[0] = self._element_shape[0].merge_with(shape)

    def _in(self, name, default, values):
        return ops.name_scope(name, default, [self._handle] + values)

    def _convert(self, value):
        value = ops.convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        if value.dtype.base_dtype != self._dtype:
            raise TypeError(f"TensorArray dtype is {self._dtype.name} but op is trying to write dtype "
                            f"{value.dtype.base_dtype.name}.")
        return value

    def identity(self) -> Any:
        return self._next(gen_ops.identity(self._flow))

    def grad(self, source: Any, flow: Any = None, name: Optional[str] = None) -> Any:
        flow = self._flow if flow is None else flow
        with ops.name_scope(name, "TensorArrayGrad", [self._handle]), ops.colocate_with(self._handle):
            handle, _ = gen_ops.tensor_array_grad_v3(self._handle, flow, source=source, name=name)
            with ops.control_dependencies([handle]):
                flow = gen_ops.identity(flow, name="gradient_flow")
            result = TensorArray(self._dtype, handle=handle, flow=flow, infer_shape=self._infer_shape)
            result._element_shape = self._element_shape
            return result

    def read(self, index: Any, name: Optional[str] = None) -> Tensor:
        with ops.colocate_with(self._handle):
            value = gen_ops.tensor_array_read_v3(self._handle, index, self._flow, dtype=self._dtype, name=name)
        if self.element_shape.rank is not None:
            value.set_shape(self.element_shape)
        return value

    def write(self, index: Any, value: Any, name: Optional[str] = None) -> TensorArray:
        with self._in(name, "TensorArrayWrite", [index, value]):
            value = self._convert(value)
            self._merge(value.shape)
            with ops.colocate_with(self._handle):
                return self._next(gen_ops.tensor_array_write_v3(self._handle, index, value, self._flow, name=name))

    def size(self, name: Optional[str] = None) -> Tensor:
        if not self._dynamic_size and self._handle.op.type == "TensorArrayV3":
            known = tensor_util.constant_value(self._handle.op.inputs[0])
            if known is not None:
                return ops.convert_to_tensor(self._handle.op.inputs[0])
        with ops.colocate_with(self._handle):
            return gen_ops.tensor_array_size_v3(self._handle, self._flow, name=name)

    def stack(self, name: Optional[str] = None) -> Tensor:
        from millstream.ops.math import math_ops
        with ops.colocate_with(self._handle), self._in(name, "TensorArrayStack", []):
            value = self.gather(math_ops.range(0, self.size()), name=name)
            if not self._dynamic_size and self._handle.op.type == "TensorArrayV3" and value.shape.rank is not None:
                known = tensor_util.constant_value(self._handle.op.inputs[0])
                value.set_shape([None if known is None else int(known)] + value.shape.as_list()[1:])
            return value

    pack = stack

    def gather(self, indices: Any, name: Optional[str] = None) -> Tensor:
        with ops.colocate_with(self._handle):
            value = gen_ops.tensor_array_gather_v3(self._handle, indices, self._flow, dtype=self._dtype,
                                                   element_shape=self.element_shape, name=name)
        if self.element_shape.rank is not None:
            value.set_shape([None] + self.element_shape.as_list())
        return value

    def concat(self, name: Optional[str] = None) -> Tensor:
        with ops.colocate_with(self._handle):
            shape = self.element_shape
            rest = TensorShape(None) if shape.rank is None else shape[1:]
            value, _ = gen_ops.tensor_array_concat_v3(self._handle, self._flow, dtype=self._dtype,
                                                      element_shape_except0=rest, name=name)
        if shape.rank is not None:
            value.set_shape([None] + shape.as_list()[1:])
        return value

    def unstack(self, value: Any, name: Optional[str] = None) -> TensorArray:
        from millstream.ops.array import array_ops
        from millstream.ops.math import math_ops
        with self._in(name, "TensorArrayUnstack", [value]):
            value = ops.convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            return self.scatter(math_ops.range(0, array_ops.shape(value)[0]), value, name=name)

    unpack = unstack

    def scatter(self, indices: Any, value: Any, name: Optional[str] = None) -> TensorArray:
        with self._in(name, "TensorArrayScatter", [value, indices]):
            value = self._convert(value)
            if value.shape.rank is not None:
                self._merge(value.shape[1:])
            with ops.colocate_with(self._handle):
                return self._next(gen_ops.tensor_array_scatter_v3(self._handle, indices, value, self._flow, name=name))

    def split(self, value: Any, lengths: Any, name: Optional[str] = None) -> TensorArray:
        from millstream.ops.math import math_ops
        with self._in(name, "TensorArraySplit", [value, lengths]):
            value = self._convert(value)
            lengths = math_ops.cast(lengths, dtypes.int64)
            known = tensor_util.constant_value(lengths)
            if self._infer_shape and value.shape.rank is not None and known is not None and (
                    known.size and (known == known.flat[0]).all()):
                self._merge(TensorShape([int(known.flat[0])]).concatenate(value.shape[1:]))
            with ops.colocate_with(self._handle):
                return self._next(gen_ops.tensor_array_split_v3(self._handle, value, lengths, self._flow, name=name))

    def close(self, name: Optional[str] = None) -> Any:
        return gen_ops.tensor_array_close_v3(self._handle, name=name)

    def mark_used(self) -> Any:
        return self


def with_flow(array, flow):
    """The same array after `flow`."""
    return array._next(flow)
