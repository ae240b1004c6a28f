# SPDX-License-Identifier: Apache-2.0
"""Names of tensorflow.python.util and tensorflow.python.eager that programs decorate their functions with or ask."""
import contextlib


def _unchanged(*_args, **_kwargs):
    return lambda function: function


deprecated = deprecated_args = deprecated_arg_values = deprecated_alias = deprecated_endpoints = _unchanged
tf_export = keras_export = estimator_export = _unchanged


def deprecated_argument_lookup(new_name, new_value, old_name, old_value):
    """The value of an argument that may be given by its old name."""
    if old_value is not None:
        if new_value is not None:
            raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
        return old_value
    return new_value


def executing_eagerly():
    """Operations are always nodes of a graph."""
    return False


in_eager_mode = executing_eagerly


def in_graph_mode():
    return True


@contextlib.contextmanager
def graph_mode():
    yield


def num_gpus():
    return 0
