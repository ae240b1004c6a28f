# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.examples.tutorials import mnist as mnist

__all__ = [
    "mnist",
]
