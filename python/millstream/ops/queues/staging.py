# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.staging.StagingArea: values put in one step for another."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes as dtypes_lib, ops
from millstream.framework.tensor_shape import TensorShape

if TYPE_CHECKING:
    from typing import Any, Optional


class StagingArea:
    """put() and get() in order; names make elements dicts."""

    def __init__(self, dtypes: Any, shapes: Any = None, names: Any = None, shared_name: Any = None, capacity: Any = 0,
                 memory_limit: Any = 0) -> None:
        self._dtypes = [dtypes_lib.as_dtype(d) for d in dtypes]
        self._shapes = [TensorShape(s) for s in shapes] if shapes is not None else [TensorShape(None)] * len(self._dtypes)
        if len(self._shapes) != len(self._dtypes):
            raise ValueError("StagingArea shapes must be the same length as dtypes")
        if names and len(names) != len(self._dtypes):
            raise ValueError("StagingArea names must be the same length as dtypes")
        self._names, self._capacity, self._memory_limit = names, capacity, memory_limit
        self._name = shared_name or ops.get_default_graph().unique_name("StagingArea")

    dtypes = property(lambda self: self._dtypes)
    shapes = property(lambda self: self._shapes)
    names = property(lambda self: self._names)
    name = property(lambda self: self._name)
    capacity = property(lambda self: self._capacity)
    memory_limit = property(lambda self: self._memory_limit)

    def _options(self):
        return {"capacity": self._capacity, "memory_limit": self._memory_limit, "shared_name": self._name}

    def _flat(self, values):
        if isinstance(values, dict):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if sorted(values) != sorted(self._names):
                raise ValueError(f"Vals ({sorted(values)}) did not match names ({sorted(self._names)})")
            return [values[n] for n in self._names]
        if self._names:
            raise ValueError("You must enqueue a dictionary in a staging area with names")
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        if len(values) != len(self._dtypes):
            raise ValueError(f"Unexpected number of inputs {len(values)} vs {len(self._dtypes)}")
        return values

    def put(self, values: Any, name: Optional[str] = None) -> Any:
        with ops.name_scope(name, f"{self._name}_put"):
            tensors = [ops.convert_to_tensor(v, dtype=d) for v, d in zip(self._flat(values), self._dtypes)]
            for tensor, shape in zip(tensors, self._shapes):
                tensor.shape.assert_is_compatible_with(shape)
            return gen_ops.stage(tensors, **self._options())

    def _taken(self, tensors):
        tensors = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
        for tensor, shape in zip(tensors, self._shapes):
            tensor.set_shape(shape)
        return dict(zip(self._names, tensors)) if self._names else tensors if len(tensors) > 1 else tensors[0]

    def get(self, name: Optional[str] = None) -> Any:
        return self._taken(gen_ops.unstage(dtypes=self._dtypes, name=name or f"{self._name}_get", **self._options()))

    def peek(self, index: Any, name: Optional[str] = None) -> Any:
        return self._taken(gen_ops.stage_peek(index, dtypes=self._dtypes, name=name or f"{self._name}_peek", **self._options()))

    def size(self, name: Optional[str] = None) -> Any:
        return gen_ops.stage_size(dtypes=self._dtypes, name=name or f"{self._name}_size", **self._options())

    def clear(self, name: Optional[str] = None) -> Any:
        return gen_ops.stage_clear(dtypes=self._dtypes, name=name or f"{self._name}_clear", **self._options())
