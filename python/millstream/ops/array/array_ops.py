# SPDX-License-Identifier: Apache-2.0
"""Shapes, constants, joining and splitting: tf.shape, tf.zeros, tf.concat, tf.stack, ..."""
from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, overload

import numpy as np

from millstream import gen_ops
from millstream.framework import constant_op, dtypes, operators_slice, ops, sparse_tensor, tensor_shape
from millstream.framework.tensor_shape import Dimension, TensorShape
from millstream.ops.arguments import renamed

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import DTypeLike, ShapeLike, TensorLike
    from millstream.framework.indexed_slices import IndexedSlices
    from millstream.framework.sparse_tensor import SparseTensor

_SMALL = 1000  # up to here zeros() and ones() are constants


@overload
def identity(input: SparseTensor, name: Optional[str] = None) -> SparseTensor: ...
@overload
def identity(input: IndexedSlices, name: Optional[str] = None) -> IndexedSlices: ...
@overload
def identity(input: TensorLike, name: Optional[str] = None) -> Tensor: ...
def identity(input, name=None):  # pylint: disable=redefined-builtin
    """A new tensor with the value of `input`."""
    if isinstance(input, sparse_tensor.SparseTensor):
        with ops.name_scope(name, "Identity", [input]):
            return sparse_tensor.SparseTensor(gen_ops.identity(input.indices), gen_ops.identity(input.values),
                                              gen_ops.identity(input.dense_shape))
    if isinstance(input, ops.IndexedSlices):
        with ops.name_scope(name, "Identity", [input]):
            shape = None if input.dense_shape is None else gen_ops.identity(input.dense_shape)
            return ops.IndexedSlices(gen_ops.identity(input.values), gen_ops.identity(input.indices), shape)
    return gen_ops.identity(input, name=name)


def shape(input: Any, name: Optional[str] = None, out_type: Optional[DTypeLike] = None, optimize: bool = True) -> Tensor:  # pylint: disable=redefined-builtin
    """The shape of `input` as a vector of integers."""
    out_type = dtypes.int32 if out_type is None else dtypes.as_dtype(out_type)
    with ops.name_scope(name, "Shape", [input]) as name:
        if isinstance(input, (sparse_tensor.SparseTensor, sparse_tensor.SparseTensorValue)):
            from millstream.ops.math import math_ops
            return math_ops.cast(input.dense_shape, out_type)
        input = ops.convert_to_tensor(input)
        known = input.shape
        if optimize and known.is_fully_defined():
            return constant_op.constant(known.as_list(), out_type, shape=[known.rank], name=name)
        return gen_ops.shape(input, out_type=out_type, name=name)


def shape_n(input: Any, out_type: DTypeLike = dtypes.int32, name: Optional[str] = None) -> list[Tensor]:  # pylint: disable=redefined-builtin
    return gen_ops.shape_n(input, out_type=out_type, name=name)


def size(input: Any, name: Optional[str] = None, out_type: DTypeLike = dtypes.int32) -> Tensor:  # pylint: disable=redefined-builtin
    """The number of elements of `input`."""
    with ops.name_scope(name, "Size", [input]) as name:
        if isinstance(input, (sparse_tensor.SparseTensor, sparse_tensor.SparseTensorValue)):
            from millstream.ops.math import math_ops
            return gen_ops.prod(math_ops.cast(input.dense_shape, out_type), 0, name=name)
        input = ops.convert_to_tensor(input)
        known = input.shape
        if known.is_fully_defined():
            return constant_op.constant(known.num_elements(), out_type, name=name)
        return gen_ops.size(input, out_type=out_type, name=name)


