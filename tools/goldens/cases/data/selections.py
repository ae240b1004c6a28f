# SPDX-License-Identifier: Apache-2.0
"""Datasets that keep some elements of others, and those of older programs."""
import numpy as np
from tensorflow.python.framework import function

from cases.data.build import F, I, SCALAR, STR, Iterator, const, dataset, numbers, slices
from record import apply, script, tf


def selections():
  for op in ('TakeDataset', 'SkipDataset'):
    for count in (0, 2, 9, -1):
      with script(op, 'all' if count < 0 else 'count%d' % count) as s:
        left = min(count, 5) if count >= 0 else 5
        if op == 'SkipDataset':
          left = 5 - left
        Iterator(dataset(op, numbers(5), count=const(count))).drain(s, left)
  with script('TakeDataset', 'vector') as s:
    count = tf.placeholder(I, None)
    s.run(targets=Iterator(dataset('TakeDataset', numbers(5), count=count)).init, feeds={count: [1, 2]}, error=True)
  with script('ConcatenateDataset', 'two') as s:
    Iterator(dataset('ConcatenateDataset', numbers(2), another_dataset=slices([7, 8, 9]))).drain(s, 5)
  with script('ConcatenateDataset', 'empty') as s:
    Iterator(dataset('ConcatenateDataset', numbers(0), another_dataset=slices([7]))).drain(s, 1)
  with script('ConcatenateDataset', 'other_type') as s:
    s.run(targets=Iterator(dataset('ConcatenateDataset', numbers(2), another_dataset=slices([1.0], F))).init, error=True)
  with script('ZipDataset', 'shortest') as s:
    kw = dict(output_types=[I, STR], output_shapes=[SCALAR, SCALAR])
    d = apply('ZipDataset', input_datasets=[numbers(5), slices(['a', 'b', 'c'], STR)], **kw)[0]
    Iterator(d, (I, STR), (SCALAR, SCALAR)).drain(s, 3)
  with script('ZipDataset', 'one') as s:
    Iterator(apply('ZipDataset', input_datasets=[numbers(2)], output_types=[I], output_shapes=[SCALAR])[0]).drain(s, 2)
  with script('FilterDataset', 'captured') as s:
    @function.Defun(I, I, func_name='Below')
    def below(x, y):
      return tf.less(x % 4, y)
    y = tf.placeholder(I, [])
    it = Iterator(dataset('FilterDataset', numbers(9), other_arguments=[y], predicate=below))
    it.drain(s, 5, {y: 2})
    it.drain(s, 0, {y: 0})
  for label, value in (('vector', [True, False]), ('number', 1.0)):
    with script('FilterDataset', label) as s:
      @function.Defun(I, func_name='Predicate')
      def predicate(x):
        return tf.constant(value)
      it = Iterator(dataset('FilterDataset', numbers(3), other_arguments=[], predicate=predicate))
      s.run(targets=it.init)
      s.run(it.next, error=True)
  for bounds in ((0, 5, 2), (5, 0, -2), (3, 3, 1), (4, 1, 1), (-1, 2, 1)):
    with script('RangeDataset', 'bounds') as s:
      kw = dict(zip(('start', 'stop', 'step'), map(const, bounds)))
      Iterator(apply('RangeDataset', output_types=[I], output_shapes=[SCALAR], **kw)[0]).drain(s, len(range(*bounds)))
  with script('RangeDataset', 'int32') as s:
    kw = dict(start=const(1), stop=const(4), step=const(1))
    Iterator(apply('RangeDataset', output_types=[tf.int32], output_shapes=[SCALAR], **kw)[0], (tf.int32,)).drain(s, 3)
  with script('RangeDataset', 'step0') as s:
    kw = dict(start=const(1), stop=const(4), step=const(0))
    s.run(targets=Iterator(apply('RangeDataset', output_types=[I], output_shapes=[SCALAR], **kw)[0]).init, error=True)


def older():
  # Two that MakeIterator of TensorFlow 2.21 cannot take itself, only from a function.
  with script('BatchDataset', 'keep') as s:
    @function.Defun(I, func_name='Batches')
    def batches(n):
      d = apply('TensorSliceDataset', components=[tf.range(n)], output_shapes=[[]])[0]
      return dataset('BatchDataset', d, shapes=([None],), batch_size=const(3))
    d = dataset('FlatMapDataset', slices([8, 3]), shapes=([None],), other_arguments=[], f=batches)
    Iterator(d, shapes=([None],)).drain(s, 4)
  with script('BatchDataset', 'zero') as s:
    d = dataset('BatchDataset', numbers(4), shapes=([None],), batch_size=const(0))
    s.run(targets=Iterator(d, shapes=([None],)).init, error=True)
  @function.Defun(I, I, func_name='Times')
  def times(x, y):
    return x * y
  for sloppy in (False, True):
    with script('ParallelMapDataset', 'one_sloppy' if sloppy else 'ordered') as s:
      calls = tf.constant(1 if sloppy else 3, tf.int32)
      d = dataset('ParallelMapDataset', numbers(5), other_arguments=[const(3)], num_parallel_calls=calls, f=times, sloppy=sloppy)
      Iterator(d).drain(s, 5)
  with script('ParallelMapDataset', 'zero') as s:
    d = dataset('ParallelMapDataset', numbers(5), other_arguments=[const(3)], num_parallel_calls=tf.constant(0, tf.int32), f=times)
    s.run(targets=Iterator(d).init, error=True)
  with script('ModelDataset', 'numbers') as s:
    Iterator(dataset('ModelDataset', numbers(3))).drain(s, 3)
  with script('OptionsDataset', 'none') as s:
    Iterator(dataset('OptionsDataset', numbers(3), serialized_options='')).drain(s, 3)
  with script('Iterator', 'numbers') as s:
    it = apply('Iterator', shared_name='it', container='', output_types=[I], output_shapes=[SCALAR])[0]
    following = apply('IteratorGetNextSync', iterator=it, output_types=[I], output_shapes=[SCALAR])[0]
    init = apply('MakeIterator', dataset=numbers(3), iterator=it).op
    s.run(following, error=True)
    for _ in range(2):
      s.run(targets=init)
      for _ in range(3):
        s.run(following)
      s.run(following, error=True)
  with script('IteratorFromStringHandle', 'same') as s:
    it = Iterator(numbers(3))
    text = apply('IteratorToStringHandle', resource_handle=it.handle)[0]
    types = dict(output_types=[I], output_shapes=[SCALAR])
    again = apply('IteratorGetNext', iterator=apply('IteratorFromStringHandle', string_handle=text, **types)[0], **types)[0]
    s.run(targets=it.init)
    s.run(again)
    s.run(it.next)
    s.run(again)
    s.run(again, error=True)
  with script('IteratorFromStringHandle', 'garbage') as s:
    text = tf.placeholder(STR, [])
    s.run(targets=apply('IteratorFromStringHandle', string_handle=text).op, feeds={text: np.array('rubbish', object)}, error=True)
  with script('DummySeedGenerator', 'made') as s:
    s.run(targets=apply('DummySeedGenerator').op)
