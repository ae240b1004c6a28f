# SPDX-License-Identifier: Apache-2.0
"""Collectives of groups with one member, which is what one process with one device can record; more: python/tests/test_collectives.py."""
import numpy as np

from record import apply, script, tf

REDUCED = [np.float16, np.float32, np.float64, np.int32, np.int64]
SHAPES = {'scalar': (), 'vector': (5,), 'matrix': (2, 3), 'empty': (0, 2)}


def values(shape, dtype):
  return (np.arange(int(np.prod(shape))).reshape(shape) - 2).astype(dtype)


def reduce_v1():
  key = 0
  for dtype in REDUCED:
    for merge_op, final_op in (('Add', 'Id'), ('Add', 'Div'), ('Min', 'Id'), ('Max', 'Id'), ('Mul', 'Id')):
      key += 1
      with script('CollectiveReduce', '%s_%s_%s' % (merge_op, final_op, np.dtype(dtype).name), covers=['CollectiveReduce']) as s:
        x = tf.constant(values((2, 3), dtype))
        s.run(apply('CollectiveReduce', input=x, group_size=1, group_key=1, instance_key=key, merge_op=merge_op, final_op=final_op,
                    subdiv_offsets=[0])[0])


def keyed(group_key, instance_key):
  return dict(group_size=tf.constant(1), group_key=tf.constant(group_key), instance_key=tf.constant(instance_key))


def all_v2():
  key = 1000
  for label, shape in SHAPES.items():
    for dtype in REDUCED:
      key += 10
      x = values(shape, dtype)
      name = '%s_%s' % (label, np.dtype(dtype).name)
      with script('CollectiveReduceV2', name, covers=['CollectiveReduceV2']) as s:
        s.run(apply('CollectiveReduceV2', input=tf.constant(x), merge_op='Add', final_op='Div', ordering_token=[], **keyed(2, key))[0])
      if not shape or 0 in shape:
        continue
      with script('CollectiveGatherV2', name, covers=['CollectiveGatherV2']) as s:
        s.run(apply('CollectiveGatherV2', input=tf.constant(x), ordering_token=[], **keyed(2, key + 1))[0])
      with script('CollectiveGather', name, covers=['CollectiveGather']) as s:
        s.run(apply('CollectiveGather', input=tf.constant(x), group_size=1, group_key=2, instance_key=key + 2, shape=shape)[0])
      with script('CollectiveBcastSendV2', name, covers=['CollectiveBcastSendV2']) as s:
        s.run(apply('CollectiveBcastSendV2', input=tf.constant(x), **keyed(2, key + 5))[0])
      with script('CollectiveBcastSend', name, covers=['CollectiveBcastSend']) as s:
        s.run(apply('CollectiveBcastSend', input=tf.constant(x), group_size=1, group_key=2, instance_key=key + 6, shape=shape)[0])


def assign_group():
  for device in (0, 1, 2, 3):
    with script('CollectiveAssignGroupV2', 'device%d' % device) as s:
      out = apply('CollectiveAssignGroupV2', group_assignment=tf.constant([[0, 2], [3, 1]]), device_index=tf.constant(device),
                  base_key=tf.constant(10))
      s.run([out[0], out[1]])
  with script('CollectiveAssignGroupV2', 'missing') as s:
    out = apply('CollectiveAssignGroupV2', group_assignment=tf.constant([[0], [1]]), device_index=tf.constant(5), base_key=tf.constant(10))
    s.run([out[0]], error=True)


def cases():
  reduce_v1()
  all_v2()
  assign_group()