def rank(input: Any, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    """The number of dimensions of `input`."""
    with ops.name_scope(name, "Rank", [input]) as name:
        if isinstance(input, (sparse_tensor.SparseTensor, sparse_tensor.SparseTensorValue)):
            return gen_ops.size(input.dense_shape, name=name)
        input = ops.convert_to_tensor(input)
        if input.shape.rank is not None:
            return constant_op.constant(input.shape.rank, dtypes.int32, name=name)
        return gen_ops.rank(input, name=name)


def reshape(tensor: TensorLike, shape: ShapeLike, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-outer-name
    """The elements of `tensor`, in the same order, in another shape; -1 stands for what is left."""
    if isinstance(shape, (list, tuple)):
        shape = [d.value if isinstance(d, Dimension) else d for d in shape]
        if not shape:
            shape = np.zeros([0], np.int32)
    return gen_ops.reshape(tensor, shape, name=name)


def expand_dims(input: Any, axis: Any = None, name: Optional[str] = None, dim: Any = None) -> Tensor:  # pylint: disable=redefined-builtin
    """Inserts a dimension of size 1 at `axis`."""
    axis = renamed("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return gen_ops.expand_dims(input, axis, name=name)


def squeeze(input: Any, axis: Any = None, name: Optional[str] = None, squeeze_dims: Any = None) -> Tensor:  # pylint: disable=redefined-builtin
    """Removes dimensions of size 1: those of `axis`, or all."""
    axis = renamed("axis", axis, "squeeze_dims", squeeze_dims)
    if np.isscalar(axis):
        axis = [axis]
    return gen_ops.squeeze(input, squeeze_dims=[] if axis is None else [int(a) for a in axis], name=name)


def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Joins tensors along an existing dimension."""
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:  # the axis is checked as if there were more
        with ops.name_scope(name):
            ops.convert_to_tensor(axis, name="concat_dim", dtype=dtypes.int32).shape.assert_has_rank(0)
            return identity(values[0], name=name)
    return gen_ops.concat_v2(values, axis, name=name)


def stack(values: Any, axis: Any = 0, name: str = "stack") -> Tensor:
    """Joins tensors of equal shape along a new dimension."""
    if axis == 0:
        try:  # plain values make one constant
            return ops.convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass
    first = ops.convert_to_tensor(values[0], name=name) if values else None
    if first is not None and first.shape.rank is not None:
        expanded = first.shape.rank + 1
        if not -expanded <= axis < expanded:
            raise ValueError(f"Argument `axis` = {axis} not in range [{-expanded}, {expanded})")
    return gen_ops.pack(values, axis=axis, name=name)


def pack(values: Any, axis: Any = 0, name: str = "pack") -> Any:
    return stack(values, axis, name)


def parallel_stack(values: Any, name: str = "parallel_stack") -> Tensor:
    return gen_ops.pack([ops.convert_to_tensor(v) for v in values], axis=0, name=name)


def unstack(value: Any, num: Any = None, axis: Any = 0, name: str = "unstack") -> list[Tensor]:
    """Splits a tensor along `axis` into tensors of one rank less; needs a static size or `num`."""
    if num is None:
        value = ops.convert_to_tensor(value)
        known = value.shape
        if known.rank is not None:
            if not -known.rank <= axis < known.rank:
                raise ValueError(f"Argument `axis` = {axis} not in range [{-known.rank}, {known.rank})")
            num = known.as_list()[axis]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {known}")
    result = gen_ops.unpack(value, num=num, axis=axis, name=name)
    return [] if isinstance(result, ops.Operation) else result


unpack = unstack


def split(value: Any, num_or_size_splits: Any, axis: Any = 0, num: Any = None, name: str = "split") -> list[Tensor]:
    """Splits a tensor along `axis` into equal parts, or into parts of the given sizes."""
    if isinstance(num_or_size_splits, (numbers.Integral, Dimension)):
        return gen_ops.split(axis, value, num_split=int(num_or_size_splits), name=name)
    sizes = num_or_size_splits
    if isinstance(sizes, (list, tuple)) and not sizes:
        raise ValueError("Rank-0 tensors are not supported as the num_or_size_splits argument to split.")
    size_splits = ops.convert_to_tensor(sizes)
    if size_splits.shape.rank == 0:
        raise ValueError("Rank-0 tensors are not supported as the num_or_size_splits argument to split. Argument provided: "
                         f"{num_or_size_splits}")
    if num is None:
        num = size_splits.shape.as_list()[0] if size_splits.shape.rank else None
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {num_or_size_splits}")
    return gen_ops.split_v(value, size_splits, axis, num_split=num, name=name)


def transpose(a: TensorLike, perm: Any = None, name: str = "transpose", conjugate: bool = False) -> Tensor:
    """Permutes dimensions; without `perm` their order is reversed."""
    with ops.name_scope(name, "transpose", [a]) as name:
        if not isinstance(a, ops.Tensor):
            a = ops.convert_to_tensor(a, name="a")
        gen = gen_ops.conjugate_transpose if conjugate and a.dtype.is_complex else gen_ops.transpose
        if perm is None:
            known = a.shape.rank
            if known is not None:
                perm = np.arange(known - 1, -1, -1, dtype=np.int32)
            else:
                from millstream.ops.math import math_ops
                count = gen_ops.rank(a)
                perm = (count - 1) - math_ops.range(0, count, 1)
        return gen(a, perm, name=name)


def matrix_transpose(a, name="matrix_transpose", conjugate=False):
    """The last two axes change places."""
    with ops.name_scope(name, values=[a]) as name:
        a = ops.convert_to_tensor(a, name="a")
        known = a.shape.rank
        if known is not None:
            if known < 2:
                raise ValueError(f"Argument `a` should be a (batch) matrix with rank >= 2.  Received `a` = {a} with shape: "
                                 f"{a.shape}")
            perm = list(range(known - 2)) + [known - 1, known - 2]
        else:
            from millstream.ops.math import math_ops
            count = gen_ops.rank(a)
            perm = concat((math_ops.range(0, count - 2, 1), [count - 1, count - 2]), 0)
        return transpose(a, perm=perm, conjugate=conjugate)


def slice(input_: Any, begin: Any, size: Any, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin,redefined-outer-name
    """The part of `input_` that starts at `begin` and has `size` elements in each dimension (-1: up to the end)."""
    return gen_ops.slice(input_, begin, size, name=name)


def strided_slice(input_: Any, begin: Any, end: Any, strides: Any = None, begin_mask: Any = 0, end_mask: Any = 0,
                  ellipsis_mask: Any = 0, new_axis_mask: Any = 0, shrink_axis_mask: Any = 0, var: Any = None,
                  name: Optional[str] = None) -> Tensor:
    """The part from `begin` to `end` with steps `strides`, as in Python's slices; masks as in the op StridedSlice."""
    if strides is None:
        strides = ones_like(ops.convert_to_tensor(begin))
    masks = {"begin_mask": begin_mask, "end_mask": end_mask, "ellipsis_mask": ellipsis_mask, "new_axis_mask": new_axis_mask,
             "shrink_axis_mask": shrink_axis_mask}
    result = gen_ops.strided_slice(input_, begin, end, strides, name=name or "StridedSlice", **masks)
    return operators_slice.assignable(result, var, begin, end, strides, result.op.name + "_assign", masks)


def _static_shape(shape):  # pylint: disable=redefined-outer-name
    """A list of sizes if all are known, else None."""
    if isinstance(shape, ops.Tensor):
        return None
    if isinstance(shape, TensorShape):
        return shape.as_list() if shape.is_fully_defined() else None
    if isinstance(shape, (numbers.Integral, Dimension)):
        return [int(shape)]
    try:
        values = [d.value if isinstance(d, Dimension) else d for d in shape]
    except TypeError:
        return None
    return [int(d) for d in values] if all(isinstance(d, numbers.Integral) for d in values) else None


def _filled(shape, value, dtype, name):  # pylint: disable=redefined-outer-name
    known = _static_shape(shape)
    scalar = isinstance(shape, (numbers.Integral, Dimension))
    if known is not None and not scalar and int(np.prod(known)) < _SMALL:
        return constant_op.constant(value, dtype, shape=known, name=name)
    if known is not None:
        shape = ops.convert_to_tensor(TensorShape(known))
    elif not isinstance(shape, ops.Tensor):
        shape = ops.convert_to_tensor(shape, name="shape")
    if shape.shape.rank == 0:
        shape = reshape(shape, [-1])
    return gen_ops.fill(shape, constant_op.constant(value, dtype), name=name)


def zeros(shape: ShapeLike, dtype: DTypeLike = dtypes.float32, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-outer-name
    """A tensor of zeros."""
    dtype = dtypes.as_dtype(dtype).base_dtype
    with ops.name_scope(name, "zeros", [shape]) as name:
        zero = False if dtype == dtypes.bool else "" if dtype == dtypes.string else 0
        return _filled(shape, zero, dtype, name)


def ones(shape: ShapeLike, dtype: DTypeLike = dtypes.float32, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-outer-name
    """A tensor of ones."""
    dtype = dtypes.as_dtype(dtype).base_dtype
    with ops.name_scope(name, "ones", [shape]) as name:
        return _filled(shape, True if dtype == dtypes.bool else 1, dtype, name)


def zeros_like(tensor: TensorLike, dtype: Optional[DTypeLike] = None, name: Optional[str] = None,
               optimize: bool = True) -> Tensor:
    """Zeros in the shape of `tensor`."""
    with ops.name_scope(name, "zeros_like", [tensor]) as name:
        tensor = ops.convert_to_tensor(tensor, name="tensor")
        own = tensor.dtype.base_dtype
        wanted = own if dtype is None else dtypes.as_dtype(dtype).base_dtype
        if optimize and tensor.shape.is_fully_defined() and own != dtypes.variant:
            return zeros(tensor.shape, dtype=wanted, name=name)
        if wanted != own and own != dtypes.variant:
            return zeros(shape_of(tensor, optimize), dtype=wanted, name=name)
        return gen_ops.zeros_like(tensor, name=name)


def ones_like(tensor: TensorLike, dtype: Optional[DTypeLike] = None, name: Optional[str] = None,
              optimize: bool = True) -> Tensor:
    """Ones in the shape of `tensor`."""
    with ops.name_scope(name, "ones_like", [tensor]) as name:
        tensor = ops.convert_to_tensor(tensor, name="tensor")
        dtype = tensor.dtype.base_dtype if dtype is None else dtype
        result = ones(shape_of(tensor, optimize), dtype=dtype, name=name)
        result.set_shape(tensor.shape)
        return result


def shape_of(tensor, optimize=True):
    """The shape as functions of this library use it: a constant if it is known."""
    known = tensor.shape
    if not optimize or not known.is_fully_defined():
        return shape(tensor, optimize=False)
    with ops.name_scope("Shape"):
        return ops.convert_to_tensor(known)


def fill(dims: Any, value: Any, name: Optional[str] = None) -> Tensor:
    """A tensor of shape `dims` in which every element is `value`."""
    if isinstance(dims, TensorShape):
        dims = dims.as_list()
    return gen_ops.fill(dims, value, name=name)


def eye(num_rows: Any, num_columns: Any = None, batch_shape: Any = None, dtype: DTypeLike = dtypes.float32,
        name: Optional[str] = None) -> Tensor:
    """An identity matrix, or a batch of them."""
    with ops.name_scope(name, "eye", [num_rows, num_columns, batch_shape]) as name:
        square = num_columns is None or num_columns is num_rows
        columns = num_rows if num_columns is None else num_columns
        batch = [] if batch_shape is None else batch_shape
        if isinstance(num_rows, numbers.Integral) and isinstance(columns,
                                                                 numbers.Integral) and _static_shape(batch) is not None:
            batch = _static_shape(batch)
            diag = ones(batch + [min(num_rows, columns)], dtype=dtype)
            if square or num_rows == columns:
                return gen_ops.matrix_diag(diag, name=name)
            return gen_ops.matrix_set_diag(zeros(batch + [num_rows, columns], dtype=dtype), diag, name=name)
        batch = ops.convert_to_tensor(batch, name="shape", dtype=dtypes.int32)
        least = gen_ops.minimum(num_rows, columns)
        diag = ones(concat((batch, [least]), axis=0), dtype=dtype)
        if square:
            return gen_ops.matrix_diag(diag, name=name)
        return gen_ops.matrix_set_diag(zeros(concat((batch, [num_rows, columns]), axis=0), dtype=dtype), diag, name=name)


def diag(diagonal: Any, name: Optional[str] = None) -> Tensor:
    return gen_ops.diag(diagonal, name=name)


def pad(tensor: TensorLike, paddings: Any, mode: str = "CONSTANT", name: Optional[str] = None,
        constant_values: Any = 0) -> Tensor:
    """Adds elements before and after in each dimension, by constant, reflection or symmetry."""
    mode = mode.upper()
    if mode == "CONSTANT":
        if not isinstance(constant_values, ops.Tensor) and np.ndim(constant_values) == 0 and constant_values == 0:
            return gen_ops.pad(tensor, paddings, name=name)
        return gen_ops.pad_v2(tensor, paddings, constant_values, name=name)
    if mode in ("REFLECT", "SYMMETRIC"):
        return gen_ops.mirror_pad(tensor, paddings, mode=mode, name=name)
    raise ValueError(f"Value of argument `mode` expected to be one of \"CONSTANT\", \"REFLECT\", or \"SYMMETRIC\". Received "
                     f"`mode` = {mode}")


def reverse(tensor: TensorLike, axis: Any, name: Optional[str] = None) -> Tensor:
    """Reverses the order of elements along the given dimensions."""
    if not ops.is_dense_tensor_like(axis) and np.ndim(axis) == 0 and not isinstance(axis, (list, tuple)):
        axis = [axis]
    return gen_ops.reverse_v2(tensor, axis, name=name)


def unique(x: TensorLike, out_idx: Any = dtypes.int32, name: Optional[str] = None) -> Any:
    """The distinct elements of a vector, and for each element the index of its value among them."""
    return gen_ops.unique(x, out_idx=out_idx, name=name)


def unique_with_counts(x: TensorLike, out_idx: Any = dtypes.int32, name: Optional[str] = None) -> Any:
    return gen_ops.unique_with_counts(x, out_idx=out_idx, name=name)


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> Any:
    shape_x, shape_y = tensor_shape.as_shape(shape_x), tensor_shape.as_shape(shape_y)
    if shape_x.rank is None or shape_y.rank is None:
        return tensor_shape.unknown_shape()
    length = max(shape_x.rank, shape_y.rank)
    xs = [1] * (length - shape_x.rank) + shape_x.as_list()
    ys = [1] * (length - shape_y.rank) + shape_y.as_list()
    out = []
    for a, b in zip(xs, ys):
        if a is None or b is None:
            out.append(a if b == 1 or (b is None and a not in (None,
                                                               1)) else b if a == 1 or (a is None and b != 1) else None)
        elif a == b or b == 1:
            out.append(a)
        elif a == 1:
            out.append(b)
        else:
            raise ValueError(f"Incompatible shapes for broadcasting: {shape_x} and {shape_y}")
    return TensorShape(out)


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    return gen_ops.broadcast_args(shape_x, shape_y)


def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Coordinates of a grid; indexing="xy" (default) or "ij"."""
    indexing = kwargs.pop("indexing", "xy")
    name = kwargs.pop("name", "meshgrid")
    if kwargs:
        raise TypeError(f"'{next(iter(kwargs))}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'")
    with ops.name_scope(name, "meshgrid", args):
        count = len(args)
        shapes = [(1,) * i + (-1,) + (1,) * (count - i - 1) for i in range(count)]
        parts = [reshape(ops.convert_to_tensor(x), s) for x, s in zip(args, shapes)]
        sizes = [size(ops.convert_to_tensor(x)) for x in args]
        if indexing == "xy" and count > 1:
            parts[0] = reshape(parts[0], (1, -1) + (1,) * (count - 2))
            parts[1] = reshape(parts[1], (-1, 1) + (1,) * (count - 2))
            sizes[0], sizes[1] = sizes[1], sizes[0]
        dtype = parts[0].dtype.base_dtype if parts else dtypes.float32
        whole = fill(stack(sizes), constant_op.constant(1, dtype)) if parts else None
        return [p * whole for p in parts]


def gather_sizes(sizes, axes):
    """Some of the sizes of a shape tensor."""
    return gen_ops.gather_v2(sizes, np.array(axes, np.int32), 0)
