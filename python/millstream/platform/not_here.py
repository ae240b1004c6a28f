# SPDX-License-Identifier: Apache-2.0
"""Names that programs may call and that cannot do anything here: they say so."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework import errors

if TYPE_CHECKING:
    from typing import Any


def load_op_library(library_filename: Any) -> Any:
    """Libraries of TensorFlow's kernels need TensorFlow's own runtime."""
    raise errors.UnimplementedError(None, None, f"{library_filename}: kernels compiled for TensorFlow cannot be loaded; use tf.py_func, or add the "
                                    "op in C++.")


def load_library(library_location: Any) -> None:
    load_op_library(library_location)


load_file_system_library = load_op_library


def enable_traceback_filtering() -> None:
    """Frames of this package are left out of traces of graphs anyway."""


disable_traceback_filtering = enable_traceback_filtering


def is_traceback_filtering_enabled() -> Any:
    return True


def enable_check_numerics(stack_height_limit: Any = 30, path_length_limit: Any = 50) -> Any:
    raise NotImplementedError("tf.debugging.enable_check_numerics(): use tf.add_check_numerics_ops()")


def disable_check_numerics() -> None:
    """They are not enabled."""
