# SPDX-License-Identifier: Apache-2.0
"""Arithmetic and other functions of elements: tf.add, tf.divide, tf.abs, tf.cast, ..."""
from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np

from millstream import gen_ops
from millstream.framework import constant_op, dtypes, operators, ops, sparse_tensor
from millstream.ops.arguments import is_sparse_like

if TYPE_CHECKING:
    from typing import Any, Callable, Optional, Union

    from millstream.framework.sparse_tensor import SparseTensor
    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import DTypeLike, ShapeLike, TensorLike
    from millstream.framework.indexed_slices import IndexedSlices


def _pair(x, y):
    x = ops.convert_to_tensor(x, name="x")
    return x, y if ops.is_dense_tensor_like(y) else ops.convert_to_tensor(y, dtype=x.dtype.base_dtype, name="y")


def add(x: TensorLike, y: TensorLike, name: Optional[str] = None) -> Tensor:
    """Returns x + y, element by element with broadcasting. Strings are concatenated."""
    with ops.name_scope(name, "Add", [x]) as name:
        x, y = _pair(x, y)
        return (gen_ops.add if x.dtype.base_dtype == dtypes.string else gen_ops.add_v2)(x, y, name=name)


def subtract(x: TensorLike, y: TensorLike, name: Optional[str] = None) -> Tensor:
    """Returns x - y, element by element with broadcasting."""
    return gen_ops.sub(x, y, name=name)


def multiply(x: TensorLike, y: TensorLike, name: Optional[str] = None) -> Tensor:
    """Returns x * y, element by element with broadcasting."""
    return gen_ops.mul(x, y, name=name)


def div(x: TensorLike, y: TensorLike, name: Optional[str] = None) -> Tensor:
    """Division as in Python 2: integers give integers."""
    with ops.name_scope(name, "div", [x, y]) as name:
        x, y = _pair(x, y)
        real = x.dtype.is_floating or x.dtype.is_complex
        return (gen_ops.real_div if real else gen_ops.floor_div)(x, y, name=name)


def truediv(x: TensorLike, y: TensorLike, name: Optional[str] = None) -> Tensor:
    with ops.name_scope(name, "truediv", [x, y]) as name:
        x = ops.convert_to_tensor(x, name="x")
        y = ops.convert_to_tensor(y, name="y", preferred_dtype=x.dtype.base_dtype)
        return operators._true_divide(x, y, name)


def divide(x: TensorLike, y: TensorLike, name: Optional[str] = None) -> Tensor:
    """x / y with Python 3's meaning of division."""
    if name is not None:
        return truediv(x, y, name)
    return ops.convert_to_tensor(x) / y


def floordiv(x: TensorLike, y: TensorLike, name: Optional[str] = None) -> Tensor:
    with ops.name_scope(name, "floordiv", [x, y]) as name:
        return gen_ops.floor_div(x, y, name=name)


def div_no_nan(x: TensorLike, y: TensorLike, name: Optional[str] = None) -> Tensor:
    with ops.name_scope(name, "div_no_nan", [x, y]) as name:
        x, y = _pair(x, y)
        return gen_ops.div_no_nan(x, y, name=name)


def multiply_no_nan(x: TensorLike, y: TensorLike, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "multiply_no_nan", [x, y]) as name:
        x, y = _pair(x, y)
        return gen_ops.mul_no_nan(x, y, name=name)


def realdiv(x: TensorLike, y: TensorLike, name: Optional[str] = None) -> Tensor:
    return gen_ops.real_div(x, y, name=name)


def truncatediv(x: TensorLike, y: TensorLike, name: Optional[str] = None) -> Tensor:
    return gen_ops.truncate_div(x, y, name=name)


def truncatemod(x: TensorLike, y: TensorLike, name: Optional[str] = None) -> Tensor:
    return gen_ops.truncate_mod(x, y, name=name)


def floormod(x: TensorLike, y: TensorLike, name: Optional[str] = None) -> Tensor:
    return gen_ops.floor_mod(x, y, name=name)


mod = floormod


def scalar_mul(scalar, x, name=None):
    scalar = ops.convert_to_tensor(scalar, dtype=x.dtype.base_dtype, name="scalar")
    if scalar.shape.rank not in (None, 0):
        raise ValueError(f"The input scalar must be a 0-D value. Received shape {scalar.shape}.")
    if isinstance(x, ops.IndexedSlices):
        return ops.IndexedSlices(gen_ops.mul(scalar, x.values, name=name), x.indices, x.dense_shape)
    return gen_ops.mul(scalar, x, name=name)


