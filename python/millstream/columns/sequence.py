# SPDX-License-Identifier: Apache-2.0
"""Columns over time: tf.feature_column.sequence_*, and the layer that joins them."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from millstream.columns import categorical
from millstream.columns.base import Inputs, SequenceDenseColumn, TensorSequenceLengthPair, check_key, normalize, sequence_length
from millstream.columns.dense import _check_shape
from millstream.columns.sequence_base import SequenceCategoricalColumn
from millstream.framework import dtypes, ops
from millstream.framework.tensor_shape import TensorShape
from millstream.ops.array import array_ops
from millstream.ops.debugging import check_ops
from millstream.ops.io import parsing_ops
from millstream.ops.sparse import sparse_ops
from millstream.ops.variables import variable_scope as vs

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike, TensorLike


class SequenceNumericColumn(SequenceDenseColumn, collections.namedtuple(
        "SequenceNumericColumn", "key shape default_value dtype normalizer_fn")):
    __slots__ = ()
    name = property(lambda self: self.key)
    variable_shape = property(lambda self: TensorShape(self.shape))
    parse_example_spec = property(lambda self: {self.key: parsing_ops.VarLenFeature(self.dtype)})

    def transform(self, inputs):
        tensor = inputs.get(self.key)
        return tensor if self.normalizer_fn is None else self.normalizer_fn(tensor)

    def get_sequence_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        sparse = inputs.get(self)
        dense = sparse_ops.sparse_tensor_to_dense(sparse, default_value=self.default_value)
        dense = array_ops.reshape(dense, array_ops.concat([array_ops.shape(dense)[:1], [-1], list(self.shape)], axis=0))
        grouped = self.variable_shape.num_elements() if sparse.get_shape().ndims == 2 else 1
        return TensorSequenceLengthPair(dense, sequence_length(sparse, grouped))


def sequence_categorical_column_with_identity(key: Any, num_buckets: Any, default_value: Any = None) -> Any:
    return SequenceCategoricalColumn(categorical.categorical_column_with_identity(key, num_buckets, default_value))


def sequence_categorical_column_with_hash_bucket(key: Any, hash_bucket_size: Any, dtype: DTypeLike = dtypes.string) -> Any:
    return SequenceCategoricalColumn(categorical.categorical_column_with_hash_bucket(key, hash_bucket_size, dtype))


def sequence_categorical_column_with_vocabulary_file(key: Any, vocabulary_file: Any, vocabulary_size: Any = None,
                                                     num_oov_buckets: Any = 0, default_value: Any = None,
                                                     dtype: DTypeLike = dtypes.string) -> Any:
    return SequenceCategoricalColumn(categorical.categorical_column_with_vocabulary_file(
        key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype))


def sequence_categorical_column_with_vocabulary_list(key: Any, vocabulary_list: Any, dtype: Optional[DTypeLike] = None,
                                                     default_value: Any = -1, num_oov_buckets: Any = 0) -> Any:
    return SequenceCategoricalColumn(categorical.categorical_column_with_vocabulary_list(
        key, vocabulary_list, dtype, default_value, num_oov_buckets))


def sequence_numeric_column(key: Any, shape: Any = (1,), default_value: Any = 0.0, dtype: Any = dtypes.float32,
                            normalizer_fn: Any = None) -> Any:
    shape = _check_shape(shape, key)
    check_key(key)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return SequenceNumericColumn(key, shape, default_value, dtype, normalizer_fn)


def sequence_input_layer(features: TensorLike, feature_columns: Any, weight_collections: Any = None,
                         trainable: Any = True) -> Any:
    """([batch, time, width], [batch] lengths): the columns, by name, side by side."""
    columns = normalize(feature_columns)
    for column in columns:
        if not isinstance(column, SequenceDenseColumn):
            raise ValueError(f"All feature_columns must be of type _SequenceDenseColumn. You can wrap a sequence_categorical_column with "
                             f"an embedding_column or indicator_column. Given (type {type(column)}): {column}")
    weight_collections = list(weight_collections or [])
    weight_collections += [k for k in (ops.GraphKeys.GLOBAL_VARIABLES, ops.GraphKeys.MODEL_VARIABLES) if k not in weight_collections]
    with vs.variable_scope(None, default_name="sequence_input_layer"):
        inputs, outputs, lengths = Inputs(features), [], []
        for column in sorted(columns, key=lambda c: c.name):
            with vs.variable_scope(None, default_name=column.variable_scope_name):
                dense, length = column.get_sequence_dense_tensor(inputs, weight_collections, trainable)
                width = column.variable_shape.num_elements()
                shape = array_ops.shape(dense)
                outputs.append(array_ops.reshape(dense, array_ops.concat([shape[:2], [width]], axis=0)))
                lengths.append(length)
        checks = [check_ops.assert_equal(lengths[0], other) for other in lengths[1:]]
        with ops.control_dependencies(checks):
            return array_ops.concat(outputs, -1), array_ops.identity(lengths[0])


def concatenate_context_input(context_input: Any, sequence_input: Any) -> Any:
    """[batch, time, d0] and [batch, d1], the second repeated along time, as [batch, time, d0 + d1]."""
    from millstream import gen_ops
    checks = [check_ops.assert_rank(sequence_input, 3, message="sequence_input must have rank 3"),
              check_ops.assert_type(sequence_input, dtypes.float32),
              check_ops.assert_rank(context_input, 2, message="context_input must have rank 2"),
              check_ops.assert_type(context_input, dtypes.float32)]
    with ops.control_dependencies(checks):
        times = array_ops.concat([[1], [array_ops.shape(sequence_input)[1]], [1]], 0)
        repeated = gen_ops.tile(array_ops.expand_dims(context_input, 1), times)
    return array_ops.concat([sequence_input, repeated], 2)
