# SPDX-License-Identifier: Apache-2.0
"""Every op of the registry in snake case: millstream.gen_ops.mat_mul(a, b, transpose_a=True)."""
from millstream import _core
from millstream.framework import op_wrappers

_by_name: dict = {}


def _table():
    if not _by_name:
        for op_type in _core.op_names():
            _by_name.setdefault(op_wrappers.snake_case(op_type), op_type)
    return _by_name


def __getattr__(name):
    op_type = None if name.startswith("__") else _table().get(name)
    if op_type is None:
        raise AttributeError(f"There is no op '{name}'")
    wrapper = op_wrappers.make_wrapper(op_type, name)
    globals()[name] = wrapper
    return wrapper


def __dir__():
    return sorted(_table())
