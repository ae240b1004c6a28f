# SPDX-License-Identifier: Apache-2.0
"""What a feature column is, and the features of one batch as columns see them.

Columns are named tuples: equal arguments make equal columns, and they can be keys of a dict. Each kind defines
    name                        of its variables' scope
    parse_example_spec          {feature: FixedLenFeature or VarLenFeature}
    transform(inputs)           its tensor(s) from an Inputs
and, as a dense column, variable_shape and get_dense_tensor(); as a categorical one, num_buckets and get_sparse_tensors().
"""
import collections
import re

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.framework.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from millstream.ops.array import array_ops, index_ops
from millstream.ops.debugging import check_ops
from millstream.ops.flow import control_flow_ops
from millstream.ops.math import math_ops
from millstream.ops.sparse import sparse_ops

IdWeightPair = collections.namedtuple("IdWeightPair", "id_tensor weight_tensor")
TensorSequenceLengthPair = collections.namedtuple("TensorSequenceLengthPair", "dense_tensor sequence_length")


class FeatureColumn:
    """The parts that all columns have in common."""

    __slots__ = ()

    @property
    def variable_scope_name(self):
        """The column's name with what a scope may not have in it replaced."""
        return re.sub(r"[^A-Za-z0-9_.\-]", "_", self.name)

    # The names by which code of TensorFlow 1's time knew these.
    _var_scope_name = property(lambda self: self.variable_scope_name)
    _parse_example_spec = property(lambda self: self.parse_example_spec)

    def _transform_feature(self, inputs):
        return self.transform(inputs)


class DenseColumn(FeatureColumn):
    """A column with a float tensor of [batch] + variable_shape."""

    __slots__ = ()
    _variable_shape = property(lambda self: self.variable_shape)

    def _get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        return self.get_dense_tensor(inputs, weight_collections, trainable)


class CategoricalColumn(FeatureColumn):
    """A column with ids below num_buckets: a SparseTensor, and weights beside it or None."""

    __slots__ = ()
    IdWeightPair = IdWeightPair
    _num_buckets = property(lambda self: self.num_buckets)

    def get_sparse_tensors(self, inputs, weight_collections=None, trainable=None):
        return IdWeightPair(inputs.get(self), None)

    def _get_sparse_tensors(self, inputs, weight_collections=None, trainable=None):
        return self.get_sparse_tensors(inputs, weight_collections, trainable)


class SequenceDenseColumn(FeatureColumn):
    """A column with a tensor of [batch, time] + variable_shape, and each row's length."""

    __slots__ = ()
    TensorSequenceLengthPair = TensorSequenceLengthPair

    def _get_sequence_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        return self.get_sequence_dense_tensor(inputs, weight_collections, trainable)


class Inputs:
    """Features by key, and the tensors of columns by column: each is made once."""

    def __init__(self, features):
        self._features = features.copy()
        self._tensors = {}

    def get(self, key):
        if key not in self._tensors:
            self._tensors[key] = self._make(key)
        return self._tensors[key]

    def _make(self, key):
        if isinstance(key, (str, bytes)) or key in self._features:
            if key not in self._features:
                raise ValueError(f"Feature {key} is not in features dictionary.")
            return self._raw(key)
        if not isinstance(key, FeatureColumn):
            raise TypeError(f'"key" must be either a "str" or "_FeatureColumn". Provided: {key}')
        tensor = key._transform_feature(self)
        if tensor is None:
            raise ValueError(f"Column {key.name} is not supported.")
        return tensor

    def _raw(self, key):
        """The feature with a second axis, if it has one only."""
        tensor = convert_to_tensor_or_sparse_tensor(self._features[key])
        rank = tensor.get_shape().ndims
        complaint = f"Feature (key: {key}) cannot have rank 0. Given: {tensor}"
        if rank is not None:
            if rank == 0:
                raise ValueError(complaint)
            return _with_second_axis(tensor) if rank == 1 else tensor
        if isinstance(tensor, SparseTensor):
            rank_now = array_ops.size(tensor.dense_shape)
        else:
            rank_now = gen_ops.rank(tensor)
        with ops.control_dependencies([check_ops.assert_positive(rank_now, message=complaint)]):
            return control_flow_ops.cond(gen_ops.equal(1, rank_now), lambda: _with_second_axis(tensor), lambda: tensor)


def _with_second_axis(tensor):
    if isinstance(tensor, SparseTensor):
        return sparse_ops.sparse_reshape(tensor, [tensor.dense_shape[0], 1])
    return array_ops.expand_dims(tensor, -1)


def to_sparse(tensor, ignore_value=None):
    """A dense tensor without the cells that stand for nothing: "" of texts, -1 of integers, or `ignore_value`."""
    tensor = convert_to_tensor_or_sparse_tensor(tensor)
    if isinstance(tensor, SparseTensor):
        return tensor
    with ops.name_scope(None, "to_sparse_input"):
        if ignore_value is None:
            ignore_value = "" if tensor.dtype == dtypes.string else -1 if tensor.dtype.is_integer else 0
        nothing = ops.convert_to_tensor(ignore_value, dtype=tensor.dtype.base_dtype, name="ignore_value")
        indices = index_ops.where(gen_ops.not_equal(tensor, nothing), name="indices")
        return SparseTensor(indices=indices, values=index_ops.gather_nd(tensor, indices, name="values"),
                            dense_shape=array_ops.shape(tensor, out_type=dtypes.int64, name="dense_shape"))


def normalize(feature_columns):
    """A list of columns with different names, or ValueError."""
    if isinstance(feature_columns, FeatureColumn):
        feature_columns = [feature_columns]
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    feature_columns = list(feature_columns)
    if not feature_columns:
        raise ValueError("feature_columns must not be empty.")
    known = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"Items of feature_columns must be a _FeatureColumn. Given (type {type(column)}): {column}.")
        if column.name in known:
            raise ValueError(f"Duplicate feature column name found for columns: {column} and {known[column.name]}. This usually means "
                             "that these columns refer to same base feature. Either one must be discarded or a duplicated but renamed "
                             "item must be inserted in features dict.")
        known[column.name] = column
    return feature_columns


def check_key(key):
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")


def check_string_or_int(dtype, prefix):
    if dtype != dtypes.string and not dtype.is_integer:
        raise ValueError(f"{prefix} dtype must be string or integer. dtype: {dtype}.")


def sequence_length(sparse, num_elements=1):
    """How many steps each row has: a row's last column, in groups of `num_elements`."""
    with ops.name_scope(None, "sequence_length") as scope:
        longest = gen_ops.segment_max(sparse.indices[:, 1] + 1, sparse.indices[:, 0])
        lengths = math_ops.cast(gen_ops.ceil(math_ops.truediv(longest, num_elements)), dtypes.int64)
        missing = math_ops.cast(sparse.dense_shape[:1], dtypes.int32) - array_ops.shape(lengths)[:1]
        return array_ops.concat([lengths, array_ops.zeros(missing, dtype=dtypes.int64)], axis=0, name=scope)
