# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.columns.categorical import categorical_column_with_hash_bucket as categorical_column_with_hash_bucket
from millstream.columns.categorical import categorical_column_with_identity as categorical_column_with_identity
from millstream.columns.categorical import categorical_column_with_vocabulary_file as categorical_column_with_vocabulary_file
from millstream.columns.categorical import categorical_column_with_vocabulary_list as categorical_column_with_vocabulary_list
from millstream.columns.categorical import crossed_column as crossed_column
from millstream.columns.categorical import weighted_categorical_column as weighted_categorical_column
from millstream.columns.dense import bucketized_column as bucketized_column
from millstream.columns.dense import embedding_column as embedding_column
from millstream.columns.dense import indicator_column as indicator_column
from millstream.columns.dense import numeric_column as numeric_column
from millstream.columns.dense import shared_embedding_columns as shared_embedding_columns
from millstream.columns.layers import InputLayer as InputLayer
from millstream.columns.layers import input_layer as input_layer
from millstream.columns.layers import linear_model as linear_model
from millstream.columns.layers import make_parse_example_spec as make_parse_example_spec
from millstream.columns.sequence import sequence_categorical_column_with_hash_bucket as sequence_categorical_column_with_hash_bucket
from millstream.columns.sequence import sequence_categorical_column_with_identity as sequence_categorical_column_with_identity
from millstream.columns.sequence import sequence_categorical_column_with_vocabulary_file as sequence_categorical_column_with_vocabulary_file
from millstream.columns.sequence import sequence_categorical_column_with_vocabulary_list as sequence_categorical_column_with_vocabulary_list
from millstream.columns.sequence import sequence_numeric_column as sequence_numeric_column

__all__ = [
    "InputLayer",
    "bucketized_column",
    "categorical_column_with_hash_bucket",
    "categorical_column_with_identity",
    "categorical_column_with_vocabulary_file",
    "categorical_column_with_vocabulary_list",
    "crossed_column",
    "embedding_column",
    "indicator_column",
    "input_layer",
    "linear_model",
    "make_parse_example_spec",
    "numeric_column",
    "sequence_categorical_column_with_hash_bucket",
    "sequence_categorical_column_with_identity",
    "sequence_categorical_column_with_vocabulary_file",
    "sequence_categorical_column_with_vocabulary_list",
    "sequence_numeric_column",
    "shared_embedding_columns",
    "weighted_categorical_column",
]
