# SPDX-License-Identifier: Apache-2.0
"""The column of ids whose order in a row matters."""
import collections

from millstream.columns.base import CategoricalColumn, IdWeightPair
from millstream.framework import dtypes
from millstream.ops.array import array_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.sparse import sparse_ops


class SequenceCategoricalColumn(CategoricalColumn, collections.namedtuple("SequenceCategoricalColumn", "categorical_column")):
    __slots__ = ()
    name = property(lambda self: self.categorical_column.name)
    parse_example_spec = property(lambda self: self.categorical_column.parse_example_spec)
    num_buckets = property(lambda self: self.categorical_column.num_buckets)

    def transform(self, inputs):
        return self.categorical_column.transform(inputs)

    def get_sparse_tensors(self, inputs, weight_collections=None, trainable=None):
        """With a third axis, so that the values of a row are not combined."""
        ids, weights = self.categorical_column.get_sparse_tensors(inputs)
        sizes = math_ops.cast(ids.dense_shape, dtypes.int64)
        shape = array_ops.stack([sizes[0], sizes[1], reduce_ops.reduce_prod(sizes[2:])])
        return IdWeightPair(sparse_ops.sparse_reshape(ids, shape), None if weights is None else sparse_ops.sparse_reshape(weights, shape))


def innermost(column):
    """The column below weights and sequences."""
    while hasattr(column, "categorical_column"):
        column = column.categorical_column
    return column


def refuse(column, maker):
    inner = column.categorical_column
    if isinstance(inner, SequenceCategoricalColumn):
        raise ValueError(f"In {maker}: {column.name}. categorical_column must not be of type _SequenceCategoricalColumn. Suggested fix A: "
                         "If you wish to use input_layer, use a non-sequence categorical_column_with_*. Suggested fix B: If you wish to "
                         f"create sequence input, use sequence_input_layer instead of input_layer. Given (type {type(inner)}): {inner}")


def require(column, maker):
    inner = column.categorical_column
    if not isinstance(inner, SequenceCategoricalColumn):
        raise ValueError(f"In {maker}: {column.name}. categorical_column must be of type _SequenceCategoricalColumn to use "
                         "sequence_input_layer. Suggested fix: Use one of sequence_categorical_column_with_*. Given (type "
                         f"{type(inner)}): {inner}")
