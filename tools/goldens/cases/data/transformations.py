# SPDX-License-Identifier: Apache-2.0
"""Datasets made of another one: batches, repetitions, functions, shuffles, windows."""
import numpy as np
from tensorflow.python.framework import function

from cases.data.build import F, I, SCALAR, STR, Iterator, const, dataset, numbers
from record import apply, script, tf


def transformations():
  for drop, n in ((False, 3), (True, 2)):
    with script('BatchDatasetV2', 'drop' if drop else 'keep') as s:
      d = dataset('BatchDatasetV2', numbers(8), shapes=([3] if drop else [None],), batch_size=const(3), drop_remainder=tf.constant(drop))
      it = Iterator(d, shapes=([3] if drop else [None],))
      it.drain(s, n)
      s.static_shapes(*it.next)
  with script('BatchDatasetV2', 'uneven') as s:
    @function.Defun(I, func_name='Ranged')
    def ranged(n):
      return tf.range(n)
    d = dataset('MapDataset', numbers(4), shapes=([None],), other_arguments=[], f=ranged)
    d = dataset('BatchDatasetV2', d, shapes=([None, None],), batch_size=const(2), drop_remainder=tf.constant(False))
    it = Iterator(d, shapes=([None, None],))
    s.run(targets=it.init)
    s.run(it.next, error=True)
  with script('BatchDatasetV2', 'zero') as s:
    d = dataset('BatchDatasetV2', numbers(4), shapes=([None],), batch_size=const(0), drop_remainder=tf.constant(False))
    s.run(targets=Iterator(d, shapes=([None],)).init, error=True)
  for count in (0, 1, 3):
    with script('RepeatDataset', 'count%d' % count) as s:
      Iterator(dataset('RepeatDataset', numbers(2), count=const(count))).drain(s, 2 * count)
  with script('RepeatDataset', 'forever') as s:
    Iterator(dataset('RepeatDataset', numbers(2), count=const(-1))).drain(s, 7, end=False)
  with script('RepeatDataset', 'forever_empty') as s:
    Iterator(dataset('RepeatDataset', numbers(0), count=const(-1))).drain(s, 0)
  @function.Defun(I, func_name='SquareAndName')
  def square_and_name(x):
    return x * x, tf.as_string(x)
  @function.Defun(I, func_name='FailsAtTwo')
  def fails_at_two(x):
    return tf.reshape(tf.range(x), [tf.where(tf.equal(x, 2), tf.constant(9, I), x)])
  for op, extra in (('MapDataset', {}), ('ParallelMapDatasetV2', dict(num_parallel_calls=3))):
    def make(f, n, types, shapes, **kw):
      more = {k: const(v) for k, v in extra.items()}
      return dataset(op, numbers(n), types, shapes, other_arguments=kw.pop('other', []), f=f, **more, **kw)
    with script(op, 'two_outputs') as s:
      Iterator(make(square_and_name, 5, (I, STR), (SCALAR, SCALAR)), (I, STR), (SCALAR, SCALAR)).drain(s, 5)
    with script(op, 'error') as s:
      it = Iterator(make(fails_at_two, 4, (I,), ([None],)), shapes=([None],))
      s.run(targets=it.init)
      s.run(it.next)
      s.run(it.next)
      s.run(it.next, error=True)
      s.run(it.next)
      s.run(it.next, error=True)
    with script(op, 'captured') as s:
      @function.Defun(I, I, func_name='Plus')
      def plus(x, y):
        return x + y
      y = tf.placeholder(I, [])
      Iterator(make(plus, 3, (I,), (SCALAR,), other=[y])).drain(s, 3, {y: 100})
  with script('InterleaveDataset', 'ranges') as s:
    @function.Defun(I, func_name='Counts')
    def counts(x):
      return apply('RangeDataset', start=const(0), stop=x, step=const(1), output_types=[I], output_shapes=[SCALAR])[0]
    cycle, block = tf.placeholder(I, []), tf.placeholder(I, [])
    d = dataset('InterleaveDataset', numbers(5), other_arguments=[], f=counts, cycle_length=cycle, block_length=block)
    it = Iterator(d)
    for c, b in ((2, 1), (3, 2), (1, 1)):
      it.drain(s, 10, {cycle: c, block: b})
    s.run(targets=it.init, feeds={cycle: 0, block: 1}, error=True)
    s.run(targets=it.init, feeds={cycle: 1, block: 0}, error=True)
  with script('PaddedBatchDatasetV2', 'ranges') as s:
    @function.Defun(I, func_name='UpTo')
    def up_to(x):
      return tf.range(x)
    size, padded, rest = tf.placeholder(I, []), tf.placeholder(I, [1]), tf.placeholder(tf.bool, [])
    rows = dataset('MapDataset', numbers(5), shapes=([None],), other_arguments=[], f=up_to)
    d = apply('PaddedBatchDatasetV2', input_dataset=rows, batch_size=size, padded_shapes=[padded], padding_values=[const(-1)],
              drop_remainder=rest, output_shapes=[[None, None]])[0]
    it = Iterator(d, shapes=([None, None],))
    it.drain(s, 3, {size: 2, padded: [-1], rest: False})
    it.drain(s, 2, {size: 2, padded: [6], rest: True})
    s.run(targets=it.init, feeds={size: 5, padded: [2], rest: False})
    s.run(it.next, error=True)
    s.run(targets=it.init, feeds={size: 0, padded: [2], rest: False}, error=True)
  with script('FlatMapDataset', 'ranges') as s:
    @function.Defun(I, func_name='Slices')
    def to_slices(x):
      return apply('TensorSliceDataset', components=[tf.range(x)], output_shapes=[[]])[0]
    Iterator(dataset('FlatMapDataset', numbers(4), other_arguments=[], f=to_slices)).drain(s, 6)
  for n in (0, 1, 5):
    with script('PrefetchDataset', 'buffer%d' % n) as s:
      Iterator(dataset('PrefetchDataset', numbers(4), buffer_size=const(n))).drain(s, 4)
  for reshuffle in (False, True):
    with script('ShuffleDataset', 'reshuffle' if reshuffle else 'same') as s:
      d = dataset('ShuffleDataset', numbers(10), buffer_size=const(4), seed=const(5), seed2=const(6), reshuffle_each_iteration=reshuffle)
      Iterator(dataset('RepeatDataset', d, count=const(2))).drain(s, 20)
  with script('ShuffleDataset', 'whole') as s:
    d = dataset('ShuffleDataset', numbers(10), buffer_size=const(100), seed=const(1), seed2=const(2))
    it = Iterator(d)
    it.drain(s, 10)
    it.drain(s, 10)
  with script('ShuffleDataset', 'one') as s:
    Iterator(dataset('ShuffleDataset', numbers(5), buffer_size=const(1), seed=const(1), seed2=const(2))).drain(s, 5)
  with script('ShuffleDataset', 'zero') as s:
    d = dataset('ShuffleDataset', numbers(5), buffer_size=const(0), seed=const(1), seed2=const(2))
    s.run(targets=Iterator(d).init, error=True)
  for reshuffle in (False, True):
    with script('ShuffleDatasetV3', 'reshuffle' if reshuffle else 'same') as s:
      generator = apply('AnonymousSeedGenerator', seed=const(5), seed2=const(6), reshuffle=tf.constant(reshuffle))
      d = dataset('ShuffleDatasetV3', numbers(10), buffer_size=const(4), seed=const(5), seed2=const(6), seed_generator=generator[0],
                  reshuffle_each_iteration=reshuffle)
      Iterator(dataset('RepeatDataset', d, count=const(2))).drain(s, 20)
  with script('GroupByWindowDataset', 'parity') as s:
    @function.Defun(I, func_name='Key')
    def key(x):
      return x % 2
    @function.Defun(I, tf.variant, func_name='Reduce')
    def reduce(k, window):
      return dataset('BatchDatasetV2', window, shapes=([None],), batch_size=const(10), drop_remainder=tf.constant(False))
    @function.Defun(I, func_name='WindowSize')
    def window_size(k):
      return k + 2
    d = apply('GroupByWindowDataset', input_dataset=numbers(11), key_func_other_arguments=[], reduce_func_other_arguments=[],
              window_size_func_other_arguments=[], key_func=key, reduce_func=reduce, window_size_func=window_size,
              output_types=[I], output_shapes=[tf.TensorShape([None])])[0]
    Iterator(d, shapes=([None],)).drain(s, 5)
  with script('BatchDatasetV2', 'pipeline') as s:
    @function.Defun(I, func_name='Half')
    def half(x):
      return tf.cast(x, F) / 2.0
    d = dataset('ShuffleDataset', numbers(7), buffer_size=const(3), seed=const(3), seed2=const(4))
    d = dataset('RepeatDataset', d, count=const(2))
    d = dataset('MapDataset', d, (F,), other_arguments=[], f=half)
    d = dataset('BatchDatasetV2', d, (F,), ([None],), batch_size=const(4), drop_remainder=tf.constant(False))
    d = dataset('PrefetchDataset', d, (F,), ([None],), buffer_size=const(2))
    Iterator(d, (F,), ([None],)).drain(s, 4)


