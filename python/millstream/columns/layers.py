# SPDX-License-Identifier: Apache-2.0
"""What feature columns are for: input_layer, linear_model, and the spec by which Examples are parsed."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.columns.base import CategoricalColumn, DenseColumn, FeatureColumn, Inputs, normalize
from millstream.framework import dtypes, ops
from millstream.ops.array import array_ops
from millstream.ops.linalg import linalg_ops
from millstream.ops.math import math_ops
from millstream.ops.nn import embedding_ops, nn_ops
from millstream.ops.sparse import sparse_ops
from millstream.ops.variables import init_ops, template
from millstream.ops.variables import variable_scope as vs

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.type_aliases import TensorLike


def _collections(given):
    keys = list(given or [])
    return keys + [k for k in (ops.GraphKeys.GLOBAL_VARIABLES, ops.GraphKeys.MODEL_VARIABLES) if k not in keys]


def _check_batch_sizes(tensors, columns):
    known = [(t.shape.as_list()[0], c) for t, c in zip(tensors, columns) if t.shape.rank is not None]
    known = [(size, c) for size, c in known if size is not None]
    for size, column in known[1:]:
        if size != known[0][0]:
            raise ValueError(f"Batch size (first dimension) of each feature must be same. Batch size of columns ({known[0][1].name}, "
                             f"{column.name}): ({known[0][0]}, {size})")


def _variables_here():
    return ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES, scope=vs.get_variable_scope().name + "/")


def _flat(column, inputs, weight_collections, trainable):
    """The dense tensor of a column as [batch, elements]."""
    tensor = column._get_dense_tensor(inputs, weight_collections=weight_collections, trainable=trainable)
    return array_ops.reshape(tensor, array_ops.stack([array_ops.shape(tensor)[0], column._variable_shape.num_elements()]))


def _columns_side_by_side(features, columns, weight_collections, trainable, cols_to_vars, cols_to_output_tensors):
    inputs, outputs = Inputs(features), []
    ordered = sorted(columns, key=lambda c: c.name)
    for column in ordered:
        with vs.variable_scope(None, default_name=column._var_scope_name):
            output = _flat(column, inputs, weight_collections, trainable)
            if cols_to_vars is not None:
                cols_to_vars[column] = _variables_here()
        outputs.append(output)
        if cols_to_output_tensors is not None:
            cols_to_output_tensors[column] = output
    _check_batch_sizes(outputs, ordered)
    return array_ops.concat(outputs, 1)


def _dense_columns(feature_columns):
    columns = normalize(feature_columns)
    for column in columns:
        if not isinstance(column, DenseColumn):
            raise ValueError("Items of feature_columns must be a _DenseColumn. You can wrap a categorical column with an "
                             f"embedding_column or indicator_column. Given: {column}")
    return columns


def input_layer(features: TensorLike, feature_columns: Any, weight_collections: Any = None, trainable: Any = True,
                cols_to_vars: Any = None, cols_to_output_tensors: Any = None) -> Any:
    """The columns of `features`, in the order of their names, as [batch, width]."""
    columns = _dense_columns(feature_columns)
    with vs.variable_scope(None, default_name="input_layer"):
        return _columns_side_by_side(features, columns, _collections(weight_collections), trainable, cols_to_vars,
                                     cols_to_output_tensors)


class InputLayer:
    """input_layer() as an object: each call uses the variables of the first."""

    def __init__(self, feature_columns: Any, weight_collections: Any = None, trainable: Any = True, cols_to_vars: Any = None,
                 name: str = "feature_column_input_layer", create_scope_now: bool = True) -> None:
        columns, keys = _dense_columns(feature_columns), _collections(weight_collections)
        self.name = name
        self._template = template.make_template(
            name, lambda features: _columns_side_by_side(features, columns, keys, trainable, cols_to_vars, None),
            create_scope_now_=create_scope_now)

    def __call__(self, features):
        return self._template(features)


def _weighted_sum(column, inputs, units, combiner, weight_collections, trainable):
    categorical = isinstance(column, CategoricalColumn)
    rows = column._num_buckets if categorical else column._variable_shape.num_elements()
    if categorical:
        ids, weights = column._get_sparse_tensors(inputs, weight_collections=weight_collections, trainable=trainable)
        ids, weights = [x if x is None else sparse_ops.sparse_reshape(x, _two_axes(x)) for x in (ids, weights)]
    else:
        tensor = _flat(column, inputs, weight_collections, trainable)
    table = vs.get_variable("weights", shape=[rows, units], initializer=init_ops.Zeros(), trainable=trainable,
                            collections=weight_collections)
    if categorical:
        return embedding_ops.safe_embedding_lookup_sparse(table, ids, weights, combiner=combiner, name="weighted_sum")
    return linalg_ops.matmul(tensor, table, name="weighted_sum")


def _two_axes(sparse):
    return array_ops.stack([sparse.dense_shape[0], math_ops.cast(-1, dtypes.int64)])


def linear_model(features: TensorLike, feature_columns: Any, units: Any = 1, sparse_combiner: str = "sum",
                 weight_collections: Any = None, trainable: Any = True, cols_to_vars: Any = None) -> Any:
    """The sum over the columns of column times weights, plus a bias: [batch, units]."""
    columns = normalize(feature_columns)
    for column in columns:
        if not isinstance(column, (DenseColumn, CategoricalColumn)):
            raise ValueError(f"Items of feature_columns must be either a _DenseColumn or _CategoricalColumn. Given: {column}")
    keys = _collections(weight_collections)
    with vs.variable_scope(None, default_name="linear_model"):
        inputs, sums = Inputs(features), []
        ordered = sorted(columns, key=lambda c: c.name)
        for column in ordered:
            with vs.variable_scope(None, default_name=column._var_scope_name):
                sums.append(_weighted_sum(column, inputs, units, sparse_combiner, keys, trainable))
                if cols_to_vars is not None:
                    cols_to_vars[column] = _variables_here()
        _check_batch_sizes(sums, ordered)
        total = math_ops.add_n(sums, name="weighted_sum_no_bias")
        bias = vs.get_variable("bias_weights", shape=[units], initializer=init_ops.Zeros(), trainable=trainable,
                               collections=keys)
        if cols_to_vars is not None:
            cols_to_vars["bias"] = bias._get_variable_list() if hasattr(bias, "_get_variable_list") else [bias]
        return nn_ops.bias_add(total, bias, name="weighted_sum")


def make_parse_example_spec(feature_columns):
    """What tf.parse_example() has to find for these columns."""
    spec = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"All feature_columns must be _FeatureColumn instances. Given: {column}")
        for key, value in column._parse_example_spec.items():
            if key in spec and spec[key] != value:
                raise ValueError(f"feature_columns contain different parse_spec for key {key}. Given {value} and {spec[key]}")
            spec[key] = value
    return spec
