# SPDX-License-Identifier: Apache-2.0
"""What these cases share."""
import numpy as np

TYPES = ('float', 'double', 'half', 'bfloat16', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'complex64',
         'complex128', 'bool', 'string')
X = np.array([[1.0, -2], [3, 4]])