def windows():
  V = tf.variant
  for label, size, shift, stride, drop in (('tumbling', 3, 3, 1, False), ('sliding', 3, 1, 2, True), ('gaps', 2, 5, 1, False)):
    with script('WindowDataset', label) as s:
      @function.Defun(V, V, func_name='Flat_' + label)
      def flat(a, b):
        return apply('ZipDataset', input_datasets=[
            dataset('BatchDatasetV2', a, (I,), ([None],), batch_size=const(10), drop_remainder=tf.constant(False)),
            dataset('BatchDatasetV2', b, (F,), ([None],), batch_size=const(10), drop_remainder=tf.constant(False))],
                     output_types=[I, F], output_shapes=[[None], [None]])[0]
      source = apply('TensorSliceDataset', components=[tf.constant(np.arange(8), I), tf.constant(np.arange(8) / 2.0, F)],
                     output_shapes=[[], []])[0]
      d = dataset('WindowDataset', source, (V, V), (SCALAR, SCALAR), size=const(size), shift=const(shift), stride=const(stride),
                  drop_remainder=tf.constant(drop))
      d = dataset('FlatMapDataset', d, (I, F), ([None], [None]), other_arguments=[], f=flat)
      Iterator(d, (I, F), ([None], [None])).drain(s, {'tumbling': 3, 'sliding': 4, 'gaps': 2}[label])
  with script('WindowDataset', 'errors') as s:
    args = [tf.placeholder(I, []) for _ in range(3)]
    d = dataset('WindowDataset', numbers(3), (V,), size=args[0], shift=args[1], stride=args[2], drop_remainder=tf.constant(False))
    it = Iterator(d, (V,))
    for bad in range(3):
      s.run(targets=it.init, feeds={a: 0 if i == bad else 1 for i, a in enumerate(args)}, error=True)
