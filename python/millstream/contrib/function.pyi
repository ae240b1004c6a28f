# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.framework.function import Defun as Defun

__all__ = [
    "Defun",
]
