# SPDX-License-Identifier: Apache-2.0
"""Lookups in tables that may be split over several variables."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops, sparse_tensor
from millstream.ops.array import array_ops, index_ops
from millstream.ops.math import clip_ops, math_ops, reduce_ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor


def _clip(params, ids, max_norm):
    if max_norm is None:
        return params
    ids_rank, params_rank = ids.shape.rank, params.shape.rank
    axes = list(range(ids_rank, params_rank)) if ids_rank is not None and params_rank is not None else math_ops.range(
        gen_ops.rank(ids), gen_ops.rank(params))
    return clip_ops.clip_by_norm(params, max_norm, axes=axes)


def _tables(params):
    if isinstance(params, (list, tuple)):
        params = list(params)
    elif hasattr(params, "_get_variable_list"):
        params = list(params._get_variable_list())
    else:
        params = [params]
    if not params:
        raise ValueError("Need at least one param")
    return params


def embedding_lookup(params: Any, ids: Any, partition_strategy: str = "mod", name: Optional[str] = None,
                     validate_indices: bool = True, max_norm: Any = None) -> Tensor:
    """Returns the rows of `params` that `ids` name.

    With several tables, row i is in table i % n ("mod") or in equal runs ("div").
    """
    params = _tables(params)
    with ops.name_scope(name, "embedding_lookup", [ids]) as name:
        params = [p if ops.is_dense_tensor_like(p) else ops.convert_to_tensor(p, name=f"params_{i}")
                  for i, p in enumerate(params)]
        ids = ops.convert_to_tensor(ids, name="ids")
        if len(params) == 1:
            with ops.colocate_with(params[0].op):
                result = _clip(index_ops.gather(params[0], ids, name=name), ids, max_norm)
            return array_ops.identity(result)
        return _partitioned_lookup(params, ids, partition_strategy, max_norm, name)


def _assignments(params, flat_ids, partition_strategy):
    count = len(params)
    if partition_strategy == "mod":
        return flat_ids % count, flat_ids // count
    if partition_strategy != "div":
        raise ValueError(f"Unrecognized partition strategy: {partition_strategy}. Must be one of either `mod` or `div`.")
    sizes = [p.get_shape().as_list()[0] if p.get_shape().rank is not None else None for p in params]
    if None in sizes:
        total = gen_ops.add_n([array_ops.shape(ops.convert_to_tensor(p))[0] for p in params])
        total = math_ops.cast(total, flat_ids.dtype.base_dtype)
    else:
        total = ops.convert_to_tensor(sum(sizes), dtype=flat_ids.dtype.base_dtype)
    each, extras = total // count, total % count
    assignments = gen_ops.maximum(flat_ids // (each + 1), (flat_ids - extras) // each)
    new_ids = index_ops.where(assignments < extras, flat_ids % (each + 1), (flat_ids - extras) % each)
    return assignments, new_ids


def _partitioned_lookup(params, ids, partition_strategy, max_norm, name):
    count = len(params)
    flat_ids = array_ops.reshape(ids, [-1])
    original = math_ops.range(array_ops.size(flat_ids))
    assignments, new_ids = _assignments(params, flat_ids, partition_strategy)
    assignments = math_ops.cast(assignments, dtypes.int32)
    gather_ids = gen_ops.dynamic_partition(new_ids, assignments, num_partitions=count)
    positions = gen_ops.dynamic_partition(original, assignments, num_partitions=count)
    rows = []
    for p in range(count):
        with ops.colocate_with(params[p].op):
            rows.append(_clip(index_ops.gather(params[p], gather_ids[p]), gather_ids[p], max_norm))
    result = gen_ops.parallel_dynamic_stitch(positions, rows, name=name)
    element = ops.convert_to_tensor(params[0]).shape[1:] if params[0].get_shape().rank is not None else None
    if element is not None and element.is_fully_defined():
        shape = array_ops.concat([array_ops.shape(ids), element.as_list()], 0) if element.rank else array_ops.shape(ids)
    else:
        with ops.colocate_with(params[0].op):
            tail = array_ops.shape(ops.convert_to_tensor(params[0]))[1:]
        shape = array_ops.concat([array_ops.shape(ids), tail], 0)
    result = array_ops.reshape(result, shape)
    if element is not None:
        result.set_shape(ids.shape.concatenate(element))
    return result


def embedding_lookup_sparse(params: Any, sp_ids: Any, sp_weights: Any, partition_strategy: str = "mod",
                            name: Optional[str] = None, combiner: Any = None, max_norm: Any = None) -> Tensor:
    """For each row of `sp_ids`: the sum, mean or sqrtn of the rows that it names, by their weights."""
    combiner = "mean" if combiner is None else combiner
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn', or 'sum', got {combiner}")
    params = _tables(params)
    if not isinstance(sp_ids, sparse_tensor.SparseTensor):
        raise TypeError(f"sp_ids must be SparseTensor, got {type(sp_ids)}")
    if sp_weights is not None:
        if not isinstance(sp_weights, sparse_tensor.SparseTensor):
            raise TypeError(f"sp_weights must be either None or SparseTensor, got {type(sp_weights)}")
        sp_ids.values.shape.assert_is_compatible_with(sp_weights.values.shape)
    with ops.name_scope(name, "embedding_lookup_sparse", [sp_ids]) as name:
        segment_ids = math_ops.cast(sp_ids.indices[:, 0], dtypes.int32)
        ids, idx = array_ops.unique(sp_ids.values)
        embeddings = embedding_lookup(params, ids, partition_strategy=partition_strategy, max_norm=max_norm)
        if sp_weights is None:
            combine = {"sum": reduce_ops.sparse_segment_sum, "mean": reduce_ops.sparse_segment_mean,
                       "sqrtn": reduce_ops.sparse_segment_sqrt_n}[combiner]
            return combine(embeddings, idx, segment_ids, name=name)
        weights = math_ops.cast(sp_weights.values, embeddings.dtype.base_dtype)
        embeddings = index_ops.gather(embeddings, idx)
        ones = array_ops.fill([gen_ops.rank(embeddings) - 1], 1)
        column = array_ops.reshape(weights, array_ops.concat([array_ops.shape(weights), ones], 0))
        column.set_shape(weights.shape.concatenate([1] * (embeddings.shape.rank - 1)) if embeddings.shape.rank else None)
        total = gen_ops.segment_sum(embeddings * column, segment_ids)
        if combiner == "sum":
            return array_ops.identity(total, name=name)
        if combiner == "mean":
            return math_ops.div_no_nan(total, gen_ops.segment_sum(column, segment_ids), name=name)
        return math_ops.div_no_nan(total, gen_ops.sqrt(gen_ops.segment_sum(gen_ops.square(column), segment_ids)), name=name)


def safe_embedding_lookup_sparse(embedding_weights: Any, sparse_ids: Any, sparse_weights: Any = None, combiner: str = "mean",
                                 default_id: Any = None, name: Optional[str] = None, partition_strategy: str = "div",
                                 max_norm: Any = None) -> Tensor:
    """As embedding_lookup_sparse, with a default (or zeros) for rows that name nothing, and without ids below 0."""
    from millstream.ops.sparse import sparse_ops
    with ops.name_scope(name, "embedding_lookup", [sparse_ids]) as scope:
        sparse_ids, sparse_weights, outer = _two_axes(sparse_ids, sparse_weights)
        sparse_ids, sparse_weights = _without_invalid(sparse_ids, sparse_weights, combiner)
        sparse_ids, empty = sparse_ops.sparse_fill_empty_rows(sparse_ids, default_id or 0)
        if sparse_weights is not None:
            sparse_weights, _ = sparse_ops.sparse_fill_empty_rows(sparse_weights, 1.0)
        result = embedding_lookup_sparse(embedding_weights, sparse_ids, sparse_weights, combiner=combiner,
                                         partition_strategy=partition_strategy, max_norm=max_norm,
                                         name=None if default_id is None else scope)
        if default_id is None:
            mask = gen_ops.tile(array_ops.reshape(empty, [-1, 1]), array_ops.stack([1, array_ops.shape(result)[1]]))
            result = index_ops.where(mask, array_ops.zeros_like(result), result, name=scope)
        return _with_outer_axes(result, outer)


def _two_axes(sparse_ids, sparse_weights):
    """All axes but the last as one; and the sizes of those, to undo it."""
    from millstream.ops.sparse import sparse_ops
    shape = sparse_ids.dense_shape
    rank = shape.shape.as_list()[0] if shape.shape.rank is not None else None
    outer = shape[:-1]
    outer.set_shape([None if rank is None else rank - 1])
    if rank != 2:
        sparse_ids = sparse_ops.sparse_reshape(sparse_ids, array_ops.stack([reduce_ops.reduce_prod(outer), shape[-1]]))
    if sparse_weights is not None:
        sparse_weights = sparse_tensor.SparseTensor(sparse_ids.indices, sparse_weights.values, sparse_ids.dense_shape)
    return sparse_ids, sparse_weights, outer


def _with_outer_axes(result, outer):
    if outer.shape.as_list() == [1]:
        return result
    sizes = array_ops.concat([math_ops.cast(outer, dtypes.int32), array_ops.shape(result)[1:]], 0)
    final = array_ops.reshape(result, sizes)
    rank = outer.shape.as_list()[0]
    if rank is not None:
        final.set_shape([None] * rank + result.shape.as_list()[1:])
    return final


def _without_invalid(sparse_ids, sparse_weights, combiner):
    """Without ids below 0 and, where weights are divided by their sum, weights that are not above 0."""
    from millstream.ops.sparse import sparse_ops
    keep = sparse_ids.values >= 0
    if sparse_weights is not None and combiner != "sum":
        keep = gen_ops.logical_and(keep, sparse_weights.values > 0)
    kept = sparse_ops.sparse_retain(sparse_ids, keep)
    return kept, None if sparse_weights is None else sparse_ops.sparse_retain(sparse_weights, keep)
