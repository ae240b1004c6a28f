# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.platform.version import CXX11_ABI_FLAG as CXX11_ABI_FLAG
from millstream.platform.version import MONOLITHIC_BUILD as MONOLITHIC_BUILD
from millstream.platform.version import get_compile_flags as get_compile_flags
from millstream.platform.version import get_include as get_include
from millstream.platform.version import get_lib as get_lib
from millstream.platform.version import get_link_flags as get_link_flags

__all__ = [
    "CXX11_ABI_FLAG",
    "MONOLITHIC_BUILD",
    "get_compile_flags",
    "get_include",
    "get_lib",
    "get_link_flags",
]
