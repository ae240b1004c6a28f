# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.nest import assert_same_structure as assert_same_structure
from millstream.ops.nest import flatten as flatten
from millstream.ops.nest import is_nested as is_nested
from millstream.ops.nest import map_structure as map_structure
from millstream.ops.nest import pack_sequence_as as pack_sequence_as

__all__ = [
    "assert_same_structure",
    "flatten",
    "is_nested",
    "map_structure",
    "pack_sequence_as",
]
