# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.framework.def_function import function as defun
from millstream.framework.tape import GradientTape as GradientTape

__all__ = [
    "GradientTape",
    "defun",
]
