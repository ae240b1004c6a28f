# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.keras.preprocessing import sequence as sequence
from millstream.keras.preprocessing import text as text

__all__ = [
    "sequence",
    "text",
]
