# SPDX-License-Identifier: Apache-2.0
"""Columns of numbers: numeric, bucketized, indicator, embedding."""
from __future__ import annotations

import collections
import math
import numbers
from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.columns import sequence_base
from millstream.columns.base import (CategoricalColumn, DenseColumn, IdWeightPair, SequenceDenseColumn, TensorSequenceLengthPair,
                                     check_key, sequence_length)
from millstream.framework import dtypes, ops
from millstream.framework.sparse_tensor import SparseTensor
from millstream.framework.tensor_shape import TensorShape
from millstream.ops.array import array_ops, index_ops
from millstream.ops.io import parsing_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.nn import embedding_ops
from millstream.ops.sparse import sparse_ops
from millstream.ops.variables import init_ops
from millstream.ops.variables import variable_scope as vs

if TYPE_CHECKING:
    from typing import Any


class NumericColumn(DenseColumn, collections.namedtuple("NumericColumn", "key shape default_value dtype normalizer_fn")):
    __slots__ = ()
    name = property(lambda self: self.key)
    variable_shape = property(lambda self: TensorShape(self.shape))
    parse_example_spec = property(
        lambda self: {self.key: parsing_ops.FixedLenFeature(self.shape, self.dtype, self.default_value)})

    def transform(self, inputs):
        tensor = inputs.get(self.key)
        if isinstance(tensor, SparseTensor):
            raise ValueError("The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not supported. key: "
                             f"{self.key}")
        if self.normalizer_fn is not None:
            tensor = self.normalizer_fn(tensor)
        return math_ops.cast(tensor, dtypes.float32)

    def get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        return inputs.get(self)


class BucketizedColumn(DenseColumn, CategoricalColumn, collections.namedtuple("BucketizedColumn", "source_column boundaries")):
    """Which of the ranges between boundaries a number is in; each number of the source has ids of its own."""

    __slots__ = ()
    name = property(lambda self: f"{self.source_column.name}_bucketized")
    parse_example_spec = property(lambda self: self.source_column.parse_example_spec)
    variable_shape = property(lambda self: TensorShape([*self.source_column.shape, len(self.boundaries) + 1]))
    num_buckets = property(lambda self: (len(self.boundaries) + 1) * self.source_column.shape[0])

    def transform(self, inputs):
        return gen_ops.bucketize(inputs.get(self.source_column), boundaries=list(self.boundaries))

    def get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        return index_ops.one_hot(math_ops.cast(inputs.get(self), dtypes.int64), len(self.boundaries) + 1, on_value=1.0, off_value=0.0)

    def get_sparse_tensors(self, inputs, weight_collections=None, trainable=None):
        buckets, width = inputs.get(self), self.source_column.shape[0]
        rows = array_ops.shape(buckets)[0]
        row = array_ops.reshape(gen_ops.tile(array_ops.expand_dims(math_ops.range(0, rows), 1), [1, width]), [-1])
        column = gen_ops.tile(math_ops.range(0, width), [rows])
        ids = array_ops.reshape(buckets, [-1]) + (len(self.boundaries) + 1) * column
        indices = math_ops.cast(array_ops.transpose(array_ops.stack([row, column])), dtypes.int64)
        shape = math_ops.cast(array_ops.stack([rows, width]), dtypes.int64)
        return IdWeightPair(SparseTensor(indices, ids, shape), None)


class IndicatorColumn(DenseColumn, SequenceDenseColumn, collections.namedtuple("IndicatorColumn", "categorical_column")):
    """How often (or with what weight) each id is in a row."""

    __slots__ = ()
    name = property(lambda self: f"{self.categorical_column.name}_indicator")
    parse_example_spec = property(lambda self: self.categorical_column.parse_example_spec)
    variable_shape = property(lambda self: TensorShape([1, self.categorical_column.num_buckets]))

    def transform(self, inputs):
        ids, weights = self.categorical_column.get_sparse_tensors(inputs)
        size = self.categorical_column.num_buckets
        if weights is not None:
            merged = sparse_ops.sparse_merge(ids, weights, int(size))
            merged = sparse_ops.sparse_slice(merged, [0, 0], merged.dense_shape)  # without ids of -1
            return gen_ops.scatter_nd(merged.indices, merged.values, merged.dense_shape)
        dense = sparse_ops.sparse_tensor_to_dense(ids, default_value=-1)
        return reduce_ops.reduce_sum(index_ops.one_hot(dense, size, on_value=1.0, off_value=0.0), axis=[-2])

    def get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        sequence_base.refuse(self, "indicator_column")
        return inputs.get(self)

    def get_sequence_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        sequence_base.require(self, "indicator_column")
        ids, _ = self.categorical_column.get_sparse_tensors(inputs)
        return TensorSequenceLengthPair(inputs.get(self), sequence_length(ids))


