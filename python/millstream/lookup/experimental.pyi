# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.lookup.dense_hash_table import DenseHashTable as DenseHashTable
from millstream.ops.lookup.lookup_ops import MutableHashTable as MutableHashTable

__all__ = [
    "DenseHashTable",
    "MutableHashTable",
]
