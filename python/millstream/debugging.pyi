# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.gen_ops import check_numerics as check_numerics
from millstream.gen_ops import is_finite as is_finite
from millstream.gen_ops import is_inf as is_inf
from millstream.gen_ops import is_nan as is_nan
from millstream.ops.debugging.check_ops import assert_equal as assert_equal
from millstream.ops.debugging.check_ops import assert_greater as assert_greater
from millstream.ops.debugging.check_ops import assert_greater_equal as assert_greater_equal
from millstream.ops.debugging.check_ops import assert_integer as assert_integer
from millstream.ops.debugging.check_ops import assert_less as assert_less
from millstream.ops.debugging.check_ops import assert_less_equal as assert_less_equal
from millstream.ops.debugging.check_ops import assert_near as assert_near
from millstream.ops.debugging.check_ops import assert_negative as assert_negative
from millstream.ops.debugging.check_ops import assert_non_negative as assert_non_negative
from millstream.ops.debugging.check_ops import assert_non_positive as assert_non_positive
from millstream.ops.debugging.check_ops import assert_none_equal as assert_none_equal
from millstream.ops.debugging.check_ops import assert_positive as assert_positive
from millstream.ops.debugging.check_ops import assert_proper_iterable as assert_proper_iterable
from millstream.ops.debugging.check_ops import assert_rank as assert_rank
from millstream.ops.debugging.check_ops import assert_rank_at_least as assert_rank_at_least
from millstream.ops.debugging.check_ops import assert_rank_in as assert_rank_in
from millstream.ops.debugging.check_ops import assert_same_float_dtype as assert_same_float_dtype
from millstream.ops.debugging.check_ops import assert_scalar as assert_scalar
from millstream.ops.debugging.check_ops import assert_type as assert_type
from millstream.ops.debugging.check_ops import is_non_decreasing as is_non_decreasing
from millstream.ops.debugging.check_ops import is_numeric_tensor as is_numeric_tensor
from millstream.ops.debugging.check_ops import is_strictly_increasing as is_strictly_increasing
from millstream.ops.debugging.check_ops import verify_tensor_all_finite as assert_all_finite
from millstream.ops.debugging.shape_checks import assert_shapes as assert_shapes
from millstream.ops.flow.control_flow_ops import Assert as Assert
from millstream.platform.not_here import disable_check_numerics as disable_check_numerics
from millstream.platform.not_here import disable_traceback_filtering as disable_traceback_filtering
from millstream.platform.not_here import enable_check_numerics as enable_check_numerics
from millstream.platform.not_here import enable_traceback_filtering as enable_traceback_filtering
from millstream.platform.not_here import is_traceback_filtering_enabled as is_traceback_filtering_enabled
from millstream.platform.placement_log import get_log_device_placement as get_log_device_placement
from millstream.platform.placement_log import set_log_device_placement as set_log_device_placement

__all__ = [
    "Assert",
    "assert_all_finite",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_shapes",
    "assert_type",
    "check_numerics",
    "disable_check_numerics",
    "disable_traceback_filtering",
    "enable_check_numerics",
    "enable_traceback_filtering",
    "get_log_device_placement",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_numeric_tensor",
    "is_strictly_increasing",
    "is_traceback_filtering_enabled",
    "set_log_device_placement",
]