class _Embedding(DenseColumn, SequenceDenseColumn):
    """What EmbeddingColumn and SharedEmbeddingColumn have in common."""

    __slots__ = ()
    parse_example_spec = property(lambda self: self.categorical_column.parse_example_spec)
    variable_shape = property(lambda self: TensorShape([self.dimension]))

    def transform(self, inputs):
        return inputs.get(self.categorical_column)

    def _lookup(self, inputs, weight_collections, trainable):
        ids, weights = self.categorical_column.get_sparse_tensors(inputs, weight_collections, trainable)
        table = self._table([self.categorical_column.num_buckets, self.dimension], weight_collections, trainable)
        if self.ckpt_to_load_from is not None:
            from millstream.training import checkpoint_utils
            parts = table._get_variable_list() if hasattr(table, "_get_variable_list") else table
            checkpoint_utils.init_from_checkpoint(self.ckpt_to_load_from, {self.tensor_name_in_ckpt: parts})
        return embedding_ops.safe_embedding_lookup_sparse(table, ids, weights, combiner=self.combiner, name=f"{self.name}_weights",
                                                          max_norm=self.max_norm)

    def _new_table(self, shape, weight_collections, trainable):
        return vs.get_variable("embedding_weights", shape=shape, dtype=dtypes.float32, initializer=self.initializer,
                               trainable=self.trainable and trainable, collections=weight_collections)

    def get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        sequence_base.refuse(self, "embedding_column")
        return self._lookup(inputs, weight_collections, trainable)

    def get_sequence_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        sequence_base.require(self, "embedding_column")
        dense = self._lookup(inputs, weight_collections, trainable)
        ids, _ = self.categorical_column.get_sparse_tensors(inputs)
        return TensorSequenceLengthPair(dense, sequence_length(ids))


class EmbeddingColumn(_Embedding, collections.namedtuple(
        "EmbeddingColumn", "categorical_column dimension combiner initializer ckpt_to_load_from tensor_name_in_ckpt max_norm trainable "
        "use_safe_embedding_lookup")):
    __slots__ = ()
    name = property(lambda self: f"{self.categorical_column.name}_embedding")

    def _table(self, shape, weight_collections, trainable):
        return self._new_table(shape, weight_collections, trainable)


class SharedEmbeddingColumn(_Embedding, collections.namedtuple(
        "SharedEmbeddingColumn", "categorical_column dimension combiner initializer shared_embedding_collection_name ckpt_to_load_from "
        "tensor_name_in_ckpt max_norm trainable use_safe_embedding_lookup")):
    """Its table is in a collection of the graph, for all columns that share it."""

    __slots__ = ()
    name = property(lambda self: f"{self.categorical_column.name}_shared_embedding")
    variable_scope_name = property(lambda self: self.shared_embedding_collection_name)

    def _lookup(self, inputs, weight_collections, trainable):
        with ops.name_scope(None, default_name=self.name):
            return super()._lookup(inputs, weight_collections, trainable)

    def _table(self, shape, weight_collections, trainable):
        shared = ops.get_collection(self.shared_embedding_collection_name)
        if len(shared) > 1:
            raise ValueError(f"Collection {shared} can only contain one variable. Choose another name for this collection, or add no "
                             "variables to it.")
        if not shared:
            table = self._new_table(shape, weight_collections, trainable)
            ops.add_to_collection(self.shared_embedding_collection_name, table)
            return table
        if shared[0].get_shape().as_list() != shape:
            raise ValueError(f"Shared embedding collection {self.shared_embedding_collection_name} contains variable {shared[0].name} of "
                             f"unexpected shape {shared[0].get_shape()}. Expected shape is {tuple(shape)}. Choose another name for this "
                             "collection, or add no variables to it.")
        return shared[0]


def _check_shape(shape, key):
    if isinstance(shape, numbers.Integral) and not isinstance(shape, bool):
        shape = [shape]
    shape = tuple(shape)
    for size in shape:
        if not isinstance(size, numbers.Integral):
            raise TypeError(f"shape dimensions must be integer. shape: {shape}, key: {key}")
        if size < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}, key: {key}")
    return tuple(int(s) for s in shape)


