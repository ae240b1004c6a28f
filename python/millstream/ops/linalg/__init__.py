# SPDX-License-Identifier: Apache-2.0
"""tf.linalg: products, decompositions, functions of matrices, linear operators."""
