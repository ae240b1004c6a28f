# SPDX-License-Identifier: Apache-2.0
"""tf.io.decode_proto, tf.io.encode_proto: fields of serialized protocol buffers as tensors, and back."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops

if TYPE_CHECKING:
    from typing import Any, Optional
    from millstream.framework.tensor import Tensor
    from millstream.gen_ops import DecodeProtoV2


def decode_proto(bytes: Any, message_type: Any, field_names: Any, output_types: Any, descriptor_source: str = "local://",
                 message_format: str = "binary", sanitize: bool = False, name: Optional[str] = None) -> DecodeProtoV2:
    """Returns (sizes, values): how many values of each field every message has, and one tensor of values for each field."""
    return gen_ops.decode_proto_v2(bytes, message_type=message_type, field_names=field_names, output_types=output_types,
                                   descriptor_source=descriptor_source, message_format=message_format, sanitize=sanitize, name=name)


def encode_proto(sizes: Any, values: Any, field_names: Any, message_type: Any, descriptor_source: str = "local://",
                 name: Optional[str] = None) -> Tensor:
    """Serialized messages from the values of their fields."""
    return gen_ops.encode_proto(sizes, values, field_names=field_names, message_type=message_type, descriptor_source=descriptor_source, name=name)
