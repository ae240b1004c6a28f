# SPDX-License-Identifier: Apache-2.0
"""Reductions over axes: tf.reduce_sum, tf.norm, tf.segment_*, ..."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import constant_op, dtypes, ops, sparse_tensor
from millstream.ops.arguments import renamed

if TYPE_CHECKING:
    from typing import Callable

    from millstream.framework.tensor import Tensor
    from typing import Any, Optional
    from millstream.framework.type_aliases import DTypeLike, TensorLike


def reduction_dims(x, axis):
    """The axes to reduce over: all of them if `axis` is None."""
    if axis is not None:
        return axis
    if isinstance(x, sparse_tensor.SparseTensor):
        rank = x.dense_shape.shape[0].value
    else:
        rank = x.shape.rank if ops.is_dense_tensor_like(x) else None
    if rank is not None:
        return constant_op.constant(np.arange(rank, dtype=np.int32))
    from millstream.ops.array import array_ops
    from millstream.ops.math import math_ops
    return math_ops.range(0, array_ops.rank(x))


def _reduction(gen_name):
    def reduce(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
        """Reduces the dimensions of `axis`, all if None; with `keepdims` they stay with size 1."""
        axis = renamed("axis", axis, "reduction_indices", reduction_indices)
        keepdims = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
        return getattr(gen_ops, gen_name)(input_tensor, reduction_dims(input_tensor, axis), keep_dims=keepdims, name=name)
    reduce.__name__ = reduce.__qualname__ = "reduce_" + gen_name
    return reduce


reduce_sum: Callable[..., Tensor] = _reduction("sum")
reduce_mean: Callable[..., Tensor] = _reduction("mean")
reduce_prod: Callable[..., Tensor] = _reduction("prod")
reduce_max: Callable[..., Tensor] = _reduction("max")
reduce_min: Callable[..., Tensor] = _reduction("min")
reduce_all: Callable[..., Tensor] = _reduction("all")
reduce_any: Callable[..., Tensor] = _reduction("any")
reduce_euclidean_norm: Callable[..., Tensor] = _reduction("euclidean_norm")


def reduce_variance(input_tensor: TensorLike, axis: Any = None, keepdims: Any = False, name: Optional[str] = None) -> Any:
    """The variance over `axis`."""
    with ops.name_scope(name or "reduce_variance"):
        input_tensor = ops.convert_to_tensor(input_tensor)
        mean = reduce_mean(input_tensor, axis=axis, keepdims=True)
        if mean.dtype.is_integer:
            raise TypeError(f"Input must be either real or complex. Received integer type {mean.dtype}.")
        return reduce_mean(gen_ops.square(input_tensor - mean), axis=axis, keepdims=keepdims)


def reduce_std(input_tensor: TensorLike, axis: Any = None, keepdims: Any = False, name: Optional[str] = None) -> Any:
    """The standard deviation over `axis`."""
    with ops.name_scope(name or "reduce_std"):
        input_tensor = ops.convert_to_tensor(input_tensor)
        return gen_ops.sqrt(reduce_variance(input_tensor, axis=axis, keepdims=keepdims))


def reduce_logsumexp(input_tensor: TensorLike, axis: Any = None, keepdims: Optional[bool] = None, name: Optional[str] = None,
                     reduction_indices: Any = None, keep_dims: Optional[bool] = None) -> Any:
    """log(sum(exp(x))) over `axis`, computed so that it does not overflow."""
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    keepdims = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with ops.name_scope(name, "ReduceLogSumExp", [input_tensor]) as name:
        raw_max = reduce_max(input_tensor, axis=axis, keepdims=True)
        finite_max = gen_ops.stop_gradient(gen_ops.select_v2(gen_ops.is_finite(raw_max), raw_max, 0))
        result = gen_ops.log(reduce_sum(gen_ops.exp(gen_ops.sub(input_tensor, finite_max)), axis=axis, keepdims=keepdims))
        if not keepdims:
            finite_max = gen_ops.reshape(finite_max, gen_ops.shape(result))
        return gen_ops.add_v2(result, finite_max, name=name)


def count_nonzero(input_tensor: Any = None, axis: Any = None, keepdims: Optional[bool] = None, dtype: DTypeLike = dtypes.int64,
                  name: Optional[str] = None, reduction_indices: Any = None, keep_dims: Optional[bool] = None,
                  input: Any = None) -> Any:  # pylint: disable=redefined-builtin
    """The number of elements that are not zero."""
    input_tensor = renamed("input", input, "input_tensor", input_tensor)
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    keepdims = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with ops.name_scope(name, "count_nonzero", [input_tensor]):
        from millstream.ops.math.math_ops import cast
        input_tensor = ops.convert_to_tensor(input_tensor, name="input")
        from millstream.ops.array import array_ops
        zero = array_ops.zeros([], dtype=input_tensor.dtype.base_dtype)
        counts = reduce_sum(cast(gen_ops.not_equal(input_tensor, zero), dtypes.int64), axis=axis, keepdims=keepdims)
        return cast(counts, dtype)


def trace(x: TensorLike, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "Trace", [x]) as name:
        x = ops.convert_to_tensor(x, name="x")
        return reduce_sum(gen_ops.matrix_diag_part(x), [-1], name=name)


def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None, keep_dims=None):  # pylint: disable=redefined-builtin
    """Norm of vectors (axis an int or None) or matrices (axis a pair)."""
    keepdims = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    is_matrix = isinstance(axis, (tuple, list)) and len(axis) == 2
    if is_matrix:
        axis = tuple(axis)
        if not all(isinstance(a, (int, np.integer)) for a in axis) or axis[0] == axis[1]:
            raise ValueError("'axis' must be None, an integer, or a tuple of 2 unique integers")
        if ord not in ("euclidean", "fro", 1, 2, np.inf):
            raise ValueError(f"'ord' must be a supported matrix norm in ['euclidean', 'fro', 1, 2, inf], got {ord}")
    else:
        if not (axis is None or isinstance(axis, (int, np.integer))):
            raise ValueError("'axis' must be None, an integer, or a tuple of 2 unique integers")
        if ord not in ("euclidean", 1, 2, np.inf) and (not np.isreal(ord) or ord <= 0):
            raise ValueError(f"'ord' must be a supported vector norm or positive, got {ord}")
    with ops.name_scope(name, "norm", [tensor]):
        from millstream.ops.math.math_ops import abs as abs_, cast
        tensor = ops.convert_to_tensor(tensor)
        if ord in ("fro", "euclidean", 2):
            if is_matrix and ord == 2:
                rank = tensor.shape.rank
                axes = [a % rank for a in axis]
                perm = [i for i in range(rank) if i not in axes] + axes
                moved = gen_ops.transpose(tensor, perm)
                largest = reduce_max(svd_values(moved), axis=-1)
                if not keepdims:
                    return largest
                for a in sorted(axes):
                    largest = gen_ops.expand_dims(largest, a)
                return largest
            squares = reduce_sum(tensor * gen_ops.conj(tensor) if tensor.dtype.is_complex else tensor * tensor, axis,
                                 keepdims=True)
            result = cast(gen_ops.sqrt(squares), tensor.dtype.base_dtype)
        else:
            result = abs_(tensor)
            if ord == 1:
                result = reduce_sum(result, axis if not is_matrix else axis[0], keepdims=True)
                result = reduce_max(result, axis[1], keepdims=True) if is_matrix else result
            elif ord == np.inf:
                result = reduce_sum(result, axis[1], keepdims=True) if is_matrix else result
                result = reduce_max(result, axis if not is_matrix else axis[0], keepdims=True)
            else:
                power = np.array(ord, result.dtype.as_numpy_dtype)
                result = gen_ops.pow(reduce_sum(gen_ops.pow(result, power), axis, keepdims=True), 1.0 / power)
        if not keepdims:
            dims = [] if axis is None else list(axis) if is_matrix else [axis]
            result = gen_ops.squeeze(result, squeeze_dims=dims)
        return result


def svd_values(x):
    return gen_ops.svd(x, compute_uv=False)[0]


def squared_norm(tensors):
    return gen_ops.add_n([gen_ops.l2_loss(t) for t in tensors]) * 2.0


def bincount(arr: Any, weights: Any = None, minlength: Any = None, maxlength: Any = None,
             dtype: DTypeLike = dtypes.int32) -> Any:
    with ops.name_scope("bincount"):
        from millstream.ops.math.math_ops import cast
        arr = ops.convert_to_tensor(arr, name="arr", dtype=dtypes.int32)
        not_empty = reduce_prod(gen_ops.shape(arr)) > 0
        size = cast(not_empty, dtypes.int32) * (reduce_max(arr) + 1)
        if minlength is not None:
            size = gen_ops.maximum(ops.convert_to_tensor(minlength, name="minlength", dtype=dtypes.int32), size)
        if maxlength is not None:
            size = gen_ops.minimum(ops.convert_to_tensor(maxlength, name="maxlength", dtype=dtypes.int32), size)
        if weights is not None:
            return gen_ops.unsorted_segment_sum(ops.convert_to_tensor(weights, name="weights"), arr, size)
        return gen_ops.bincount(arr, size, constant_op.constant([], dtype))


def _segment_count(data, segment_ids, num_segments):
    ones = gen_ops.fill(gen_ops.shape(segment_ids), constant_op.constant(1, data.dtype.base_dtype))
    count = gen_ops.unsorted_segment_sum(ones, segment_ids, num_segments)
    rank = gen_ops.rank(data) - gen_ops.rank(segment_ids)
    from millstream.ops.array import array_ops
    shape = array_ops.concat([gen_ops.shape(count), array_ops.ones(array_ops.reshape(rank, [1]), dtypes.int32)], 0)
    return gen_ops.maximum(gen_ops.reshape(count, shape), 1)


def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "UnsortedSegmentMean"):
        data, segment_ids = ops.convert_to_tensor(data), ops.convert_to_tensor(segment_ids)
        return gen_ops.unsorted_segment_sum(data, segment_ids,
                                            num_segments) / _segment_count(data, segment_ids, num_segments)


def unsorted_segment_sqrt_n(data: Any, segment_ids: Any, num_segments: Any, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "UnsortedSegmentSqrtN"):
        data, segment_ids = ops.convert_to_tensor(data), ops.convert_to_tensor(segment_ids)
        total = gen_ops.unsorted_segment_sum(data, segment_ids, num_segments)
        return total / gen_ops.sqrt(_segment_count(data, segment_ids, num_segments))


def _sparse_segment(kind):
    def apply(data, indices, segment_ids, name=None, num_segments=None):
        gen = f"sparse_segment_{kind}"
        if num_segments is not None:
            return getattr(gen_ops, gen + "_with_num_segments")(data, indices, segment_ids, num_segments, name=name)
        if hasattr(gen_ops, gen):
            return getattr(gen_ops, gen)(data, indices, segment_ids, name=name)
        with ops.name_scope(name, "SparseSegment", [data, indices, segment_ids]):
            rows = gen_ops.gather_v2(data, indices, 0)
            if kind == "sum":
                return gen_ops.segment_sum(rows, segment_ids)
            if kind == "mean":
                return gen_ops.segment_mean(rows, segment_ids)
            ones = gen_ops.fill(gen_ops.shape(segment_ids), constant_op.constant(1, rows.dtype.base_dtype))
            count = gen_ops.maximum(gen_ops.segment_sum(ones, segment_ids), 1)
            from millstream.ops.array import array_ops
            tail = array_ops.ones([gen_ops.rank(rows) - 1], dtypes.int32)
            shape = array_ops.concat([gen_ops.shape(count), tail], 0)
            return gen_ops.segment_sum(rows, segment_ids) / gen_ops.sqrt(gen_ops.reshape(count, shape))
    apply.__name__ = f"sparse_segment_{kind}"
    return apply


sparse_segment_sum = _sparse_segment("sum")
sparse_segment_mean = _sparse_segment("mean")
sparse_segment_sqrt_n = _sparse_segment("sqrt_n")


def confusion_matrix(labels: TensorLike, predictions: TensorLike, num_classes: Any = None, dtype: DTypeLike = dtypes.int32,
                     name: Optional[str] = None, weights: Any = None) -> Tensor:
    """Counts how often each pair of label and prediction occurs: rows are labels, columns are predictions."""
    with ops.name_scope(name, "confusion_matrix", (predictions, labels, num_classes, weights)) as name:
        from millstream.ops.array import array_ops
        from millstream.ops.debugging import check_ops
        from millstream.ops.math import math_ops
        from millstream.ops.losses.confusion import remove_squeezable_dimensions
        labels, predictions = remove_squeezable_dimensions(ops.convert_to_tensor(labels, name="labels"),
                                                           ops.convert_to_tensor(predictions, name="predictions"))
        predictions, labels = math_ops.cast(predictions, dtypes.int64), math_ops.cast(labels, dtypes.int64)
        message = "`labels` contains negative values.  "
        with ops.control_dependencies([check_ops.assert_non_negative(labels, message=message)]):
            labels = gen_ops.identity(labels)
        with ops.control_dependencies([check_ops.assert_non_negative(predictions, message="`predictions` contains "
                                                                     "negative values.  ")]):
            predictions = gen_ops.identity(predictions)
        if num_classes is None:
            num_classes = gen_ops.maximum(reduce_max(predictions), reduce_max(labels)) + 1
        else:
            num_classes = math_ops.cast(num_classes, dtypes.int64)
            with ops.control_dependencies([check_ops.assert_less(labels, num_classes, message="`labels` out of bound")]):
                labels = gen_ops.identity(labels)
            with ops.control_dependencies([check_ops.assert_less(predictions, num_classes,
                                                                 message="`predictions` out of bound")]):
                predictions = gen_ops.identity(predictions)
        shape = array_ops.stack([num_classes, num_classes])
        indices = array_ops.stack([labels, predictions], axis=1)
        dtype = dtypes.as_dtype(dtype)
        if weights is None:
            values = array_ops.ones_like(predictions, dtype)
        else:
            values = math_ops.cast(weights, dtype)
            values.shape.assert_is_compatible_with(predictions.shape)
        return gen_ops.scatter_nd(indices, values, math_ops.cast(shape, dtypes.int64))


def histogram_fixed_width_bins(values: Any, value_range: Any, nbins: Any = 100, dtype: DTypeLike = dtypes.int32,
                               name: Optional[str] = None) -> Any:
    """The bin of each value; values outside of the range go into the bins at its ends."""
    with ops.name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        from millstream.ops.math import math_ops
        values = ops.convert_to_tensor(values, name="values")
        shape = gen_ops.shape(values)
        values = gen_ops.reshape(values, [-1])
        value_range = ops.convert_to_tensor(value_range, name="value_range", dtype=values.dtype.base_dtype)
        nbins = math_ops.cast(ops.convert_to_tensor(nbins, name="nbins"), values.dtype.base_dtype)
        scaled = (values - value_range[0]) / (value_range[1] - value_range[0])
        bins = gen_ops.floor(nbins * scaled)
        bins = gen_ops.maximum(gen_ops.minimum(bins, nbins - 1), gen_ops.zeros_like(nbins))
        return gen_ops.reshape(math_ops.cast(bins, dtype), shape)


def histogram_fixed_width(values: Any, value_range: Any, nbins: Any = 100, dtype: DTypeLike = dtypes.int32,
                          name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "histogram_fixed_width", [values, value_range, nbins]):
        if hasattr(gen_ops, "histogram_fixed_width"):
            return gen_ops.histogram_fixed_width(values, value_range, nbins, dtype=dtype)
        bins = gen_ops.reshape(histogram_fixed_width_bins(values, value_range, nbins), [-1])
        ones = gen_ops.fill(gen_ops.shape(bins), constant_op.constant(1, dtype))
        return gen_ops.unsorted_segment_sum(ones, bins, nbins)
