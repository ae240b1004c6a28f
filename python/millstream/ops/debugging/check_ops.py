# SPDX-License-Identifier: Apache-2.0
"""tf.assert_*: operations that fail if a statement about tensors is false. What is known to be false while the graph is
    built
raises at once."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import dtypes, errors, ops, tensor_util
from millstream.ops.array import array_ops
from millstream.ops.math import reduce_ops
from millstream.ops.flow.control_flow_ops import Assert, no_op

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.operation import Operation
    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import DTypeLike, ShapeLike, TensorLike

_COMPARE = {"equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
            "greater": np.greater, "greater_equal": np.greater_equal}
_SIGNS = {"equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}


def _binary(kind, phrase):
    def check(x, y, data=None, summarize=None, message=None, name=None):
        with ops.name_scope(name, f"assert_{kind}", [x, y, data]):
            x, y = ops.convert_to_tensor(x, name="x"), ops.convert_to_tensor(y, name="y")
            known = tensor_util.constant_value(x), tensor_util.constant_value(y)
            if known[0] is not None and known[1] is not None and not np.all(_COMPARE[kind](*known)):
                raise errors.InvalidArgumentError(None, None,
                                                  f"{message or ''}\nCondition x {_SIGNS[kind]} y did not hold.\n"
                                                  f"x ({x.name}) = {known[0]}\ny ({y.name}) = {known[1]}")
            if data is None:
                data = [message or "", phrase, f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
            elif message is not None:
                data = [message] + list(data)
            return Assert(reduce_ops.reduce_all(getattr(gen_ops, kind)(x, y)), data, summarize=summarize)
    check.__name__ = check.__qualname__ = f"assert_{kind}"
    return check


assert_equal = _binary("equal", "Condition x == y did not hold element-wise:")
assert_none_equal = _binary("not_equal", "Condition x != y did not hold for every single element:")
assert_less = _binary("less", "Condition x < y did not hold element-wise:")
assert_less_equal = _binary("less_equal", "Condition x <= y did not hold element-wise:")
assert_greater = _binary("greater", "Condition x > y did not hold element-wise:")
assert_greater_equal = _binary("greater_equal", "Condition x >= y did not hold element-wise:")


def _signed(kind, compare, phrase, flipped):
    def check(x, data=None, summarize=None, message=None, name=None):
        with ops.name_scope(name, f"assert_{kind}", [x, data]):
            x = ops.convert_to_tensor(x, name="x")
            if data is None:
                data = [message or "", phrase, f"x ({x.name}) = ", x]
            zero = np.zeros((), x.dtype.base_dtype.as_numpy_dtype)
            sides = (zero, x) if flipped else (x, zero)
            return compare(*sides, data=data, summarize=summarize)
    check.__name__ = check.__qualname__ = f"assert_{kind}"
    return check


assert_positive = _signed("positive", assert_less, "Condition x > 0 did not hold element-wise:", True)
assert_negative = _signed("negative", assert_less, "Condition x < 0 did not hold element-wise:", False)
assert_non_negative = _signed("non_negative", assert_less_equal, "Condition x >= 0 did not hold element-wise:", True)
assert_non_positive = _signed("non_positive", assert_less_equal, "Condition x <= 0 did not hold element-wise:", False)


def assert_near(x: TensorLike, y: TensorLike, rtol: Any = None, atol: Any = None, data: Any = None, summarize: Any = None,
                message: Any = None, name: Optional[str] = None) -> Operation:
    with ops.name_scope(name, "assert_near", [x, y, rtol, atol, data]):
        x = ops.convert_to_tensor(x, name="x")
        y = ops.convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        eps = 10 * np.finfo(x.dtype.base_dtype.as_numpy_dtype).eps
        rtol = ops.convert_to_tensor(eps if rtol is None else rtol, dtype=x.dtype.base_dtype, name="rtol")
        atol = ops.convert_to_tensor(eps if atol is None else atol, dtype=x.dtype.base_dtype, name="atol")
        if data is None:
            data = [message or "", f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}", f"x ({x.name}) = ", x,
                    f"y ({y.name}) = ", y]
        return Assert(reduce_ops.reduce_all(gen_ops.less(gen_ops.abs(x - y), atol + rtol * gen_ops.abs(y))), data,
                      summarize=summarize)


def _rank_check(kind, fits, compare):
    def check(x, rank, data=None, summarize=None, message=None, name=None):
        with ops.name_scope(name, f"assert_{kind}", [x] + list(data or [])):
            x = ops.convert_to_tensor(x, name="x")
            known = tensor_util.constant_value(ops.convert_to_tensor(rank, name="rank"))
            if known is not None and known.ndim != 0:
                raise ValueError(f"Rank must be a scalar. {message or ''}")
            if known is not None and x.shape.rank is not None:
                if not fits(x.shape.rank, int(known)):
                    raise ValueError(f"{message or ''}.  Static rank condition failed.  Received rank {x.shape.rank}, "
                                     f"expected "
                                     f"{int(known)}, for tensor {x.name}")
                return no_op(name="static_checks_determined_all_ok")
            if data is None:
                data = [message or "", f"Tensor {x.name} must have rank", rank, "Received shape: ", gen_ops.shape(x)]
            return Assert(compare(gen_ops.rank(x), rank), data, summarize=summarize)
    check.__name__ = check.__qualname__ = f"assert_{kind}"
    return check


assert_rank = _rank_check("rank", lambda a, b: a == b, lambda a, b: gen_ops.equal(a, b))
assert_rank_at_least = _rank_check("rank_at_least", lambda a, b: a >= b, lambda a, b: gen_ops.greater_equal(a, b))


def assert_rank_in(x: TensorLike, ranks: Any, data: Any = None, summarize: Any = None, message: Any = None,
                   name: Optional[str] = None) -> Operation:
    with ops.name_scope(name, "assert_rank_in", [x]):
        x = ops.convert_to_tensor(x, name="x")
        if x.shape.rank is not None:
            if x.shape.rank not in [int(r) for r in ranks]:
                raise ValueError(f"{message or ''}Tensor {x.name} must have rank in {tuple(ranks)}.  Received rank "
                                 f"{x.shape.rank}, shape {x.shape}")
            return no_op(name="static_checks_determined_all_ok")
        fits = reduce_ops.reduce_any(gen_ops.equal(gen_ops.rank(x), list(ranks)))
        return Assert(fits, data or [message or "", f"Tensor {x.name} must have rank in", list(ranks)], summarize=summarize)


def assert_integer(x: TensorLike, message: Any = None, name: Optional[str] = None) -> Operation:
    with ops.name_scope(name, "assert_integer", [x]):
        x = ops.convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(f"{message or ''}Expected \"x\" to be integer type.  Found: {x.dtype} of {x.name}")
        return no_op("statically_determined_was_integer")


def assert_type(tensor: TensorLike, tf_type: Any, message: Any = None, name: Optional[str] = None) -> Operation:
    with ops.name_scope(name, "assert_type", [tensor]):
        tensor = ops.convert_to_tensor(tensor, name="tensor")
        if tensor.dtype.base_dtype != dtypes.as_dtype(tf_type):
            raise TypeError(f"{message or ''}{tensor.name} must be of type {tf_type!r}")
        return no_op("statically_determined_correct_type")


def assert_scalar(tensor: TensorLike, name: Optional[str] = None, message: Any = None) -> Any:
    with ops.name_scope(name, "assert_scalar", [tensor]) as name:
        tensor = ops.convert_to_tensor(tensor, name=name)
        if tensor.shape.rank != 0:
            raise ValueError(f"{message or ''}Expected scalar shape for {tensor.name}, saw shape: {tensor.shape}.")
        return tensor


def is_numeric_tensor(tensor: TensorLike) -> Any:
    return isinstance(tensor,
                      ops.Tensor) and (tensor.dtype.is_floating or tensor.dtype.is_integer or tensor.dtype.is_complex)


def is_non_decreasing(x: TensorLike, name: Optional[str] = None) -> Tensor:
    with ops.name_scope(name, "is_non_decreasing", [x]):
        flat = array_ops.reshape(ops.convert_to_tensor(x), [-1])
        return reduce_ops.reduce_all(gen_ops.less_equal(flat[:-1], flat[1:]))


def is_strictly_increasing(x: TensorLike, name: Optional[str] = None) -> Tensor:
    with ops.name_scope(name, "is_strictly_increasing", [x]):
        flat = array_ops.reshape(ops.convert_to_tensor(x), [-1])
        return reduce_ops.reduce_all(gen_ops.less(flat[:-1], flat[1:]))


def assert_same_float_dtype(tensors: Any = None, dtype: Optional[DTypeLike] = None) -> Any:
    """The one floating type of all tensors that are given."""
    found = [t.dtype.base_dtype for t in tensors or [] if t is not None]
    wanted = dtypes.as_dtype(dtype) if dtype is not None else found[0] if found else dtypes.float32
    if any(f != wanted for f in found):
        raise ValueError(f"Tensors must all be of type {wanted}, got {found}")
    if not wanted.is_floating:
        raise ValueError(f"Expected floating point type, got {wanted}.")
    return wanted


def assert_proper_iterable(values: Any) -> None:
    if isinstance(values, (ops.Tensor, ops.IndexedSlices, np.ndarray, str, bytes)) or hasattr(values, "dense_shape"):
        raise TypeError(f"Expected argument \"values\" to be a \"proper\" iterable.  Found: {type(values)}")
    if not hasattr(values, "__iter__"):
        raise TypeError(f"Expected argument \"values\" to be iterable.  Found: {type(values)}")


def ensure_shape(x: TensorLike, shape: ShapeLike, name: Optional[str] = None) -> Tensor:
    from millstream.framework.tensor_shape import TensorShape
    return gen_ops.ensure_shape(x, shape=TensorShape(shape), name=name)


def verify_tensor_all_finite(t: Any = None, msg: Any = None, name: Optional[str] = None, x: Any = None,
                             message: Any = None) -> Tensor:
    from millstream.ops.arguments import renamed
    x, message = renamed("x", x, "t", t), renamed("message", message, "msg", msg)
    with ops.name_scope(name, "VerifyFinite", [x]):
        x = ops.convert_to_tensor(x, name="x")
        with ops.colocate_with(x):
            checked = gen_ops.check_numerics(x, message=message)
            from millstream.ops.flow.control_flow_ops import with_dependencies
            return with_dependencies([checked], x)


def add_check_numerics_ops():
    """An operation that checks every floating tensor of the graph."""
    checks = []
    for op in ops.get_default_graph().get_operations():
        if op.type in ("Enter", "RefEnter", "Switch", "RefSwitch"):
            raise ValueError("`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow operations such as "
                             "`tf.cond()` or `tf.while_loop()`.")
        for output in op.outputs:
            if output.dtype in (dtypes.float16, dtypes.float32, dtypes.float64):
                with ops.control_dependencies(checks[-1:]):
                    checks.append(gen_ops.check_numerics(output, message=output.name))
    from millstream.ops.flow.control_flow_ops import group
    return group(*checks)
