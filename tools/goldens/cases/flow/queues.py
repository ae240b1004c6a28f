# SPDX-License-Identifier: Apache-2.0
"""Queues and accumulators."""
import numpy as np

from cases.flow.common import X
from record import apply, convert, script, tf


def queues():
  for op_name, attrs in (('FIFOQueueV2', {}), ('RandomShuffleQueueV2', dict(seed=5, seed2=9))):
    def queue(types=(tf.float32, tf.int32), shapes=((2,), ()), capacity=10, **kw):
      return apply(op_name, component_types=list(types), shapes=list(shapes), capacity=capacity, **{**attrs, **kw})[0]
    with script(op_name, 'basics') as s:
      q = queue()
      a, b = tf.placeholder(tf.float32, None), tf.placeholder(tf.int32, None)
      enqueue = apply('QueueEnqueueV2', handle=q, components=[a, b]).op
      many = apply('QueueEnqueueManyV2', handle=q, components=[a, b]).op
      size, closed = apply('QueueSizeV2', handle=q)[0], apply('QueueIsClosedV2', handle=q)[0]
      types = [tf.float32, tf.int32]
      dequeue = apply('QueueDequeueV2', handle=q, component_types=types)
      n = tf.placeholder(tf.int32, [])
      dequeue_many = apply('QueueDequeueManyV2', handle=q, n=n, component_types=types)
      up_to = apply('QueueDequeueUpToV2', handle=q, n=n, component_types=types)
      s.run([size, closed])
      s.run(targets=enqueue, feeds={a: [1.0, 2], b: 7})
      s.run(targets=many, feeds={a: np.arange(8.0).reshape(4, 2), b: [1, 2, 3, 4]})
      s.run(size)
      s.run(dequeue.outputs)
      s.run(dequeue_many.outputs, {n: 2})
      s.run(dequeue_many.outputs, {n: 0})
      s.run(size)
      s.run(targets=many, feeds={a: np.zeros([0, 2]), b: np.zeros([0], np.int32)})
      s.run(targets=enqueue, feeds={a: [1.0, 2, 3], b: 7}, error=True)
      s.run(targets=many, feeds={a: np.zeros([3, 2]), b: [1, 2]}, error=True)
      s.run(dequeue_many.outputs, {n: -1}, error=True)
      s.run(targets=apply('QueueCloseV2', handle=q).op)
      s.run([size, closed])
      s.run(targets=enqueue, feeds={a: [1.0, 2], b: 7}, error=True)
      s.run(dequeue_many.outputs, {n: 3}, error=True)
      s.run(up_to.outputs, {n: 5})
      s.run(up_to.outputs, {n: 5}, error=True)
      s.run(dequeue.outputs, error=True)
    with script(op_name, 'shared') as s:
      p, q = queue(shared_name='q'), queue(shared_name='q')
      s.run(targets=apply('QueueEnqueueV2', handle=p, components=[tf.constant([1.0, 2]), tf.constant(3)]).op)
      s.run(apply('QueueDequeueV2', handle=q, component_types=[tf.float32, tf.int32]).outputs)
    with script(op_name, 'shared_mismatch') as s:
      p, q = queue(shared_name='q'), queue(shared_name='q', capacity=11)
      s.run(apply('QueueSizeV2', handle=p)[0])
      s.run(apply('QueueSizeV2', handle=q)[0], error=True)
    with script(op_name, 'no_shapes') as s:
      q = queue((tf.string,), ())
      x = tf.placeholder(tf.string, None)
      enqueue = apply('QueueEnqueueV2', handle=q, components=[x]).op
      dequeue = apply('QueueDequeueV2', handle=q, component_types=[tf.string])
      s.run(targets=enqueue, feeds={x: np.array(['a', 'b'], object)})
      s.run(dequeue.outputs)
      s.run(targets=enqueue, feeds={x: np.array('c', object)})
      s.run(dequeue.outputs)
      s.run(apply('QueueDequeueManyV2', handle=q, n=tf.constant(1), component_types=[tf.string]).outputs, error=True)
    with script(op_name, 'wrong_types') as s:
      q = queue()
      s.run(targets=apply('QueueEnqueueV2', handle=q, components=[tf.constant([1.0, 2])]).op, error=True)
      s.run(targets=apply('QueueEnqueueV2', handle=q, components=[tf.constant([1.0, 2]), tf.constant(2.0)]).op, error=True)
      s.run(apply('QueueDequeueV2', handle=q, component_types=[tf.float32, tf.float32]).outputs, error=True)
  with script('RandomShuffleQueueV2', 'order') as s:
    q = apply('RandomShuffleQueueV2', component_types=[tf.int32], shapes=[()], capacity=-1, min_after_dequeue=2, seed=17, seed2=3)[0]
    s.run(targets=apply('QueueEnqueueManyV2', handle=q, components=[tf.range(12)]).op)
    one = apply('QueueDequeueV2', handle=q, component_types=[tf.int32])
    many = apply('QueueDequeueManyV2', handle=q, n=tf.constant(5), component_types=[tf.int32])
    s.run(one.outputs)
    s.run(one.outputs)
    s.run(many.outputs)
    s.run(targets=apply('QueueCloseV2', handle=q).op)
    s.run(many.outputs)


