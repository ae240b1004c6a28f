# SPDX-License-Identifier: Apache-2.0
"""Functions that change variables: assign, scatter, count."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import ops, tensor_shape

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor


def variable_op_v2(shape, dtype, name="Variable", container="", shared_name=""):
    graph = ops.get_default_graph()
    return gen_ops.variable_v2(shape=shape, dtype=dtype, container=container or graph._container, shared_name=shared_name,
                               name=name)


variable_op = variable_op_v2


def _is_ref(ref):
    if isinstance(ref, ops.Tensor):
        return ref.dtype._is_ref_dtype
    return not hasattr(ref, "handle") and hasattr(ref, "_as_graph_element")


def _ref(ref):
    return ops.internal_convert_to_tensor(ref, as_ref=True)


def assign(ref: Any, value: Any, validate_shape: Any = None, use_locking: Any = None, name: Optional[str] = None) -> Tensor:
    """Sets a variable to `value`."""
    if _is_ref(ref):
        return gen_ops.assign(_ref(ref), value, validate_shape=True if validate_shape is None else validate_shape,
                              use_locking=True if use_locking is None else use_locking, name=name)
    return ref.assign(value, name=name)


def assign_add(ref: Any, value: Any, use_locking: Any = None, name: Optional[str] = None) -> Tensor:
    """Adds `value` to a variable."""
    if _is_ref(ref):
        return gen_ops.assign_add(_ref(ref), value, use_locking=bool(use_locking), name=name)
    return ref.assign_add(value, name=name)


def assign_sub(ref: Any, value: Any, use_locking: Any = None, name: Optional[str] = None) -> Tensor:
    """Subtracts `value` from a variable."""
    if _is_ref(ref):
        return gen_ops.assign_sub(_ref(ref), value, use_locking=bool(use_locking), name=name)
    return ref.assign_sub(value, name=name)


def is_variable_initialized(ref, name=None):
    if _is_ref(ref):
        return gen_ops.is_variable_initialized(_ref(ref), name=name)
    return ref.is_initialized(name=name)


def count_up_to(ref: Any, limit: Any, name: Optional[str] = None) -> Tensor:
    if _is_ref(ref):
        return gen_ops.count_up_to(_ref(ref), limit=limit, name=name)
    return gen_ops.resource_count_up_to(ref.handle, limit=limit, T=ref.dtype.base_dtype, name=name)


def _scatter(kind):
    def function(ref, indices, updates, use_locking=kind == "update", name=None):
        if _is_ref(ref):
            return getattr(gen_ops, f"scatter_{kind}")(_ref(ref), indices, updates, use_locking=use_locking, name=name)
        return ref._lazy_read(getattr(gen_ops, f"resource_scatter_{kind}")(
            ref.handle, indices, ops.convert_to_tensor(updates, ref.dtype.base_dtype), name=name))
    function.__name__ = f"scatter_{kind}"
    return function


scatter_update, scatter_add, scatter_sub = _scatter("update"), _scatter("add"), _scatter("sub")
scatter_mul, scatter_div, scatter_min, scatter_max = _scatter("mul"), _scatter("div"), _scatter("min"), _scatter("max")


def _scatter_nd(kind):
    def function(ref, indices, updates, use_locking=kind == "update", name=None):
        if _is_ref(ref):
            return getattr(gen_ops, f"scatter_nd_{kind}")(_ref(ref), indices, updates, use_locking=use_locking, name=name)
        return ref._lazy_read(getattr(gen_ops, f"resource_scatter_nd_{kind}")(
            ref.handle, indices, ops.convert_to_tensor(updates, ref.dtype.base_dtype), name=name))
    function.__name__ = f"scatter_nd_{kind}"
    return function


scatter_nd_update, scatter_nd_add, scatter_nd_sub = _scatter_nd("update"), _scatter_nd("add"), _scatter_nd("sub")


def batch_scatter_update(ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: Optional[str] = None) -> Any:
    """scatter_update for each index of the leading dimensions."""
    with ops.name_scope(name):
        indices = ops.convert_to_tensor(indices, name="indices")
        sizes = indices.shape.as_list()
        if len(sizes) < 2:
            return scatter_update(ref, indices, updates, use_locking=use_locking)
        import numpy as np
        grids = np.indices(sizes)[:-1]
        columns = [ops.convert_to_tensor(g, dtype=indices.dtype) for g in grids] + [indices]
        nd = gen_ops.pack(columns, axis=len(sizes))
        return scatter_nd_update(ref, nd, updates, use_locking=use_locking)


def init_variable(v, init, name="init"):
    with ops.name_scope(None, v.op.name + "/", [v, init]):
        with ops.name_scope(name) as scope, ops.colocate_with(v):
            if callable(init):
                value = init(v.get_shape().as_list(), v.dtype.base_dtype)
            else:
                value = ops.convert_to_tensor(init, name="init")
            return gen_ops.assign(_ref(v), value, name=scope)


def shape_of(ref):
    return tensor_shape.TensorShape(ref.shape)
