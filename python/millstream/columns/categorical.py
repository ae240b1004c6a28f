# SPDX-License-Identifier: Apache-2.0
"""Columns of ids: hashed, looked up in a vocabulary, as they are, crossed, weighted."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.columns.base import CategoricalColumn, FeatureColumn, IdWeightPair, check_key, check_string_or_int, to_sparse
from millstream.framework import dtypes, log
from millstream.framework.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from millstream.ops.array import array_ops, index_ops
from millstream.ops.io import parsing_ops
from millstream.ops.lookup import lookup_ops
from millstream.ops.math import math_ops
from millstream.ops.sparse import sparse_ops
from millstream.ops.strings import string_ops
from millstream.platform import gfile

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.type_aliases import DTypeLike


class _KeyColumn(CategoricalColumn):
    """A column over one feature, of its own name."""

    __slots__ = ()
    name = property(lambda self: self.key)
    parse_example_spec = property(lambda self: {self.key: parsing_ops.VarLenFeature(self.dtype)})

    def transform(self, inputs):
        return self._ids(to_sparse(inputs.get(self.key)))

    def _check(self, tensor):
        check_string_or_int(tensor.dtype, f"column_name: {self.key} input_tensor")
        if self.dtype.is_integer != tensor.dtype.is_integer:
            raise ValueError(f"Column dtype and SparseTensors dtype must be compatible. key: {self.key}, column dtype: {self.dtype}, "
                             f"tensor dtype: {tensor.dtype}")


def _with_values(sparse, values):
    return SparseTensor(sparse.indices, values, sparse.dense_shape)


class HashedCategoricalColumn(_KeyColumn, collections.namedtuple("HashedCategoricalColumn", "key hash_bucket_size dtype")):
    __slots__ = ()
    num_buckets = property(lambda self: self.hash_bucket_size)

    def _ids(self, sparse):
        self._check(sparse)
        texts = sparse.values if self.dtype == dtypes.string else string_ops.as_string(sparse.values)
        return _with_values(sparse, gen_ops.string_to_hash_bucket_fast(texts, self.hash_bucket_size, name="lookup"))


class _VocabularyColumn(_KeyColumn):
    __slots__ = ()

    def _ids(self, sparse):
        self._check(sparse)
        key_dtype = self.dtype
        if sparse.dtype.is_integer:
            key_dtype, sparse = dtypes.int64, _with_values(sparse, math_ops.cast(sparse.values, dtypes.int64))
        return self._table(key_dtype, f"{self.key}_lookup").lookup(sparse)


class VocabularyFileCategoricalColumn(_VocabularyColumn, collections.namedtuple(
        "VocabularyFileCategoricalColumn", "key vocabulary_file vocabulary_size num_oov_buckets dtype default_value")):
    __slots__ = ()
    num_buckets = property(lambda self: self.vocabulary_size + self.num_oov_buckets)

    def _table(self, key_dtype, name):
        return lookup_ops.index_table_from_file(self.vocabulary_file, self.num_oov_buckets, self.vocabulary_size, self.default_value,
                                                key_dtype=key_dtype, name=name)


class VocabularyListCategoricalColumn(_VocabularyColumn, collections.namedtuple(
        "VocabularyListCategoricalColumn", "key vocabulary_list dtype default_value num_oov_buckets")):
    __slots__ = ()
    num_buckets = property(lambda self: len(self.vocabulary_list) + self.num_oov_buckets)

    def _table(self, key_dtype, name):
        return lookup_ops.index_table_from_tensor(np.array(self.vocabulary_list), self.num_oov_buckets, self.default_value,
                                                  dtype=key_dtype, name=name)


class IdentityCategoricalColumn(_KeyColumn, collections.namedtuple(
        "IdentityCategoricalColumn", "key number_buckets default_value")):
    __slots__ = ()
    dtype = dtypes.int64
    num_buckets = property(lambda self: self.number_buckets)

    def _ids(self, sparse):
        if not sparse.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {sparse.dtype}")
        values = math_ops.cast(sparse.values, dtypes.int64, name="values")
        if self.default_value is not None:
            outside = gen_ops.logical_or(values < 0, values >= self.num_buckets, name="out_of_range")
            instead = array_ops.fill(array_ops.shape(values), np.int64(self.default_value), name="default_values")
            values = index_ops.where(outside, instead, values)
        return _with_values(sparse, values)


class WeightedCategoricalColumn(CategoricalColumn, collections.namedtuple(
        "WeightedCategoricalColumn", "categorical_column weight_feature_key dtype")):
    __slots__ = ()
    name = property(lambda self: f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}")
    num_buckets = property(lambda self: self.categorical_column.num_buckets)

    @property
    def parse_example_spec(self):
        spec = dict(self.categorical_column.parse_example_spec)
        if self.weight_feature_key in spec:
            raise ValueError(f"Parse config {spec[self.weight_feature_key]} already exists for {self.weight_feature_key}.")
        spec[self.weight_feature_key] = parsing_ops.VarLenFeature(self.dtype)
        return spec

    def transform(self, inputs):
        weights = convert_to_tensor_or_sparse_tensor(inputs.get(self.weight_feature_key))
        if self.dtype != weights.dtype.base_dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {weights.dtype}.")
        weights = to_sparse(weights, ignore_value=0)
        if not weights.dtype.is_floating:
            weights = _with_values(weights, math_ops.cast(weights.values, dtypes.float32))
        return IdWeightPair(inputs.get(self.categorical_column), weights)

    def get_sparse_tensors(self, inputs, weight_collections=None, trainable=None):
        return inputs.get(self)


class CrossedColumn(CategoricalColumn, collections.namedtuple("CrossedColumn", "keys hash_bucket_size hash_key")):
    __slots__ = ()
    num_buckets = property(lambda self: self.hash_bucket_size)

    def leaves(self):
        """Its keys, with those of crosses instead of the crosses."""
        return [leaf for key in self.keys for leaf in (key.leaves() if isinstance(key, CrossedColumn) else [key])]

    @property
    def name(self):
        return "_X_".join(sorted(k.name if isinstance(k, FeatureColumn) else k for k in self.leaves()))

    @property
    def parse_example_spec(self):
        spec = {}
        for key in self.keys:
            spec.update(key.parse_example_spec if isinstance(key, FeatureColumn) else {key: parsing_ops.VarLenFeature(dtypes.string)})
        return spec

    def transform(self, inputs):
        tensors = []
        for key in self.leaves():
            if isinstance(key, str):
                tensors.append(inputs.get(key))
                continue
            ids, weights = key.get_sparse_tensors(inputs)
            if weights is not None:
                raise ValueError("crossed_column does not support weight_tensor, but the given column populates weight_tensor. Given "
                                 f"column: {key.name}")
            tensors.append(ids)
        return sparse_ops.sparse_cross_hashed(tensors, num_buckets=self.hash_bucket_size, hash_key=self.hash_key)


def categorical_column_with_hash_bucket(key: Any, hash_bucket_size: Any, dtype: DTypeLike = dtypes.string) -> Any:
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}")
    check_key(key)
    check_string_or_int(dtype, f"column_name: {key}")
    return HashedCategoricalColumn(key, hash_bucket_size, dtype)


def _check_oov(num_oov_buckets, default_given, key):
    if num_oov_buckets:
        if default_given:
            raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
        if num_oov_buckets < 0:
            raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


def categorical_column_with_vocabulary_file(key: Any, vocabulary_file: Any, vocabulary_size: Any = None,
                                            num_oov_buckets: Any = 0, default_value: Any = None,
                                            dtype: DTypeLike = dtypes.string) -> Any:
    """The line on which a value is; without a size, the file is read at once to count its lines."""
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        if not gfile.Exists(vocabulary_file):
            raise ValueError(f"vocabulary_file in {key} does not exist.")
        with gfile.GFile(vocabulary_file, mode="rb") as f:
            vocabulary_size = sum(1 for _ in f)
        log.info("vocabulary_size = %d in %s is inferred from the number of elements in the vocabulary_file %s.", vocabulary_size, key,
                 vocabulary_file)
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    _check_oov(num_oov_buckets, default_value is not None, key)
    check_string_or_int(dtype, f"column_name: {key}")
    check_key(key)
    return VocabularyFileCategoricalColumn(key, vocabulary_file, vocabulary_size, num_oov_buckets or 0, dtype,
                                           -1 if default_value is None else default_value)


def categorical_column_with_vocabulary_list(key: Any, vocabulary_list: Any, dtype: Any = None, default_value: Any = -1,
                                            num_oov_buckets: Any = 0) -> Any:
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    _check_oov(num_oov_buckets, default_value != -1, key)
    found = dtypes.as_dtype(np.array(vocabulary_list).dtype)
    check_string_or_int(found, f"column_name: {key} vocabulary")
    dtype = found if dtype is None else dtype
    if dtype.is_integer != found.is_integer:
        raise ValueError(f"dtype {dtype} and vocabulary dtype {found} do not match, column_name: {key}")
    check_string_or_int(dtype, f"column_name: {key}")
    check_key(key)
    return VocabularyListCategoricalColumn(key, tuple(vocabulary_list), dtype, default_value, num_oov_buckets)


def categorical_column_with_identity(key: Any, num_buckets: Any, default_value: Any = None) -> Any:
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
    check_key(key)
    return IdentityCategoricalColumn(key, num_buckets, default_value)


def weighted_categorical_column(categorical_column: Any, weight_feature_key: Any, dtype: Any = dtypes.float32) -> Any:
    if dtype is None or not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, dtype)


def crossed_column(keys: Any, hash_bucket_size: Any, hash_key: Any = None) -> Any:
    """Hashes of all combinations of the values of `keys` (features or columns) in a row."""
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, CategoricalColumn)):
            raise ValueError("Unsupported key type. All keys must be either string, or categorical column except "
                             f"HashedCategoricalColumn. Given: {key}")
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError("categorical_column_with_hash_bucket is not supported for crossing. Hashing before crossing will increase "
                             f"probability of collision. Instead, use the feature name as a string. Given: {key}")
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)
