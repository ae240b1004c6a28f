# SPDX-License-Identifier: Apache-2.0
"""tf.nn: activations, convolutions, pooling, normalization, embeddings, sampled losses, CTC."""
