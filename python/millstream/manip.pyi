# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.gen_ops import batch_to_space_nd as batch_to_space_nd
from millstream.gen_ops import scatter_nd as scatter_nd
from millstream.gen_ops import space_to_batch_nd as space_to_batch_nd
from millstream.gen_ops import tile as tile
from millstream.ops.array.array_ops import reshape as reshape
from millstream.ops.array.array_ops import reverse as reverse
from millstream.ops.array.index_ops import gather_nd as gather_nd
from millstream.ops.array.index_ops import roll as roll

__all__ = [
    "batch_to_space_nd",
    "gather_nd",
    "reshape",
    "reverse",
    "roll",
    "scatter_nd",
    "space_to_batch_nd",
    "tile",
]
