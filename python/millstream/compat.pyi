# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.framework.tensor_shape import dimension_at_index as dimension_at_index
from millstream.framework.tensor_shape import dimension_value as dimension_value
from millstream.platform.compat import as_bytes as as_bytes
from millstream.platform.compat import as_str as as_str
from millstream.platform.compat import as_str_any as as_str_any
from millstream.platform.compat import as_text as as_text
from millstream.platform.compat import bytes_or_text_types as bytes_or_text_types
from millstream.platform.compat import complex_types as complex_types
from millstream.platform.compat import forward_compatible as forward_compatibility_horizon
from millstream.platform.compat import forward_compatible as forward_compatible
from millstream.platform.compat import integral_types as integral_types
from millstream.platform.compat import path_to_str as path_to_str
from millstream.platform.compat import real_types as real_types
import millstream as v1

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "bytes_or_text_types",
    "complex_types",
    "dimension_at_index",
    "dimension_value",
    "forward_compatibility_horizon",
    "forward_compatible",
    "integral_types",
    "path_to_str",
    "real_types",
    "v1",
]
