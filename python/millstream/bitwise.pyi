# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.gen_ops import bitwise_and as bitwise_and
from millstream.gen_ops import bitwise_or as bitwise_or
from millstream.gen_ops import bitwise_xor as bitwise_xor
from millstream.gen_ops import invert as invert
from millstream.gen_ops import left_shift as left_shift
from millstream.gen_ops import right_shift as right_shift

__all__ = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "invert",
    "left_shift",
    "right_shift",
]
