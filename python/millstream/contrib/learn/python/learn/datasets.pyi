# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.datasets import mnist as mnist

__all__ = [
    "mnist",
]
