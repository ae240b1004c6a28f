# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.keras_v1.preprocessing import pad_sequences as pad_sequences

__all__ = [
    "pad_sequences",
]
