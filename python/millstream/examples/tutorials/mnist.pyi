# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.datasets import mnist as input_data
from millstream.datasets import mnist_model as mnist

__all__ = [
    "input_data",
    "mnist",
]
