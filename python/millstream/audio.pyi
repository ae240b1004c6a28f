# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.signal.audio_ops import decode_wav as decode_wav
from millstream.ops.signal.audio_ops import encode_wav as encode_wav

__all__ = [
    "decode_wav",
    "encode_wav",
]
