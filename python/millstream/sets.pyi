# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.sparse.sets_ops import set_difference as difference
from millstream.ops.sparse.sets_ops import set_difference as set_difference
from millstream.ops.sparse.sets_ops import set_intersection as intersection
from millstream.ops.sparse.sets_ops import set_intersection as set_intersection
from millstream.ops.sparse.sets_ops import set_size as set_size
from millstream.ops.sparse.sets_ops import set_size as size
from millstream.ops.sparse.sets_ops import set_union as set_union
from millstream.ops.sparse.sets_ops import set_union as union

__all__ = [
    "difference",
    "intersection",
    "set_difference",
    "set_intersection",
    "set_size",
    "set_union",
    "size",
    "union",
]
