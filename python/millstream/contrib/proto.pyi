# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.io.proto_ops import decode_proto as decode_proto
from millstream.ops.io.proto_ops import encode_proto as encode_proto

__all__ = [
    "decode_proto",
    "encode_proto",
]
