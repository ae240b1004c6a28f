# SPDX-License-Identifier: Apache-2.0
"""Datasets of the rows of ragged tensors."""
from millstream import gen_ops
from millstream.datasets import structure
from millstream.datasets.dataset_ops import Dataset
from millstream.framework import ops


def is_ragged(value):
    return hasattr(value, "nested_row_splits")


def from_tensor_slices(values):
    """Rows of a structure of which some leaves are ragged: each row of a ragged leaf is a tensor."""
    from millstream.ops.array import index_ops
    from millstream.ops.ragged import ragged_ops
    leaves = [ragged_ops.convert(v) if is_ragged(v) else ops.convert_to_tensor(v) for v in structure.flatten(values)]
    for leaf in leaves:
        if is_ragged(leaf) and leaf.ragged_rank != 1:
            raise NotImplementedError(f"Datasets of the rows of ragged tensors of ragged rank {leaf.ragged_rank}")
    first = next(leaf for leaf in leaves if is_ragged(leaf))
    rows = gen_ops.sub(gen_ops.shape(first.row_splits, out_type="int64")[0], 1)

    def row(i):
        out = []
        for leaf in leaves:
            if is_ragged(leaf):
                begin, end = index_ops.gather(leaf.row_splits, i), index_ops.gather(leaf.row_splits, i + 1)
                out.append(leaf.values[begin:end])
            else:
                out.append(index_ops.gather(leaf, i))
        return structure.pack_like(values, out)
    known = first.row_splits.shape.as_list()[0]
    return Dataset.range(rows if known is None else known - 1).map(row)
