# SPDX-License-Identifier: Apache-2.0
"""Ops under names that only graphs of old versions may have."""
from cases.old_names import arrays, matrices, others


def cases():
  for version in ('', 'V2'):
    arrays.arrays(version)
  arrays.equal_nodes()
  arrays.array_loops()
  arrays.whole_arrays()
  matrices.matrices()
  matrices.cholesky_gradients()
  matrices.eigenvalues()
  matrices.diagonals()
  others.volumes()
  others.images()
  others.quantized()
  others.samples()
  others.readers()
  others.values()
  others.placeholders()
  others.reduced()
