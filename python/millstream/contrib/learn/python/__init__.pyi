# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.contrib.learn.python import learn as learn

__all__ = [
    "learn",
]
