# SPDX-License-Identifier: Apache-2.0
"""tf.losses, and the weights and shapes that losses and metrics check."""
