# SPDX-License-Identifier: Apache-2.0
"""Every op of the registry under its own name: millstream.raw_ops.MatMul(a, b, transpose_a=True)."""
from millstream import _core
from millstream.framework import op_wrappers


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    wrapper = op_wrappers.make_wrapper(name, name)
    globals()[name] = wrapper
    return wrapper


def __dir__():
    return _core.op_names()
