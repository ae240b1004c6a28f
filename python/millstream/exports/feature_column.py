# SPDX-License-Identifier: Apache-2.0
"""tf.feature_column and what contrib had of it."""


def _in(space, names):
    return " ".join(f"{space}.{n}={n}" for n in names.split())


EXPORTS = {
    "millstream.columns.dense": _in("feature_column", """
        numeric_column bucketized_column indicator_column embedding_column shared_embedding_columns""") +
    " contrib.layers.bucketized_column=bucketized_column",
    "millstream.columns.categorical": _in("feature_column", """
        categorical_column_with_hash_bucket categorical_column_with_vocabulary_file categorical_column_with_vocabulary_list
        categorical_column_with_identity weighted_categorical_column crossed_column"""),
    "millstream.columns.contrib": _in("contrib.layers", """
        real_valued_column sparse_column_with_hash_bucket sparse_column_with_keys sparse_column_with_integerized_feature
        sparse_column_with_vocabulary_file weighted_sparse_column one_hot_column embedding_column crossed_column
        input_from_feature_columns weighted_sum_from_feature_columns parse_feature_columns_from_examples"""),
    "millstream.columns.layers": _in("feature_column", "input_layer linear_model make_parse_example_spec InputLayer") +
    " contrib.layers.create_feature_spec_for_parsing=make_parse_example_spec",
    "millstream.columns.sequence": _in("feature_column", """
        sequence_categorical_column_with_identity sequence_categorical_column_with_hash_bucket
        sequence_categorical_column_with_vocabulary_file sequence_categorical_column_with_vocabulary_list sequence_numeric_column""") +
    " " + _in("contrib.feature_column", """sequence_input_layer concatenate_context_input sequence_numeric_column
        sequence_categorical_column_with_identity sequence_categorical_column_with_hash_bucket
        sequence_categorical_column_with_vocabulary_file sequence_categorical_column_with_vocabulary_list"""),
}