def other_queues():
  for op_name in ('PaddingFIFOQueueV2', 'PaddingFIFOQueue'):
    suffix = 'V2' if op_name.endswith('V2') else ''
    with script(op_name, 'pads') as s:
      q = apply(op_name, component_types=[tf.float32, tf.int32], shapes=[[None, 2], []], capacity=10)[0]
      x, y = tf.placeholder(tf.float32, None), tf.placeholder(tf.int32, None)
      enqueue = apply('QueueEnqueue' + suffix, handle=q, components=[x, y]).op
      for n in (1, 3, 0):
        s.run(targets=enqueue, feeds={x: np.arange(2.0 * n).reshape(n, 2), y: n})
      s.run(apply('QueueDequeueMany' + suffix, handle=q, n=tf.constant(3), component_types=[tf.float32, tf.int32]).outputs)
      s.run(targets=enqueue, feeds={x: np.ones([2, 3]), y: 1}, error=True)
      s.run(targets=enqueue, feeds={x: np.ones([2, 2]), y: 1})
      s.run(apply('QueueDequeue' + suffix, handle=q, component_types=[tf.float32, tf.int32]).outputs)
  for op_name in ('PriorityQueueV2', 'PriorityQueue'):
    suffix = 'V2' if op_name.endswith('V2') else ''
    with script(op_name, 'sorts') as s:
      q = apply(op_name, component_types=[tf.string], shapes=[[]], capacity=10)[0]
      types = [tf.int64, tf.string]
      s.run(targets=apply('QueueEnqueueMany' + suffix, handle=q, components=[tf.constant([5, 1, 9, -2], tf.int64),
                                                                        tf.constant(['e', 'a', 'i', 'z'])]).op)
      s.run(targets=apply('QueueEnqueue' + suffix, handle=q, components=[tf.constant(3, tf.int64), tf.constant('c')]).op)
      s.run(apply('QueueDequeue' + suffix, handle=q, component_types=types).outputs)
      s.run(apply('QueueDequeueMany' + suffix, handle=q, n=tf.constant(3), component_types=types).outputs)
      s.run(targets=apply('QueueClose' + suffix, handle=q).op)
      s.run([apply('QueueSize' + suffix, handle=q)[0], apply('QueueIsClosed' + suffix, handle=q)[0]])
  for op_name in ('FIFOQueue', 'RandomShuffleQueue'):
    with script(op_name, 'by_reference') as s:
      q = apply(op_name, component_types=[tf.int32], shapes=[[]], capacity=5, **({} if op_name == 'FIFOQueue' else dict(seed=3, seed2=4)))[0]
      s.run(targets=apply('QueueEnqueueMany', handle=q, components=[tf.constant([1, 2, 3])]).op)
      s.run(targets=apply('QueueEnqueue', handle=q, components=[tf.constant(4)]).op)
      s.run(apply('QueueDequeue', handle=q, component_types=[tf.int32])[0])
      s.run(apply('QueueSize', handle=q)[0])
      s.run(targets=apply('QueueClose', handle=q).op)
      s.run(apply('QueueDequeueUpTo', handle=q, n=tf.constant(9), component_types=[tf.int32])[0])


