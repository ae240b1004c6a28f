# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.lookup.dense_hash_table import MutableDenseHashTable as MutableDenseHashTable
from millstream.ops.lookup.lookup_ops import FastHashSpec as FastHashSpec
from millstream.ops.lookup.lookup_ops import HashTable as HashTable
from millstream.ops.lookup.lookup_ops import HasherSpec as HasherSpec
from millstream.ops.lookup.lookup_ops import IdTableWithHashBuckets as IdTableWithHashBuckets
from millstream.ops.lookup.lookup_ops import KeyValueTensorInitializer as KeyValueTensorInitializer
from millstream.ops.lookup.lookup_ops import MutableHashTable as MutableHashTable
from millstream.ops.lookup.lookup_ops import StrongHashSpec as StrongHashSpec
from millstream.ops.lookup.lookup_ops import TextFileIdTableInitializer as TextFileIdTableInitializer
from millstream.ops.lookup.lookup_ops import TextFileIndex as TextFileIndex
from millstream.ops.lookup.lookup_ops import TextFileInitializer as TextFileInitializer
from millstream.ops.lookup.lookup_ops import TextFileStringTableInitializer as TextFileStringTableInitializer
from millstream.ops.lookup.lookup_ops import index_table_from_file as index_table_from_file
from millstream.ops.lookup.lookup_ops import index_table_from_file as string_to_index_table_from_file
from millstream.ops.lookup.lookup_ops import index_table_from_tensor as index_table_from_tensor
from millstream.ops.lookup.lookup_ops import index_table_from_tensor as string_to_index_table_from_tensor
from millstream.ops.lookup.lookup_ops import index_to_string as index_to_string
from millstream.ops.lookup.lookup_ops import index_to_string_table_from_file as index_to_string_table_from_file
from millstream.ops.lookup.lookup_ops import index_to_string_table_from_tensor as index_to_string_table_from_tensor
from millstream.ops.lookup.lookup_ops import string_to_index as string_to_index

__all__ = [
    "FastHashSpec",
    "HashTable",
    "HasherSpec",
    "IdTableWithHashBuckets",
    "KeyValueTensorInitializer",
    "MutableDenseHashTable",
    "MutableHashTable",
    "StrongHashSpec",
    "TextFileIdTableInitializer",
    "TextFileIndex",
    "TextFileInitializer",
    "TextFileStringTableInitializer",
    "index_table_from_file",
    "index_table_from_tensor",
    "index_to_string",
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
    "string_to_index",
    "string_to_index_table_from_file",
    "string_to_index_table_from_tensor",
]
