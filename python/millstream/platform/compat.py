# SPDX-License-Identifier: Apache-2.0
"""tf.compat: bytes and text; switches that mean nothing here, because TensorFlow 1's behaviour is the only one."""
from __future__ import annotations

import numbers
import os
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.type_aliases import TensorLike

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> Any:
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> Any:
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text).decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: Any) -> Any:
    return as_str(value) if isinstance(value, (bytes, bytearray)) else str(value)


def path_to_str(path: Any) -> Any:
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


def disable_v2_behavior() -> None:
    """Nothing to switch off."""


def executing_eagerly_outside_functions() -> Any:
    """No: there are graphs only."""
    return False


control_flow_v2_enabled = executing_eagerly_outside_functions


def is_symbolic_tensor(tensor: TensorLike) -> Any:
    from millstream.framework.tensor import Tensor
    return isinstance(tensor, Tensor)


enable_control_flow_v2 = disable_v2_behavior  # loops and branches are the same to programs, however they are built
disable_eager_execution = disable_v2_tensorshape = disable_v2_behavior
disable_tensor_equality = disable_control_flow_v2 = enable_v2_tensorshape = disable_v2_behavior


def enable_eager_execution(*_args: Any, **_kwargs: Any) -> Any:
    raise ValueError("There are graphs and sessions only: eager execution is not built in.")


enable_v2_behavior = enable_eager_execution


def forward_compatible(year: Any, month: Any, day: Any) -> Any:
    return True
