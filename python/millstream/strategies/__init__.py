# SPDX-License-Identifier: Apache-2.0
"""tf.distribute and tf.contrib.distribute: replicas on devices of one process, and on the workers of a cluster."""
