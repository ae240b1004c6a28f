# SPDX-License-Identifier: Apache-2.0
"""Random tensors and tf.distributions."""
