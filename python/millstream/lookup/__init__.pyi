# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.lookup import experimental as experimental
from millstream.ops.lookup.lookup_ops import HashTable as HashTable
from millstream.ops.lookup.lookup_ops import KeyValueTensorInitializer as KeyValueTensorInitializer
from millstream.ops.lookup.lookup_ops import StaticHashTable as StaticHashTable
from millstream.ops.lookup.lookup_ops import StaticVocabularyTable as StaticVocabularyTable
from millstream.ops.lookup.lookup_ops import TextFileIndex as TextFileIndex
from millstream.ops.lookup.lookup_ops import TextFileInitializer as TextFileInitializer

__all__ = [
    "HashTable",
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
    "experimental",
]
