# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.platform import flags as flags
from millstream.platform.app import run as run

__all__ = [
    "flags",
    "run",
]
