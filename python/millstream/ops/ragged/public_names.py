# SPDX-License-Identifier: Apache-2.0
"""Public names of ragged tensors; loading it makes other functions take them."""
from millstream.ops.ragged import ragged_dispatch  # noqa: F401
from millstream.ops.ragged.ragged_ops import (  # noqa: F401
    boolean_mask, constant, constant_value, map_flat_values, placeholder, ragged_range, row_splits_to_segment_ids, segment_ids_to_row_splits,
    stack)
from millstream.ops.ragged.ragged_tensor import RaggedTensor, RaggedTensorValue, is_ragged  # noqa: F401
