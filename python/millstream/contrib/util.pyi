# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.framework.tensor_util import MakeNdarray as make_ndarray
from millstream.framework.tensor_util import constant_value as constant_value
from millstream.framework.tensor_util import make_tensor_proto as make_tensor_proto

__all__ = [
    "constant_value",
    "make_ndarray",
    "make_tensor_proto",
]
