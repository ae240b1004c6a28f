# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.contrib.tensorboard import plugins as plugins

__all__ = [
    "plugins",
]