def accumulators():
  for t in ('float', 'double', 'half'):
    for reduction in ('MEAN', 'SUM'):
      for resource in (False, True):
        kind = 'ResourceConditionalAccumulator' if resource else 'ConditionalAccumulator'
        prefix = 'ResourceAccumulator' if resource else 'Accumulator'
        with script(kind, '%s_%s' % (t, reduction)) as s:
          a = apply(kind, dtype=tf.as_dtype(t), shape=[2, 2], reduction_type=reduction)[0]
          g, step, n = tf.placeholder(t, None), tf.placeholder(tf.int64, []), tf.placeholder(tf.int32, [])
          add = apply(prefix + 'ApplyGradient', handle=a, local_step=step, gradient=g).op
          take = apply(prefix + 'TakeGradient', handle=a, num_required=n, dtype=tf.as_dtype(t))[0]
          count = apply(prefix + 'NumAccumulated', handle=a)[0]
          advance = apply(prefix + 'SetGlobalStep', handle=a, new_global_step=step).op
          s.run(count)
          s.run(targets=add, feeds={g: convert(X, t), step: 0})
          s.run(targets=add, feeds={g: convert(X * 3, t), step: 0})
          s.run(count)
          s.run(take, {n: 2})
          s.run(count)
          s.run(targets=add, feeds={g: convert(X, t), step: 0})  # stale: dropped
          s.run(count)
          s.run(targets=add, feeds={g: convert(X, t), step: 1})
          s.run(targets=advance, feeds={step: 5})
          s.run(targets=add, feeds={g: convert(X, t), step: 4})
          s.run(targets=add, feeds={g: convert(X * 2, t), step: 5})
          s.run(count)
          s.run(take, {n: 1})
          s.run(targets=advance, feeds={step: 1})
          s.run(targets=add, feeds={g: convert(X[0], t), step: 9}, error=True)
          s.run(take, {n: 0}, error=True)
  with script('ConditionalAccumulator', 'partial_shape') as s:
    a = apply('ConditionalAccumulator', dtype=tf.float32, shape=[None, 2])[0]
    g = tf.placeholder(tf.float32, None)
    add = apply('AccumulatorApplyGradient', handle=a, local_step=tf.constant(0, tf.int64), gradient=g).op
    s.run(targets=add, feeds={g: X})
    s.run(targets=add, feeds={g: X[:1]}, error=True)
    s.run(targets=add, feeds={g: [1.0]}, error=True)
    s.run(apply('AccumulatorTakeGradient', handle=a, num_required=tf.constant(1), dtype=tf.float32)[0])


def sparse_accumulators():
  for t in ('float', 'double', 'half'):
    for reduction in ('MEAN', 'SUM'):
      with script('SparseConditionalAccumulator', '%s_%s' % (t, reduction)) as s:
        a = apply('SparseConditionalAccumulator', dtype=tf.as_dtype(t), shape=[4, 2], reduction_type=reduction)[0]
        step, i, v = tf.placeholder(tf.int64, []), tf.placeholder(tf.int64, None), tf.placeholder(t, None)
        add = apply('SparseAccumulatorApplyGradient', handle=a, local_step=step, gradient_indices=i, gradient_values=v,
                    gradient_shape=tf.constant([4, 2], tf.int64), has_known_shape=True).op
        take = apply('SparseAccumulatorTakeGradient', handle=a, num_required=tf.constant(2), dtype=tf.as_dtype(t))
        s.run(targets=add, feeds={step: 0, i: [0, 2], v: convert(X, t)})
        s.run(targets=add, feeds={step: 0, i: [2, 3], v: convert(X * 3, t)})
        s.run(apply('AccumulatorNumAccumulated', handle=a)[0])
        s.run(take.outputs)
        s.run(targets=add, feeds={step: 0, i: [0], v: convert(X[:1], t)})
        s.run(targets=add, feeds={step: 5, i: [1], v: convert(X[:1], t)})
        s.run(targets=apply('AccumulatorSetGlobalStep', handle=a, new_global_step=tf.constant(7, tf.int64)).op)
        s.run(targets=add, feeds={step: 7, i: [0, 1], v: convert(X, t)})
        s.run(take.outputs)
        s.run(targets=add, feeds={step: 9, i: [0, 1, 2], v: convert(X, t)}, error=True)
