# SPDX-License-Identifier: Apache-2.0
"""Datasets that pad, interleave, cache, shard and scan others."""
import numpy as np
from tensorflow.python.framework import function

from cases.data.build import F, I, SCALAR, STR, Iterator, const, dataset, numbers, slices
from record import apply, script, tf


def ranged(n):
  @function.Defun(I, func_name='Ranged')
  def f(n):
    return tf.range(n)
  return dataset('MapDataset', n, shapes=([None],), other_arguments=[], f=f)


def padded():
  for label, shape, drop, value in (('longest', [-1], False, 0), ('fixed', [5], False, -1), ('drop', [-1], True, 7)):
    with script('PaddedBatchDatasetV2', label) as s:
      d = apply('PaddedBatchDatasetV2', input_dataset=ranged(numbers(5)), batch_size=const(2), padded_shapes=[const(shape)],
                padding_values=[const(value)], drop_remainder=tf.constant(drop), output_shapes=[[None, None]])[0]
      Iterator(d, shapes=([None, None],)).drain(s, 2 if drop else 3)
  with script('PaddedBatchDatasetV2', 'small') as s:
    d = apply('PaddedBatchDatasetV2', input_dataset=ranged(numbers(5)), batch_size=const(2), padded_shapes=[const([2])],
              padding_values=[const(0)], drop_remainder=tf.constant(False), output_shapes=[[None, None]])[0]
    it = Iterator(d, shapes=([None, None],))
    s.run(targets=it.init)
    s.run(it.next)
    s.run(it.next, error=True)
  with script('PaddedBatchDatasetV2', 'errors') as s:
    size, value = tf.placeholder(I, []), tf.placeholder(I, None)
    d = apply('PaddedBatchDatasetV2', input_dataset=ranged(numbers(5)), batch_size=size, padded_shapes=[const([-1])],
              padding_values=[value], drop_remainder=tf.constant(False), output_shapes=[[None, None]])[0]
    it = Iterator(d, shapes=([None, None],))
    s.run(targets=it.init, feeds={size: 0, value: 0}, error=True)
    s.run(targets=it.init, feeds={size: 1, value: [1, 2]}, error=True)
  with script('PaddedBatchDatasetV2', 'two') as s:
    @function.Defun(I, func_name='Pair')
    def pair(x):
      return tf.as_string(x), tf.ones([x, 2])
    d = dataset('MapDataset', numbers(4), (STR, F), (SCALAR, [None, 2]), other_arguments=[], f=pair)
    d = apply('PaddedBatchDatasetV2', input_dataset=d, batch_size=const(3), padded_shapes=[tf.constant([], I), const([-1, 3])],
              padding_values=[tf.constant(''), tf.constant(0.5)], drop_remainder=tf.constant(False), output_shapes=[[None], [None, None, 3]])[0]
    Iterator(d, (STR, F), ([None], [None, None, 3])).drain(s, 2)


def mixed():
  def repeated():
    @function.Defun(I, func_name='Repeated')
    def f(x):
      return dataset('RepeatDataset', apply('TensorDataset', components=[x], output_shapes=[[]])[0], count=x)
    return f
  for cycle, block in ((1, 1), (2, 1), (2, 3), (3, 2), (7, 2)):
    calls = dict(num_parallel_calls=1)
    for op, ints, more in (('InterleaveDataset', {}, {}), ('ParallelInterleaveDatasetV2', calls, {}),
                           ('ParallelInterleaveDatasetV3', calls, dict(deterministic='true')),
                           ('ParallelInterleaveDatasetV4', dict(calls, buffer_output_elements=1, prefetch_input_elements=0), dict(deterministic='true'))):
      with script(op, 'cycle%d_%d' % (cycle, block)) as s:
        more = dict(more, **{k: const(v) for k, v in ints.items()})
        d = dataset(op, slices([4, 5, 0, 1, 6]), other_arguments=[], f=repeated(), cycle_length=const(cycle), block_length=const(block), **more)
        Iterator(d).drain(s, 16)
  with script('InterleaveDataset', 'errors') as s:
    cycle = tf.placeholder(I, [])
    it = Iterator(dataset('InterleaveDataset', numbers(3), other_arguments=[], f=repeated(), cycle_length=cycle, block_length=const(1)))
    s.run(targets=it.init, feeds={cycle: 0}, error=True)