def _check_default(shape, default_value, dtype, key):
    """None, or a value for each cell of `shape`, as nested tuples."""
    if default_value is None:
        return None
    values = np.asarray(default_value)
    whole = np.issubdtype(values.dtype, np.integer)
    if not (whole or dtype.is_floating and np.issubdtype(values.dtype, np.floating)):
        raise TypeError(f"default_value must be compatible with dtype. default_value: {default_value}, dtype: {dtype}, key: {key}")
    if values.ndim and values.shape != shape:
        raise ValueError(f"The shape of default_value must be equal to given shape. default_value: {default_value}, shape: {shape}, key: "
                         f"{key}")

    def as_tuples(value):
        return tuple(as_tuples(v) for v in value) if isinstance(value, list) else value
    return as_tuples(np.broadcast_to(values, shape).astype(float if dtype.is_floating else int).tolist())


def numeric_column(key: Any, shape: Any = (1,), default_value: Any = None, dtype: Any = dtypes.float32,
                   normalizer_fn: Any = None) -> Any:
    shape = _check_shape(shape, key)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    default_value = _check_default(shape, default_value, dtype, key)
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    check_key(key)
    return NumericColumn(key, shape, default_value, dtype, normalizer_fn)


def bucketized_column(source_column: Any, boundaries: Any) -> Any:
    if not isinstance(source_column, NumericColumn):
        raise ValueError(f"source_column must be a column generated with numeric_column(). Given: {source_column}")
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not boundaries:
        raise ValueError("boundaries must not be empty.")
    if not isinstance(boundaries, (list, tuple)) or any(a >= b for a, b in zip(boundaries, boundaries[1:])):
        raise ValueError("boundaries must be a sorted list.")
    return BucketizedColumn(source_column, tuple(boundaries))


def indicator_column(categorical_column: Any) -> Any:
    if not isinstance(categorical_column, CategoricalColumn):
        raise ValueError(f"Unsupported input type. Input must be a CategoricalColumn. Given: {categorical_column}")
    return IndicatorColumn(categorical_column)


def _embedding_initializer(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt, of=""):
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
        raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
    if initializer is not None and not callable(initializer):
        raise ValueError("initializer must be callable if specified." + of)
    return initializer or init_ops.TruncatedNormal(mean=0.0, stddev=1 / math.sqrt(dimension))


def embedding_column(categorical_column: Any, dimension: Any, combiner: str = "mean", initializer: Any = None,
                     ckpt_to_load_from: Any = None, tensor_name_in_ckpt: Any = None, max_norm: Any = None,
                     trainable: Any = True, use_safe_embedding_lookup: bool = True) -> Any:
    initializer = _embedding_initializer(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt,
                                         f" Embedding of column_name: {getattr(categorical_column, 'name', categorical_column)}")
    return EmbeddingColumn(categorical_column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm,
                           trainable, use_safe_embedding_lookup)


def shared_embedding_columns(categorical_columns, dimension, combiner="mean", initializer=None, shared_embedding_collection_name=None,
                             ckpt_to_load_from=None, tensor_name_in_ckpt=None, max_norm=None, trainable=True,
                             use_safe_embedding_lookup=True):
    """Embeddings of several columns in one table; they must be of one kind and size."""
    initializer = _embedding_initializer(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
    ordered = sorted(categorical_columns, key=lambda c: c.name)
    first = ordered[0]
    if not isinstance(first, CategoricalColumn):
        raise ValueError(f"All categorical_columns must be subclasses of _CategoricalColumn. Given: {first}, of type: {type(first)}")
    kind = sequence_base.innermost(first)
    for column in ordered[1:]:
        inner = sequence_base.innermost(column)
        if not isinstance(inner, type(kind)):
            raise ValueError("To use shared_embedding_column, all categorical_columns must have the same type, or be "
                             "weighted_categorical_column or sequence column of the same type. Given column: "
                             f"{kind} of type: {type(kind)} does not match given column: {inner} of type: {type(inner)}")
        if first.num_buckets != column.num_buckets:
            raise ValueError("To use shared_embedding_column, all categorical_columns must have the same number of buckets. Given "
                             f"column: {kind} with buckets: {first.num_buckets} does not match column: {inner} with buckets: "
                             f"{column.num_buckets}")
    name = shared_embedding_collection_name or "_".join(c.name for c in ordered) + "_shared_embedding"
    return [SharedEmbeddingColumn(c, dimension, combiner, initializer, name, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable,
                                  use_safe_embedding_lookup) for c in categorical_columns]
