# SPDX-License-Identifier: Apache-2.0
"""Python's operators on tensors. set_operators() is called when the framework is loaded."""
import numpy as np

from millstream import gen_ops
from millstream.framework import conversion, dtypes, scopes, sparse_tensor
from millstream.framework.indexed_slices import IndexedSlices
from millstream.framework.operators_slice import getitem
from millstream.framework.tensor import Tensor


def _true_divide(x, y, name):
    if x.dtype.base_dtype != y.dtype.base_dtype:
        raise TypeError(f"`x` and `y` must have the same dtype, got {x.dtype!r} != {y.dtype!r}.")
    to = {dtypes.int8: dtypes.float32, dtypes.uint8: dtypes.float32, dtypes.int16: dtypes.float32,
          dtypes.uint16: dtypes.float32, dtypes.int32: dtypes.float64, dtypes.int64: dtypes.float64,
          dtypes.uint32: dtypes.float64, dtypes.uint64: dtypes.float64}.get(x.dtype.base_dtype)
    if to is not None:
        x, y = gen_ops.cast(x, DstT=to, name="Cast"), gen_ops.cast(y, DstT=to, name="Cast")
    return gen_ops.real_div(x, y, name=name)


def _add(x, y, name):
    if x.dtype.base_dtype == dtypes.string:
        return gen_ops.add(x, y, name=name)
    return gen_ops.add_v2(x, y, name=name)


def _logical(logical, bitwise):
    def apply(x, y, name):
        return (logical if x.dtype.base_dtype == dtypes.bool else bitwise)(x, y, name=name)
    return apply


def _matmul(x, y, name):
    if (x.shape.rank or 0) > 2 or (y.shape.rank or 0) > 2:
        return gen_ops.batch_mat_mul_v2(x, y, name=name)
    return gen_ops.mat_mul(x, y, name=name)


def _simple(op_name):
    return lambda x, y, name: getattr(gen_ops, op_name)(x, y, name=name)


_BINARY = {  # Python's name, name of the nodes, function
    "add": ("add", _add), "sub": ("sub", _simple("sub")), "mul": ("mul", _simple("mul")),
    "truediv": ("truediv", _true_divide), "div": ("div", _simple("div")), "floordiv": ("floordiv", _simple("floor_div")),
    "mod": ("mod", _simple("floor_mod")), "pow": ("pow", _simple("pow")), "matmul": ("matmul", _matmul),
    "and": ("and", _logical(lambda *a, **k: gen_ops.logical_and(*a, **k), lambda *a, **k: gen_ops.bitwise_and(*a, **k))),
    "or": ("or", _logical(lambda *a, **k: gen_ops.logical_or(*a, **k), lambda *a, **k: gen_ops.bitwise_or(*a, **k))),
}
_COMPARE = {"lt": ("Less", "less"), "le": ("LessEqual", "less_equal"), "gt": ("Greater", "greater"),
            "ge": ("GreaterEqual", "greater_equal")}


def _sparse_times_dense(x, y, name):
    values = gen_ops.sparse_dense_cwise_mul(x.indices, x.values, x.dense_shape, y, name=name)
    return sparse_tensor.SparseTensor(x.indices, values, x.dense_shape)


def binary_operators(op_name, function):
    """(function for x op y, function for y op x) that convert the other operand to the tensor's type."""
    def forward(x, y):
        if isinstance(y, sparse_tensor.SparseTensor) and op_name == "mul":
            with scopes.name_scope(None, op_name, [x, y]) as name:
                return _sparse_times_dense(y, conversion.convert_to_tensor(x, dtype=y.dtype.base_dtype), name)
        if not isinstance(y, (Tensor, sparse_tensor.SparseTensor)) and getattr(y, "__tf_wants_reflected__", False):
            return NotImplemented
        with scopes.name_scope(None, op_name, [x, y]) as name:
            x = conversion.internal_convert_to_tensor(x)
            y = _other(y, x)
            return function(x, y, name)

    def reflected(y, x):
        with scopes.name_scope(None, op_name, [x, y]) as name:
            y = conversion.internal_convert_to_tensor(y)
            x = conversion.internal_convert_to_tensor(x, y.dtype.base_dtype, name="x")
            return function(x, y, name)

    return forward, reflected


def _other(y, x):
    base = x.dtype.base_dtype
    try:
        return conversion.internal_convert_to_tensor(y, None if isinstance(y, Tensor) else base, name="y")
    except TypeError:
        if not hasattr(type(y), "__radd__") or isinstance(y, (np.ndarray, np.generic, int, float, str, bytes, list, tuple)):
            try:
                found = conversion.internal_convert_to_tensor(y, None, name="y")
            except (TypeError, ValueError):
                raise
            return found
        raise


def _compare(op_name, gen_name):
    def compare(x, y):
        return getattr(gen_ops, gen_name)(x, y, name=op_name)
    return compare


def _invert(x, name=None):
    return gen_ops.logical_not(x, name=name) if x.dtype.base_dtype == dtypes.bool else gen_ops.invert(x, name=name)


def _xor(x, y, name):
    if x.dtype.base_dtype != dtypes.bool:
        return gen_ops.bitwise_xor(x, y, name=name)
    with scopes.name_scope(name) as scope:
        return gen_ops.logical_and(gen_ops.logical_or(x, y), gen_ops.logical_not(gen_ops.logical_and(x, y)), name=scope)


def _abs(x, name=None):
    if x.dtype.is_complex:
        return gen_ops.complex_abs(x, Tout=x.dtype.real_dtype, name=name)
    return gen_ops.abs(x, name=name)


def operator_methods():
    """Every operator as a method of a class whose objects convert to tensors."""
    methods = {"__getitem__": getitem, "__neg__": lambda x: gen_ops.neg(x), "__abs__": lambda x: _abs(x),
               "__invert__": lambda x: _invert(conversion.internal_convert_to_tensor(x))}
    for python_name, (op_name, function) in {**_BINARY, "xor": ("xor", _xor)}.items():
        methods[f"__{python_name}__"], methods[f"__r{python_name}__"] = binary_operators(op_name, function)
    for python_name, (op_name, gen_name) in _COMPARE.items():
        methods[f"__{python_name}__"] = _compare(op_name, gen_name)
    return methods


def set_operators():
    for name, method in operator_methods().items():
        setattr(Tensor, name, method)
    sparse = {"__truediv__": ("truediv", gen_ops.sparse_dense_cwise_div)} if hasattr(gen_ops, "sparse_dense_cwise_div") else {}
    for name, (op_name, gen) in {**sparse}.items():
        setattr(sparse_tensor.SparseTensor, name, _sparse_method(op_name, gen))
    if hasattr(gen_ops, "sparse_dense_cwise_mul"):
        sparse_tensor.SparseTensor.__mul__ = _sparse_method("mul", gen_ops.sparse_dense_cwise_mul)


def _sparse_method(op_name, gen):
    def apply(sp, y):
        with scopes.name_scope(None, op_name, [sp, y]) as name:
            y = conversion.convert_to_tensor(y, dtype=sp.dtype.base_dtype, name="y")
            return sparse_tensor.SparseTensor(sp.indices, gen(sp.indices, sp.values, sp.dense_shape, y, name=name),
                                              sp.dense_shape)
    return apply


__all__ = ["IndexedSlices", "binary_operators", "operator_methods", "set_operators"]