def passed():
  for n, i in ((3, 0), (3, 2), (1, 0)):
    with script('ShardDataset', '%d_of_%d' % (i, n)) as s:
      Iterator(dataset('ShardDataset', numbers(7), num_shards=const(n), index=const(i))).drain(s, len(range(i, 7, n)))
  with script('ShardDataset', 'errors') as s:
    n, i = tf.placeholder(I, []), tf.placeholder(I, [])
    it = Iterator(dataset('ShardDataset', numbers(7), num_shards=n, index=i))
    s.run(targets=it.init, feeds={n: 0, i: 0}, error=True)
    s.run(targets=it.init, feeds={n: 2, i: 2}, error=True)
  with script('UnbatchDataset', '') as s:
    Iterator(dataset('UnbatchDataset', slices(np.arange(6).reshape(3, 2)))).drain(s, 6)
  with script('UnbatchDataset', 'scalar') as s:
    it = Iterator(dataset('UnbatchDataset', numbers(3)))
    s.run(targets=it.init)
    s.run(it.next, error=True)
  with script('UniqueDataset', '') as s:
    Iterator(dataset('UniqueDataset', slices([3, 1, 3, 2, 1, 4]))).drain(s, 4)
  with script('UniqueDataset', 'strings') as s:
    Iterator(dataset('UniqueDataset', slices(['a', 'b', 'a'], STR), (STR,)), (STR,)).drain(s, 2)
  with script('CacheDataset', 'repeated') as s:
    d = dataset('CacheDataset', numbers(3), filename=tf.constant(''))
    Iterator(dataset('RepeatDataset', d, count=const(3))).drain(s, 9)
  with script('IgnoreErrorsDataset', '') as s:
    @function.Defun(I, func_name='FailsAtTwo')
    def fails(x):
      return tf.reshape(tf.range(x), [tf.where(tf.equal(x, 2), tf.constant(9, I), x)])
    d = dataset('MapDataset', numbers(5), shapes=([None],), other_arguments=[], f=fails)
    Iterator(dataset('IgnoreErrorsDataset', d, shapes=([None],)), shapes=([None],)).drain(s, 4)
  with script('TakeWhileDataset', '') as s:
    @function.Defun(I, I, func_name='Below')
    def below(x, limit):
      return tf.less(x, limit)
    Iterator(dataset('TakeWhileDataset', slices([1, 2, 5, 1]), other_arguments=[const(4)], predicate=below)).drain(s, 2)
  with script('ScanDataset', '') as s:
    @function.Defun(I, I, func_name='Running')
    def running(total, x):
      return total + x, total * 10 + x
    Iterator(dataset('ScanDataset', numbers(5), initial_state=[const(1)], other_arguments=[], f=running)).drain(s, 5)


def mapped():
  for drop in (False, True):
    with script('MapAndBatchDataset', 'drop' if drop else 'keep') as s:
      @function.Defun(I, I, func_name='Times')
      def times(x, y):
        return x * y, tf.as_string(x)
      d = dataset('MapAndBatchDataset', numbers(7), (I, STR), ([None], [None]), other_arguments=[const(3)], f=times, batch_size=const(3),
                  num_parallel_calls=const(2), drop_remainder=tf.constant(drop))
      Iterator(d, (I, STR), ([None], [None])).drain(s, 2 if drop else 3)
  with script('MapAndBatchDataset', 'errors') as s:
    @function.Defun(I, func_name='FailsAtTwo')
    def fails(x):
      return tf.reshape(tf.range(x), [tf.where(tf.equal(x, 2), tf.constant(9, I), x)])[:0]
    size = tf.placeholder(I, [])
    d = dataset('MapAndBatchDataset', numbers(4), (I,), ([None, None],), other_arguments=[], f=fails, batch_size=size,
                num_parallel_calls=const(2), drop_remainder=tf.constant(False))
    it = Iterator(d, (I,), ([None, None],))
    s.run(targets=it.init, feeds={size: 0}, error=True)
    s.run(targets=it.init, feeds={size: 2})
    s.run(it.next)
    s.run(it.next, error=True)


def cases():
  mapped()
  padded()
  mixed()
  passed()
