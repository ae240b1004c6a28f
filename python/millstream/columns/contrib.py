# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.layers' feature columns: the names and arguments that came before tf.feature_column."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.columns import categorical, dense, layers
from millstream.framework import dtypes
from millstream.ops.arguments import unsupported

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike

WHOLE = "features"  # the key of features that are one array without a name


def real_valued_column(column_name: Any, dimension: Any = 1, default_value: Any = None, dtype: DTypeLike = dtypes.float32,
                       normalizer: Any = None) -> Any:
    if dimension is None:
        raise ValueError("dimension must be known: None is not supported")
    if default_value is not None and not isinstance(default_value, (list, tuple)):
        default_value = [default_value] * dimension
    return dense.numeric_column(column_name or WHOLE, (dimension,), default_value, dtype, normalizer)


def _only_sums(function, combiner):
    """Sums are what linear models make of several values; embeddings have a combiner of their own."""
    unsupported(function, combiner=None if combiner == "sum" else combiner)


def sparse_column_with_hash_bucket(column_name: Any, hash_bucket_size: Any, combiner: str = "sum",
                                   dtype: DTypeLike = dtypes.string, hash_keys: Any = None) -> Any:
    _only_sums("sparse_column_with_hash_bucket", combiner)
    unsupported("sparse_column_with_hash_bucket", hash_keys=hash_keys)
    return categorical.categorical_column_with_hash_bucket(column_name, hash_bucket_size, dtype)


def sparse_column_with_keys(column_name: Any, keys: Any, default_value: Any = -1, combiner: str = "sum",
                            dtype: DTypeLike = dtypes.string) -> Any:
    _only_sums("sparse_column_with_keys", combiner)
    return categorical.categorical_column_with_vocabulary_list(column_name, tuple(keys), dtype, default_value)


def sparse_column_with_integerized_feature(column_name: Any, bucket_size: Any, combiner: str = "sum",
                                           dtype: DTypeLike = dtypes.int64) -> Any:
    _only_sums("sparse_column_with_integerized_feature", combiner)
    return categorical.categorical_column_with_identity(column_name, bucket_size)


def sparse_column_with_vocabulary_file(column_name: Any, vocabulary_file: Any, num_oov_buckets: Any = 0, vocab_size: Any = None,
                                       default_value: Any = -1, combiner: str = "sum", dtype: DTypeLike = dtypes.string) -> Any:
    _only_sums("sparse_column_with_vocabulary_file", combiner)
    return categorical.categorical_column_with_vocabulary_file(column_name, vocabulary_file, vocab_size, num_oov_buckets,
                                                               None if num_oov_buckets else default_value, dtype)


def weighted_sparse_column(sparse_id_column: Any, weight_column_name: Any, dtype: DTypeLike = dtypes.float32) -> Any:
    return categorical.weighted_categorical_column(sparse_id_column, weight_column_name, dtype)


def one_hot_column(sparse_id_column: Any) -> Any:
    return dense.indicator_column(sparse_id_column)


def embedding_column(sparse_id_column: Any, dimension: Any, combiner: str = "mean", initializer: Any = None,
                     ckpt_to_load_from: Any = None, tensor_name_in_ckpt: Any = None, max_norm: Any = None,
                     trainable: Any = True) -> Any:
    return dense.embedding_column(sparse_id_column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm,
                                  trainable)


def crossed_column(columns: Any, hash_bucket_size: Any, combiner: str = "sum", ckpt_to_load_from: Any = None,
                   tensor_name_in_ckpt: Any = None, hash_key: Any = None) -> Any:
    """Columns of hashes are crossed by their features: hashing twice loses more."""
    _only_sums("crossed_column", combiner)
    unsupported("crossed_column", ckpt_to_load_from=ckpt_to_load_from, tensor_name_in_ckpt=tensor_name_in_ckpt)
    keys = [c.key if isinstance(c, categorical.HashedCategoricalColumn) else c for c in columns]
    return categorical.crossed_column(keys, hash_bucket_size, hash_key)


def input_from_feature_columns(columns_to_tensors: Any, feature_columns: Any, weight_collections: Any = None,
                               trainable: Any = True, scope: Any = None, cols_to_outs: Any = None) -> Any:
    from millstream.ops.variables import variable_scope as vs
    with vs.variable_scope(scope, default_name="input_from_feature_columns"):
        return layers.input_layer(columns_to_tensors, feature_columns, weight_collections, trainable,
                                  cols_to_output_tensors=cols_to_outs)


def weighted_sum_from_feature_columns(columns_to_tensors, feature_columns, num_outputs, weight_collections=None, trainable=True,
                                      scope=None):
    """(sums, {column: variables}, bias)."""
    from millstream.ops.variables import variable_scope as vs
    found = {}
    with vs.variable_scope(scope, default_name="weighted_sum_from_feature_columns"):
        sums = layers.linear_model(columns_to_tensors, feature_columns, num_outputs, weight_collections=weight_collections,
                                   trainable=trainable, cols_to_vars=found)
    bias = found.pop("bias")
    return sums, found, bias[0]


def parse_feature_columns_from_examples(serialized: Any, feature_columns: Any, name: Optional[str] = None,
                                        example_names: Any = None) -> Any:
    from millstream.ops.io import parsing_ops
    return parsing_ops.parse_example(serialized, layers.make_parse_example_spec(feature_columns), name=name)
