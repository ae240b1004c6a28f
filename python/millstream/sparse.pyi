# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.framework.sparse_tensor import SparseTensor as SparseTensor
from millstream.ops.array.index_ops import sparse_mask as mask
from millstream.ops.math.reduce_ops import sparse_segment_mean as segment_mean
from millstream.ops.math.reduce_ops import sparse_segment_sqrt_n as segment_sqrt_n
from millstream.ops.math.reduce_ops import sparse_segment_sum as segment_sum
from millstream.ops.queues.accumulators import SparseConditionalAccumulator as SparseConditionalAccumulator
from millstream.ops.sparse.sparse_ops import from_dense as from_dense
from millstream.ops.sparse.sparse_ops import sparse_add as add
from millstream.ops.sparse.sparse_ops import sparse_bincount as bincount
from millstream.ops.sparse.sparse_ops import sparse_concat as concat
from millstream.ops.sparse.sparse_ops import sparse_cross as cross
from millstream.ops.sparse.sparse_ops import sparse_cross_hashed as cross_hashed
from millstream.ops.sparse.sparse_ops import sparse_expand_dims as expand_dims
from millstream.ops.sparse.sparse_ops import sparse_eye as eye
from millstream.ops.sparse.sparse_ops import sparse_fill_empty_rows as fill_empty_rows
from millstream.ops.sparse.sparse_ops import sparse_maximum as maximum
from millstream.ops.sparse.sparse_ops import sparse_merge as merge
from millstream.ops.sparse.sparse_ops import sparse_minimum as minimum
from millstream.ops.sparse.sparse_ops import sparse_placeholder as placeholder
from millstream.ops.sparse.sparse_ops import sparse_reduce_max as reduce_max
from millstream.ops.sparse.sparse_ops import sparse_reduce_max_sparse as reduce_max_sparse
from millstream.ops.sparse.sparse_ops import sparse_reduce_sum as reduce_sum
from millstream.ops.sparse.sparse_ops import sparse_reduce_sum_sparse as reduce_sum_sparse
from millstream.ops.sparse.sparse_ops import sparse_reorder as reorder
from millstream.ops.sparse.sparse_ops import sparse_reset_shape as reset_shape
from millstream.ops.sparse.sparse_ops import sparse_reshape as reshape
from millstream.ops.sparse.sparse_ops import sparse_retain as retain
from millstream.ops.sparse.sparse_ops import sparse_slice as slice
from millstream.ops.sparse.sparse_ops import sparse_softmax as softmax
from millstream.ops.sparse.sparse_ops import sparse_split as split
from millstream.ops.sparse.sparse_ops import sparse_tensor_dense_matmul as matmul
from millstream.ops.sparse.sparse_ops import sparse_tensor_dense_matmul as sparse_dense_matmul
from millstream.ops.sparse.sparse_ops import sparse_tensor_to_dense as to_dense
from millstream.ops.sparse.sparse_ops import sparse_to_indicator as to_indicator
from millstream.ops.sparse.sparse_ops import sparse_transpose as transpose

__all__ = [
    "SparseConditionalAccumulator",
    "SparseTensor",
    "add",
    "bincount",
    "concat",
    "cross",
    "cross_hashed",
    "expand_dims",
    "eye",
    "fill_empty_rows",
    "from_dense",
    "mask",
    "matmul",
    "maximum",
    "merge",
    "minimum",
    "placeholder",
    "reduce_max",
    "reduce_max_sparse",
    "reduce_sum",
    "reduce_sum_sparse",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "segment_mean",
    "segment_sqrt_n",
    "segment_sum",
    "slice",
    "softmax",
    "sparse_dense_matmul",
    "split",
    "to_dense",
    "to_indicator",
    "transpose",
]
