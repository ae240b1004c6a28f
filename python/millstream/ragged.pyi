# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.ragged.public_names import RaggedTensorValue as RaggedTensorValue
from millstream.ops.ragged.public_names import boolean_mask as boolean_mask
from millstream.ops.ragged.public_names import constant as constant
from millstream.ops.ragged.public_names import constant_value as constant_value
from millstream.ops.ragged.public_names import is_ragged as is_ragged
from millstream.ops.ragged.public_names import map_flat_values as map_flat_values
from millstream.ops.ragged.public_names import placeholder as placeholder
from millstream.ops.ragged.public_names import ragged_range as range
from millstream.ops.ragged.public_names import row_splits_to_segment_ids as row_splits_to_segment_ids
from millstream.ops.ragged.public_names import segment_ids_to_row_splits as segment_ids_to_row_splits
from millstream.ops.ragged.public_names import stack as stack

__all__ = [
    "RaggedTensorValue",
    "boolean_mask",
    "constant",
    "constant_value",
    "is_ragged",
    "map_flat_values",
    "placeholder",
    "range",
    "row_splits_to_segment_ids",
    "segment_ids_to_row_splits",
    "stack",
]
