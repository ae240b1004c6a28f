# SPDX-License-Identifier: Apache-2.0
"""Names that programs may call and that cannot do anything here: they say so."""
from millstream.framework import errors


def load_op_library(library_filename):
    """Libraries of TensorFlow's kernels need TensorFlow's own runtime."""
    raise errors.UnimplementedError(None, None, f"{library_filename}: kernels compiled for TensorFlow cannot be loaded; use tf.py_func, or add the "
                                    "op in C++.")


def load_library(library_location):
    load_op_library(library_location)


load_file_system_library = load_op_library


def enable_traceback_filtering():
    """Frames of this package are left out of traces of graphs anyway."""


disable_traceback_filtering = enable_traceback_filtering


def is_traceback_filtering_enabled():
    return True


def enable_check_numerics(stack_height_limit=30, path_length_limit=50):
    raise NotImplementedError("tf.debugging.enable_check_numerics(): use tf.add_check_numerics_ops()")


def disable_check_numerics():
    """They are not enabled."""
