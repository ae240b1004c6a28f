# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.datasets import mnist as mnist
from millstream.datasets.mnist import load_mnist as load_mnist

__all__ = [
    "load_mnist",
    "mnist",
]
