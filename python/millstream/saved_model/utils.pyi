# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.savedmodel.signatures import build_tensor_info as build_tensor_info
from millstream.savedmodel.signatures import get_tensor_from_tensor_info as get_tensor_from_tensor_info

__all__ = [
    "build_tensor_info",
    "get_tensor_from_tensor_info",
]
