# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.random.random_ops import stateless_random_normal as stateless_random_normal
from millstream.ops.random.random_ops import stateless_random_uniform as stateless_random_uniform

__all__ = [
    "stateless_random_normal",
    "stateless_random_uniform",
]
