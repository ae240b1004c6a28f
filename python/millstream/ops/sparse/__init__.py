# SPDX-License-Identifier: Apache-2.0
"""tf.sparse and tf.sets."""
