# SPDX-License-Identifier: Apache-2.0
"""tf.math: element-wise functions, reductions, clipping, quantization."""
