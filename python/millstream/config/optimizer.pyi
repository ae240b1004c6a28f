# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.platform.device_config import get_experimental_options as get_experimental_options
from millstream.platform.device_config import get_jit as get_jit
from millstream.platform.device_config import set_experimental_options as set_experimental_options
from millstream.platform.device_config import set_jit as set_jit

__all__ = [
    "get_experimental_options",
    "get_jit",
    "set_experimental_options",
    "set_jit",
]
