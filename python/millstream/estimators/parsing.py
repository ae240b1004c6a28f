# SPDX-License-Identifier: Apache-2.0
"""What tf.parse_example() has to find for an estimator: features, label, weight."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.columns import dense, layers
from millstream.framework import dtypes
from millstream.ops.io import parsing_ops

if TYPE_CHECKING:
    from typing import Any


def _with_label(feature_columns, label_key, label, weight_column):
    spec = layers.make_parse_example_spec(feature_columns)
    if label_key in spec:
        raise ValueError(f"label should not be used as feature. label_key: {label_key}, features: {spec.keys()}")
    spec[label_key] = label
    if weight_column is None:
        return spec
    if isinstance(weight_column, str):
        weight_column = dense.numeric_column(weight_column)
    if not isinstance(weight_column, dense.NumericColumn):
        raise ValueError("weight_column should be an instance of tf.feature_column.numeric_column. Given type: "
                         f"{type(weight_column)} value: {weight_column}")
    if weight_column.key in spec:
        raise ValueError(f"weight_column should not be used as feature. weight_column: {weight_column.key}, features: {spec.keys()}")
    spec.update(weight_column.parse_example_spec)
    return spec


def classifier_parse_example_spec(feature_columns: Any, label_key: Any, label_dtype: Any = dtypes.int64,
                                  label_default: Any = None, weight_column: Any = None) -> Any:
    """What tf.parse_example() needs to read the features and the label of a classifier."""
    return _with_label(feature_columns, label_key, parsing_ops.FixedLenFeature((1,), label_dtype, label_default), weight_column)


def regressor_parse_example_spec(feature_columns: Any, label_key: Any, label_dtype: Any = dtypes.float32,
                                 label_default: Any = None, label_dimension: Any = 1, weight_column: Any = None) -> Any:
    """What tf.parse_example() needs to read the features and the label of a regressor."""
    return _with_label(feature_columns, label_key, parsing_ops.FixedLenFeature((label_dimension,), label_dtype, label_default),
                       weight_column)
