# SPDX-License-Identifier: Apache-2.0
"""What these cases share."""
import numpy as np

from record import rng

I32, I64 = np.int32, np.int64


def distinct(name, *shape):
  n = int(np.prod(shape))
  return (rng(name).permutation(n) * 0.25 - n / 8.0).reshape(shape)
