# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.estimators.inputs import numpy_input_fn as numpy_input_fn
from millstream.estimators.inputs import pandas_input_fn as pandas_input_fn

__all__ = [
    "numpy_input_fn",
    "pandas_input_fn",
]
