# SPDX-License-Identifier: Apache-2.0
"""Control flow of TensorFlow 1, TensorArrays, stacks, queues, accumulators, assertions."""
from cases.flow import arrays, control, queues


def cases():
  control.switches()
  control.conditionals()
  control.loops()
  arrays.tensor_arrays()
  arrays.stacks()
  queues.queues()
  queues.other_queues()
  queues.accumulators()
  queues.sparse_accumulators()
  arrays.old_stacks()
  control.checks()
