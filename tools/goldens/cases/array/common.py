# SPDX-License-Identifier: Apache-2.0
"""What these cases share."""
import numpy as np

X = np.arange(24, dtype=float).reshape(2, 3, 4) - 7
I32, I64 = np.int32, np.int64
NUMBERS = ('float', 'double', 'half', 'bfloat16', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64',
           'complex64', 'complex128')
ALL = NUMBERS + ('bool', 'string')
