# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.columns.sequence import concatenate_context_input as concatenate_context_input
from millstream.columns.sequence import sequence_categorical_column_with_hash_bucket as sequence_categorical_column_with_hash_bucket
from millstream.columns.sequence import sequence_categorical_column_with_identity as sequence_categorical_column_with_identity
from millstream.columns.sequence import sequence_categorical_column_with_vocabulary_file as sequence_categorical_column_with_vocabulary_file
from millstream.columns.sequence import sequence_categorical_column_with_vocabulary_list as sequence_categorical_column_with_vocabulary_list
from millstream.columns.sequence import sequence_input_layer as sequence_input_layer
from millstream.columns.sequence import sequence_numeric_column as sequence_numeric_column

__all__ = [
    "concatenate_context_input",
    "sequence_categorical_column_with_hash_bucket",
    "sequence_categorical_column_with_identity",
    "sequence_categorical_column_with_vocabulary_file",
    "sequence_categorical_column_with_vocabulary_list",
    "sequence_input_layer",
    "sequence_numeric_column",
]