def pow(x: TensorLike, y: TensorLike, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    """x to the power of y, element by element."""
    with ops.name_scope(name, "Pow", [x]) as name:
        return gen_ops.pow(x, y, name=name)


def _map_values(gen_name: str, scope: str, doc: str, convert: bool = False) -> Callable[..., Tensor]:
    """A function of one tensor that also takes the values of a SparseTensor."""
    def apply(x, name=None):
        if isinstance(x, sparse_tensor.SparseTensorValue):
            x = sparse_tensor.SparseTensor.from_value(x)
        if isinstance(x, sparse_tensor.SparseTensor):
            with ops.name_scope(name, scope, [x]) as name:
                return x.with_values(getattr(gen_ops, gen_name)(x.values, name=name))
        return getattr(gen_ops, gen_name)(ops.convert_to_tensor(x) if convert else x, name=name)
    apply.__name__ = apply.__qualname__ = scope.lower()
    apply.__doc__ = doc + " A SparseTensor gives a SparseTensor of the same indices."
    return apply


negative = _map_values("neg", "Neg", "Returns -x, element by element.")
sign = _map_values("sign", "Sign", "Returns -1, 0 or 1, the sign of each element.", convert=True)
square = _map_values("square", "Square", "Returns the square of each element.")
sqrt = _map_values("sqrt", "Sqrt", "Returns the square root of each element.")
erf = _map_values("erf", "Erf", "Returns the Gauss error function of each element.")
tanh = _map_values("tanh", "Tanh", "Returns the hyperbolic tangent of each element.")


def abs(x: Any, name: Optional[str] = None) -> Union[SparseTensor, Tensor]:  # pylint: disable=redefined-builtin
    """The absolute value of each element."""
    with ops.name_scope(name, "Abs", [x]) as name:
        if is_sparse_like(x):
            return x.with_values(gen_ops.abs(x.values, name=name))
        x = ops.convert_to_tensor(x, name="x")
        if x.dtype.is_complex:
            return gen_ops.complex_abs(x, Tout=x.dtype.real_dtype, name=name)
        return gen_ops.abs(x, name=name)


complex_abs = abs


def sigmoid(x: TensorLike, name: Optional[str] = None) -> Tensor:
    """Returns 1 / (1 + exp(-x)), element by element."""
    with ops.name_scope(name, "Sigmoid", [x]) as name:
        return gen_ops.sigmoid(ops.convert_to_tensor(x, name="x"), name=name)


def log_sigmoid(x: TensorLike, name: Optional[str] = None) -> Tensor:
    """log(1 / (1 + exp(-x))), element by element."""
    with ops.name_scope(name, "LogSigmoid", [x]) as name:
        x = ops.convert_to_tensor(x, name="x")
        return gen_ops.neg(gen_ops.softplus(-x), name=name)


def round(x: TensorLike, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    """To the nearest integer, halves to the even one."""
    x = ops.convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else gen_ops.round(x, name=name)


def logical_xor(x: TensorLike, y: TensorLike, name: str = "LogicalXor") -> Tensor:
    return gen_ops.logical_and(gen_ops.logical_or(x, y), gen_ops.logical_not(gen_ops.logical_and(x, y)), name=name)


@overload
def cast(x: SparseTensor, dtype: DTypeLike, name: Optional[str] = None) -> SparseTensor: ...
@overload
def cast(x: IndexedSlices, dtype: DTypeLike, name: Optional[str] = None) -> IndexedSlices: ...
@overload
def cast(x: TensorLike, dtype: DTypeLike, name: Optional[str] = None) -> Tensor: ...
def cast(x, dtype, name=None):
    """Converts elements to `dtype`; fractions are cut off."""
    base = dtypes.as_dtype(dtype).base_dtype
    if isinstance(x, ops.Tensor) and x.dtype == base:
        return x
    with ops.name_scope(name, "Cast", [x]) as name:
        if is_sparse_like(x):
            if isinstance(x, sparse_tensor.SparseTensorValue):
                x = sparse_tensor.SparseTensor.from_value(x)
            return x.with_values(cast(x.values, base, name=name))
        if isinstance(x, ops.IndexedSlices):
            return ops.IndexedSlices(cast(x.values, base, name=name), x.indices, x.dense_shape)
        x = ops.convert_to_tensor(x, name="x")
        return x if x.dtype.base_dtype == base else gen_ops.cast(x, DstT=base, name=name)


def saturate_cast(value: Any, dtype: DTypeLike, name: Optional[str] = None) -> Tensor:
    """Values outside of the range of `dtype` become its ends."""
    with ops.name_scope(name, "saturate_cast", [value]) as name:
        value = ops.convert_to_tensor(value, name="value")
        dtype = dtypes.as_dtype(dtype).base_dtype
        low, high = max(value.dtype.min, dtype.min), min(value.dtype.max, dtype.max)
        if low > value.dtype.min or high < value.dtype.max:
            kind = value.dtype.as_numpy_dtype
            limits = [np.array(v, kind) for v in (low, high)]
            if value.dtype.is_floating and dtype.is_integer:  # the nearest floats that are inside of the range
                limits = [v if low <= int(v) <= high else np.nextafter(v, kind(0)) for v in limits]
            low, high = (constant_op.constant(v) for v in limits)
            value = gen_ops.clip_by_value(value, low, high, name="clamp")
        return cast(value, dtype, name=name)


def _caster(dtype, default):
    def to(x, name=default):
        return cast(x, dtype, name=name)
    return to


to_float = _caster(dtypes.float32, "ToFloat")
to_double = _caster(dtypes.float64, "ToDouble")
to_int32 = _caster(dtypes.int32, "ToInt32")
to_int64 = _caster(dtypes.int64, "ToInt64")
to_bfloat16 = _caster(dtypes.bfloat16, "ToBFloat16")
to_complex64 = _caster(dtypes.complex64, "ToComplex64")
to_complex128 = _caster(dtypes.complex128, "ToComplex128")


def complex(real: Any, imag: Any, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin,redefined-outer-name
    real, imag = ops.convert_to_tensor(real, name="real"), ops.convert_to_tensor(imag, name="imag")
    with ops.name_scope(name, "Complex", [real, imag]) as name:
        types = real.dtype.base_dtype, imag.dtype.base_dtype
        out = {(dtypes.float64,) * 2: dtypes.complex128, (dtypes.float32,) * 2: dtypes.complex64}.get(types)
        if out is None:
            raise TypeError(f"The `real` and `imag` components have incompatible types: {types[0].name} {types[1].name}. "
                            f"They "
                            "must be consistent, and one of [tf.float32, tf.float64]")
        return gen_ops.complex(real, imag, Tout=out, name=name)


def real(input: Any, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    with ops.name_scope(name, "Real", [input]) as name:
        input = ops.convert_to_tensor(input, name="input")
        return gen_ops.real(input, Tout=input.dtype.real_dtype, name=name) if input.dtype.is_complex else input


def imag(input: Any, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    with ops.name_scope(name, "Imag", [input]) as name:
        input = ops.convert_to_tensor(input, name="input")
        if input.dtype.is_complex:
            return gen_ops.imag(input, Tout=input.dtype.real_dtype, name=name)
        return gen_ops.zeros_like(input)


def angle(input: Any, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    with ops.name_scope(name, "Angle", [input]) as name:
        input = ops.convert_to_tensor(input, name="input")
        if input.dtype.is_complex:
            return gen_ops.angle(input, Tout=input.dtype.real_dtype, name=name)
        zeros = gen_ops.zeros_like(input)
        return gen_ops.select(gen_ops.less(input, 0), zeros + np.pi, zeros)


def conj(x: TensorLike, name: Optional[str] = None) -> Tensor:
    if isinstance(x, ops.Tensor) and (x.dtype.is_floating or x.dtype.is_integer):
        return x
    with ops.name_scope(name, "Conj", [x]) as name:
        x = ops.convert_to_tensor(x, name="x")
        return gen_ops.conj(x, name=name) if x.dtype.is_complex else x


def add_n(inputs: Any, name: Optional[str] = None) -> Tensor:
    """The sum of a list of tensors (or IndexedSlices)."""
    if not inputs or not isinstance(inputs, (list, tuple)):
        raise ValueError("Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape.")
    inputs = ops.convert_n_to_tensor_or_indexed_slices(inputs)
    if not all(isinstance(x, (ops.Tensor, ops.IndexedSlices)) for x in inputs):
        raise ValueError("Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape.")
    if len(inputs) == 1:
        values = ops.convert_to_tensor(inputs[0])
        return gen_ops.identity(values, name=name) if name else values
    return gen_ops.add_n(inputs, name=name)


def accumulate_n(inputs: Any, shape: ShapeLike = None, tensor_dtype: Any = None, name: Optional[str] = None) -> Tensor:
    message = "inputs must be a list of at least one Tensor with the same dtype and shape"
    if not inputs or not isinstance(inputs, (list, tuple)):
        raise ValueError(message)
    inputs = ops.convert_n_to_tensor_or_indexed_slices(inputs)
    if not all(isinstance(x, ops.Tensor) for x in inputs) or len({x.dtype.base_dtype for x in inputs}) > 1:
        raise ValueError(message)
    if tensor_dtype is not None and dtypes.as_dtype(tensor_dtype) != inputs[0].dtype.base_dtype:
        raise TypeError(f"tensor_dtype is {tensor_dtype}, but input is of type {inputs[0].dtype}")
    from millstream.framework.tensor_shape import TensorShape
    shape = TensorShape(shape)
    for x in inputs:
        shape = shape.merge_with(x.shape)
    if len(inputs) == 1:
        return gen_ops.identity(inputs[0], name=name) if name else inputs[0]
    return gen_ops.add_n(inputs, name=name)


def range(start: Any, limit: Any = None, delta: Any = 1, dtype: Optional[DTypeLike] = None, name: str = "range") -> Tensor:  # pylint: disable=redefined-builtin
    """Numbers from `start` up to, without, `limit` in steps of `delta`."""
    if limit is None:
        start, limit = 0, start
    with ops.name_scope(name, "Range", [start, limit, delta]) as name:
        def convert(value, what):
            return value if isinstance(value, ops.Tensor) else ops.convert_to_tensor(value, dtype=dtype, name=what)
        start, limit, delta = convert(start, "start"), convert(limit, "limit"), convert(delta, "delta")
        if dtype is None:
            order = [dtypes.int32, dtypes.int64, dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64]
            dtype = max((a.dtype.base_dtype for a in (start, limit, delta)), key=order.index)
        start, limit, delta = (cast(a, dtype) for a in (start, limit, delta))
        return gen_ops.range(start, limit, delta, name=name)


def linspace(start: Any, stop: Any, num: Any, name: Optional[str] = None) -> Tensor:
    """`num` numbers at equal distances from `start` to `stop`."""
    return gen_ops.lin_space(start, stop, num, name=name)


def cumsum(x: TensorLike, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: Optional[str] = None) -> Tensor:
    """Running sums along `axis`."""
    with ops.name_scope(name, "Cumsum", [x]) as name:
        return gen_ops.cumsum(ops.convert_to_tensor(x, name="x"), axis, exclusive=exclusive, reverse=reverse, name=name)


def cumprod(x: TensorLike, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: Optional[str] = None) -> Tensor:
    """Running products along `axis`."""
    with ops.name_scope(name, "Cumprod", [x]) as name:
        return gen_ops.cumprod(ops.convert_to_tensor(x, name="x"), axis, exclusive=exclusive, reverse=reverse, name=name)


def cumulative_logsumexp(x: TensorLike, axis: Any = 0, exclusive: bool = False, reverse: bool = False,
                         name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "CumulativeLogsumexp", [x]) as name:
        return gen_ops.cumulative_logsumexp(x, axis, exclusive=exclusive, reverse=reverse, name=name)


def argmax(input: Any, axis: Any = None, name: Optional[str] = None, dimension: Any = None,
           output_type: DTypeLike = dtypes.int64) -> Tensor:  # pylint: disable=redefined-builtin
    """The index of the largest element along `axis`."""
    from millstream.ops.arguments import renamed
    axis = renamed("axis", axis, "dimension", dimension)
    return gen_ops.arg_max(input, 0 if axis is None else axis, output_type=output_type, name=name)


def argmin(input: Any, axis: Any = None, name: Optional[str] = None, dimension: Any = None,
           output_type: DTypeLike = dtypes.int64) -> Tensor:  # pylint: disable=redefined-builtin
    """The index of the smallest element along `axis`."""
    from millstream.ops.arguments import renamed
    axis = renamed("axis", axis, "dimension", dimension)
    return gen_ops.arg_min(input, 0 if axis is None else axis, output_type=output_type, name=name)


def arg_max(input: Any, dimension: Any, output_type: DTypeLike = dtypes.int64, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return argmax(input, dimension, output_type=output_type, name=name)


def arg_min(input: Any, dimension: Any, output_type: DTypeLike = dtypes.int64, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    return argmin(input, dimension, output_type=output_type, name=name)


def lbeta(x: TensorLike, name: Optional[str] = None) -> Tensor:
    """Logarithm of the multinomial beta function over the last axis."""
    with ops.name_scope(name, "lbeta", [x]):
        from millstream.ops.math.reduce_ops import reduce_sum
        x = ops.convert_to_tensor(x, name="x")
        return reduce_sum(gen_ops.lgamma(x), [-1]) - gen_ops.lgamma(reduce_sum(x, [-1]))


def polyval(coeffs: Any, x: TensorLike, name: Optional[str] = None) -> Tensor:
    """coeffs[0] * x^n + ... + coeffs[n], by Horner's rule."""
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    with ops.name_scope(name, "polyval", [x]) as name:
        x = ops.convert_to_tensor(x, name="x")
        if not coeffs:
            return gen_ops.zeros_like(x, name=name)
        coeffs = [ops.convert_to_tensor(c, name=f"coeff_{i}") for i, c in enumerate(coeffs)]
        p = coeffs[0]
        for c in coeffs[1:]:
            p = c + p * x
        return p


def reciprocal_no_nan(x: TensorLike, name: Optional[str] = None) -> Tensor:
    with ops.name_scope(name, "reciprocal_no_nan", [x]) as name:
        x = ops.convert_to_tensor(x, name="x")
        return gen_ops.div_no_nan(constant_op.constant(1, x.dtype.base_dtype, name="one"), x, name=name)
