# SPDX-License-Identifier: Apache-2.0
"""Functions of SparseTensors: tf.sparse_tensor_to_dense, tf.sparse_tensor_dense_matmul, tf.sparse.*"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import constant_op, dtypes, ops, tensor_util
from millstream.framework.sparse_tensor import SparseTensor, SparseTensorValue
from millstream.framework.tensor_shape import TensorShape
from millstream.ops.array import array_ops
from millstream.ops.math import math_ops
from millstream.ops.arguments import renamed

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import DTypeLike, ShapeLike, TensorLike


def _convert(sp_input):
    if isinstance(sp_input, SparseTensorValue):
        return SparseTensor.from_value(sp_input)
    if not isinstance(sp_input, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return sp_input


def _parts(sp) -> tuple[Tensor, Tensor, Tensor]:
    return sp.indices, sp.values, sp.dense_shape


def sparse_placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: Optional[str] = None) -> SparseTensor:
    """A SparseTensor to be fed with a SparseTensorValue."""
    rank = None
    base = (name + "/") if name is not None else None
    if shape is None:
        dense_shape = constant_op.placeholder(dtypes.int64, [rank], name=base and base + "shape")
    elif isinstance(shape, ops.Tensor):
        dense_shape, rank = shape, TensorShape(shape.shape).as_list()[0]
    else:
        sizes = TensorShape(shape).as_list()
        rank = len(sizes)
        known = [-1 if s is None else s for s in sizes]
        if None in sizes:
            dense_shape = constant_op.placeholder_with_default(np.array(known, np.int64), [rank],
                                                               name=base and base + "shape")
        else:
            dense_shape = constant_op.constant(np.array(known, np.int64), name=base + "shape" if base else "Const")
    return SparseTensor(values=constant_op.placeholder(dtype, [None], name=base and base + "values"),
                        indices=constant_op.placeholder(dtypes.int64, [None, rank], name=base and base + "indices"),
                        dense_shape=dense_shape)


def from_dense(tensor: TensorLike, name: Optional[str] = None) -> SparseTensor:
    with ops.name_scope(name, "dense_to_sparse"):
        tensor = ops.convert_to_tensor(tensor)
        zero = "" if tensor.dtype.base_dtype == dtypes.string else np.zeros((), tensor.dtype.as_numpy_dtype)
        indices = gen_ops.where(gen_ops.not_equal(tensor, zero))
        return SparseTensor(indices, gen_ops.gather_nd(tensor, indices), array_ops.shape(tensor, out_type=dtypes.int64))


def sparse_to_dense(sparse_indices: Any, output_shape: ShapeLike, sparse_values: Any, default_value: Any = 0,
                    validate_indices: bool = True, name: Optional[str] = None) -> Tensor:
    return gen_ops.sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value,
                                   validate_indices=validate_indices, name=name)


def sparse_tensor_to_dense(sp_input: Any, default_value: Any = None, validate_indices: bool = True,
                           name: Optional[str] = None) -> Tensor:
    """Returns a dense tensor with the values of `sp_input`, and `default_value` (zero or the empty string) everywhere else."""
    sp_input = _convert(sp_input)
    if default_value is None:
        default_value = "" if sp_input.dtype.base_dtype == dtypes.string else np.zeros((), sp_input.dtype.as_numpy_dtype)
    result = sparse_to_dense(sp_input.indices, sp_input.dense_shape, sp_input.values, default_value,
                             validate_indices=validate_indices, name=name)
    result.set_shape(sp_input.shape)
    return result


def sparse_to_indicator(sp_input: Any, vocab_size: Any, name: Optional[str] = None) -> Tensor:
    sp_input = _convert(sp_input)
    with ops.name_scope(name, "SparseToIndicator", [sp_input]):
        count = array_ops.shape(sp_input.indices)[0]
        ones = array_ops.fill(array_ops.expand_dims(count, 0), True)
        ids = SparseTensor(sp_input.indices, sp_input.values, sp_input.dense_shape)
        merged = sparse_merge(ids, SparseTensor(sp_input.indices, ones, sp_input.dense_shape), vocab_size)
        return sparse_tensor_to_dense(merged, default_value=False, validate_indices=False)


def sparse_merge(sp_ids: Any, sp_values: Any, vocab_size: Any, name: Optional[str] = None,
                 already_sorted: bool = False) -> SparseTensor:
    with ops.name_scope(name, "SparseMerge"):
        sp_ids, sp_values = _convert(sp_ids), _convert(sp_values)
        ids = math_ops.cast(sp_ids.values, dtypes.int64)
        indices = array_ops.concat([sp_ids.indices[:, :-1], array_ops.expand_dims(ids, 1)], 1)
        shape = array_ops.concat([sp_ids.dense_shape[:-1], [math_ops.cast(vocab_size, dtypes.int64)]], 0)
        result = SparseTensor(indices, sp_values.values, shape)
        return result if already_sorted else sparse_reorder(result)


def sparse_reorder(sp_input, name=None) -> SparseTensor:
    """Returns the same SparseTensor with its indices sorted in row-major order."""
    sp_input = _convert(sp_input)
    indices, values = gen_ops.sparse_reorder(*_parts(sp_input), name=name)
    return SparseTensor(indices, values, array_ops.identity(sp_input.dense_shape))


def sparse_reshape(sp_input: Any, shape: ShapeLike, name: Optional[str] = None) -> SparseTensor:
    sp_input = _convert(sp_input)
    with ops.name_scope(name, "SparseReshape", [sp_input]) as name:
        shape = math_ops.cast(shape, dtypes.int64)
        indices, new_shape = gen_ops.sparse_reshape(sp_input.indices, sp_input.dense_shape, shape, name=name)
        return SparseTensor(indices, array_ops.identity(sp_input.values), new_shape)


def sparse_retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    sp_input = _convert(sp_input)
    to_retain = ops.convert_to_tensor(to_retain)
    kept = array_ops.reshape(gen_ops.where(to_retain), [-1])
    return SparseTensor(gen_ops.gather_v2(sp_input.indices, kept, 0), gen_ops.gather_v2(sp_input.values, kept, 0),
                        array_ops.identity(sp_input.dense_shape))


def sparse_concat(axis: Any, sp_inputs: Any, name: Optional[str] = None, expand_nonconcat_dim: bool = False,
                  concat_dim: Any = None, expand_nonconcat_dims: Any = None) -> SparseTensor:
    axis = renamed("axis", axis, "concat_dim", concat_dim)
    sp_inputs = [_convert(s) for s in sp_inputs]
    if len(sp_inputs) == 1:
        return sp_inputs[0]
    shapes = [s.dense_shape for s in sp_inputs]
    if expand_nonconcat_dim or expand_nonconcat_dims:
        largest = gen_ops.max(array_ops.stack(shapes), 0)
        shapes = [array_ops.concat([largest[:axis], s[axis:axis + 1], largest[axis + 1:]], 0) if axis != -1
                  else array_ops.concat([largest[:-1], s[-1:]], 0) for s in shapes]
    parts = gen_ops.sparse_concat([s.indices for s in sp_inputs], [s.values for s in sp_inputs], shapes, concat_dim=axis,
                                  name=name)
    return SparseTensor(*parts)


def sparse_add(a, b, threshold=None, thresh=None):
    threshold = renamed("threshold", threshold, "thresh", thresh)
    threshold = 0 if threshold is None else threshold
    sparse = (SparseTensor, SparseTensorValue)
    if not isinstance(a, sparse) and not isinstance(b, sparse):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if isinstance(a, sparse) and isinstance(b, sparse):
        a, b = _convert(a), _convert(b)
        limit = ops.convert_to_tensor(threshold, dtype=a.values.dtype.real_dtype.base_dtype, name="thresh")
        return SparseTensor(*gen_ops.sparse_add(*_parts(a), *_parts(b), limit))
    if isinstance(b, sparse):
        a, b = b, a
    a = _convert(a)
    return gen_ops.sparse_tensor_dense_add(*_parts(a), b)


def sparse_split(keyword_required=None, sp_input=None, num_split=None, axis=None, name=None, split_dim=None):
    axis = renamed("axis", axis, "split_dim", split_dim)
    sp_input = _convert(sp_input)
    indices, values, shapes = gen_ops.sparse_split(math_ops.cast(axis, dtypes.int64), *_parts(sp_input), num_split=num_split,
                                                   name=name)
    return [SparseTensor(*p) for p in zip(indices, values, shapes)]


def sparse_slice(sp_input, start, size, name=None):
    sp_input = _convert(sp_input)
    with ops.name_scope(name, "SparseSlice", [sp_input]) as name:
        start, size = ops.convert_to_tensor(start, dtypes.int64), ops.convert_to_tensor(size, dtypes.int64)
        return SparseTensor(*gen_ops.sparse_slice(*_parts(sp_input), start, size, name=name))


def sparse_transpose(sp_input: Any, perm: Any = None, name: Optional[str] = None) -> SparseTensor:
    sp_input = _convert(sp_input)
    with ops.name_scope(name, "SparseTranspose", [sp_input]):
        rank = sp_input.indices.shape.as_list()[1]
        perm = list(range(rank - 1, -1, -1)) if perm is None else perm
        columns = array_ops.transpose(gen_ops.gather_v2(array_ops.transpose(sp_input.indices), perm, 0))
        shape = gen_ops.gather_v2(sp_input.dense_shape, perm, 0)
        return sparse_reorder(SparseTensor(columns, sp_input.values, shape))


def sparse_softmax(sp_input: Any, name: Optional[str] = None) -> SparseTensor:
    sp_input = _convert(sp_input)
    with ops.name_scope(name, "SparseSoftmax", [sp_input]):
        return SparseTensor(sp_input.indices, gen_ops.sparse_softmax(*_parts(sp_input)), sp_input.dense_shape)


def _pairwise(gen_name, default):
    def apply(sp_a, sp_b, name=None):
        sp_a, sp_b = _convert(sp_a), _convert(sp_b)
        with ops.name_scope(name, default, [sp_a, sp_b]):
            indices, values = getattr(gen_ops, gen_name)(*_parts(sp_a), *_parts(sp_b))
            return SparseTensor(indices, values, sp_a.dense_shape)
    return apply


sparse_maximum = _pairwise("sparse_sparse_maximum", "SparseSparseMaximum")
sparse_minimum = _pairwise("sparse_sparse_minimum", "SparseSparseMinimum")


def _axes(sp_input, axis):
    if axis is None:
        return math_ops.range(array_ops.size(sp_input.dense_shape))
    return math_ops.cast(axis, dtypes.int32)


def _reduction(gen_name, sparse_result):
    def reduce(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None, name=None):
        axis = renamed("axis", axis, "reduction_axes", reduction_axes)
        keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
        sp_input = _convert(sp_input)
        result = getattr(gen_ops, gen_name)(*_parts(sp_input), _axes(sp_input, axis), keep_dims=keep)
        return SparseTensor(*result) if sparse_result else result
    return reduce


sparse_reduce_sum = _reduction("sparse_reduce_sum", False)
sparse_reduce_max = _reduction("sparse_reduce_max", False)
sparse_reduce_sum_sparse = _reduction("sparse_reduce_sum_sparse", True)
sparse_reduce_max_sparse = _reduction("sparse_reduce_max_sparse", True)


def sparse_tensor_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False, name=None):
    sp_a = _convert(sp_a)
    with ops.name_scope(name, "SparseTensorDenseMatMul", [b]) as name:
        b = ops.convert_to_tensor(b, name="b")
        return gen_ops.sparse_tensor_dense_mat_mul(*_parts(sp_a), b, adjoint_a=adjoint_a, adjoint_b=adjoint_b, name=name)


def sparse_fill_empty_rows(sp_input, default_value, name=None):
    """(the tensor with a default in each empty row, which rows were empty)."""
    sp_input = _convert(sp_input)
    with ops.name_scope(name, "SparseFillEmptyRows", [sp_input]):
        default_value = ops.convert_to_tensor(default_value, dtype=sp_input.values.dtype.base_dtype)
        indices, values, empty, _ = gen_ops.sparse_fill_empty_rows(*_parts(sp_input), default_value)
        return SparseTensor(indices, values, sp_input.dense_shape), empty


def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """Another dense shape, or the smallest one that holds all values."""
    sp_input = _convert(sp_input)
    indices, values = array_ops.identity(sp_input.indices), array_ops.identity(sp_input.values)
    if new_shape is None:
        shape = gen_ops.maximum(gen_ops.max(indices, 0) + 1, ops.convert_to_tensor(0, dtypes.int64))
    else:
        shape = ops.convert_to_tensor(new_shape, dtypes.int64)
        known = tensor_util.constant_value(shape)
        if known is not None and sp_input.shape.rank not in (None, known.size):
            raise ValueError(f"Dimensions {sp_input.shape.rank} and {known.size} are not compatible")
    return SparseTensor(indices, values, shape)


def sparse_expand_dims(sp_input: Any, axis: Any = None, name: Optional[str] = None) -> SparseTensor:
    sp_input = _convert(sp_input)
    rank = sp_input.dense_shape.shape.as_list()[0]
    axis = -1 if axis is None else axis
    if not -rank - 1 <= axis <= rank:
        raise ValueError(f"axis {axis} out of bounds [-{rank + 1}, {rank}]")
    axis = axis % (rank + 1)
    with ops.name_scope(name, "expand_dims", [sp_input]):
        column = array_ops.zeros(array_ops.stack([array_ops.shape(sp_input.indices)[0], 1]), dtypes.int64)
        indices = array_ops.concat([sp_input.indices[:, :axis], column, sp_input.indices[:, axis:]], 1)
        one = constant_op.constant([1], dtypes.int64)
        shape = array_ops.concat([sp_input.dense_shape[:axis], one, sp_input.dense_shape[axis:]], 0)
        return SparseTensor(indices, sp_input.values, shape)


def sparse_eye(num_rows: Any, num_columns: Any = None, dtype: DTypeLike = dtypes.float32,
               name: Optional[str] = None) -> SparseTensor:
    with ops.name_scope(name, "eye", [num_rows, num_columns]):
        columns = num_rows if num_columns is None else num_columns
        count = min(num_rows, columns)
        diagonal = math_ops.range(count, dtype=dtypes.int64)
        return SparseTensor(array_ops.stack([diagonal, diagonal], axis=1), array_ops.ones([count], dtype),
                            [num_rows, columns])


def serialize_sparse(sp_input, name=None, out_type=dtypes.string):
    return gen_ops.serialize_sparse(*_parts(_convert(sp_input)), out_type=out_type, name=name)


def serialize_many_sparse(sp_input, name=None, out_type=dtypes.string):
    return gen_ops.serialize_many_sparse(*_parts(_convert(sp_input)), out_type=out_type, name=name)


def deserialize_many_sparse(serialized_sparse: Any, dtype: DTypeLike, rank: Any = None,
                            name: Optional[str] = None) -> SparseTensor:
    indices, values, shape = gen_ops.deserialize_many_sparse(serialized_sparse, dtype=dtype, name=name)
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


def edit_distance(hypothesis, truth, normalize=True, name="edit_distance") -> Tensor:
    """Returns the Levenshtein distance of each pair of sequences, divided by the length of the true one if `normalize` is set.

    Both arguments are SparseTensors whose last dimension runs along the sequences.
    """
    hypothesis, truth = _convert(hypothesis), _convert(truth)
    return gen_ops.edit_distance(*_parts(hypothesis), *_parts(truth), normalize=normalize, name=name)


_CROSS_HASH_KEY = 0xDECAFCAFFE


def _cross(inputs, hashed_output, num_buckets, hash_key, name):
    if not isinstance(inputs, list):
        raise TypeError("Inputs must be a list")
    sparse = [_convert(x) for x in inputs if isinstance(x, (SparseTensor, SparseTensorValue))]
    dense = [ops.convert_to_tensor(x) for x in inputs if not isinstance(x, (SparseTensor, SparseTensorValue))]
    values = [x if x.dtype == dtypes.string else math_ops.cast(x, dtypes.int64) for x in [s.values for s in sparse] + dense]
    internal = dtypes.string if all(x.dtype == dtypes.string for x in values) else dtypes.int64
    return SparseTensor(*gen_ops.sparse_cross(
        [s.indices for s in sparse], values[:len(sparse)], [s.dense_shape for s in sparse], values[len(sparse):],
        hashed_output=hashed_output, num_buckets=num_buckets, hash_key=hash_key or _CROSS_HASH_KEY,
        out_type=dtypes.int64 if hashed_output else dtypes.string, internal_type=internal, name=name))


def sparse_cross(inputs: Any, name: Optional[str] = None, separator: Any = None) -> Any:
    """Every combination of one value of each input in a row, joined by "_X_" or `separator`."""
    if separator is None:
        return _cross(inputs, False, 0, None, name)
    sparse = [_convert(x) for x in inputs if isinstance(x, (SparseTensor, SparseTensorValue))]
    dense = [ops.convert_to_tensor(x) for x in inputs if not isinstance(x, (SparseTensor, SparseTensorValue))]
    values = [x if x.dtype == dtypes.string else math_ops.cast(x, dtypes.int64) for x in [s.values for s in sparse] + dense]
    return SparseTensor(*gen_ops.sparse_cross_v2([s.indices for s in sparse], values[:len(sparse)], [s.dense_shape for s in sparse],
                                                 values[len(sparse):], separator, name=name))


def sparse_cross_hashed(inputs: Any, num_buckets: Any = 0, hash_key: Any = None, name: Optional[str] = None) -> Any:
    """The same as hashes, below `num_buckets` if that is not 0."""
    return _cross(inputs, True, num_buckets, hash_key, name)


def sparse_bincount(values: Any, weights: Any = None, axis: Any = 0, minlength: Any = None, maxlength: Any = None,
                    binary_output: Any = False, name: Optional[str] = None) -> SparseTensor:
    """How often each number is there, of all or (axis=-1) of each row: a SparseTensor."""
    with ops.name_scope(name, "count"):
        is_sparse = isinstance(values, SparseTensor)
        numbers = values.values if is_sparse else ops.convert_to_tensor(values)
        given = weights.values if isinstance(weights, SparseTensor) else weights
        if axis not in (0, -1):
            raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported.")
        if axis == 0:
            numbers = gen_ops.reshape(numbers, [-1])
            given = None if given is None else gen_ops.reshape(given, [-1])
        given = ops.convert_to_tensor([] if given is None else given, dtype=None if given is not None else dtypes.int32)
        attrs = dict(minlength=-1 if minlength is None else minlength, maxlength=-1 if maxlength is None else maxlength,
                     binary_output=binary_output)
        if is_sparse and axis == -1:
            parts: tuple[Tensor, ...] = gen_ops.sparse_count_sparse_output(values.indices, numbers, values.dense_shape, given, **attrs)
        else:
            parts = gen_ops.dense_count_sparse_output(numbers, given, **attrs)
        return SparseTensor(*parts)
