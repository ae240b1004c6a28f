# SPDX-License-Identifier: Apache-2.0
"""What these cases share."""
from record import tf
from tensorflow.python.framework import test_util


def old_graph(producer):
  test_util.set_producer_version(tf.get_default_graph(), producer)
