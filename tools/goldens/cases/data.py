# SPDX-License-Identifier: Apache-2.0
"""Datasets and iterators."""
import zlib

import numpy as np
from tensorflow.python.framework import function

from cases.io import gzipped, tfrecord
from record import TEMP_DIR, apply, script, tf

I, F, STR = tf.int64, tf.float32, tf.string
SCALAR = tf.TensorShape([])


def const(value):
  return tf.constant(value, I)


def slices(values, dtype=I):
  value = tf.constant(values, dtype)
  return apply('TensorSliceDataset', components=[value], output_shapes=[value.shape[1:]])[0]


def numbers(n):
  return slices(np.arange(n))


def dataset(op, source, types=(I,), shapes=(SCALAR,), **kw):
  return apply(op, input_dataset=source, output_types=list(types), output_shapes=list(shapes), **kw)[0]


class Iterator:
  """An initializable iterator over a dataset."""

  def __init__(self, source, types=(I,), shapes=(SCALAR,), name='it'):
    self.handle = apply('IteratorV2', shared_name=name, container='', output_types=list(types), output_shapes=list(shapes))[0]
    self.init = apply('MakeIterator', dataset=source, iterator=self.handle).op
    self.next = apply('IteratorGetNext', iterator=self.handle, output_types=list(types), output_shapes=list(shapes)).outputs

  def drain(self, s, n, feeds=None, end=True):
    s.run(targets=self.init, feeds=feeds)
    for _ in range(n):
      s.run(self.next)
    if end:
      s.run(self.next, error=True)
      s.run(self.next, error=True)


def sources():
  with script('TensorSliceDataset', 'two_components') as s:
    x, y = tf.constant(np.arange(6.0).reshape(3, 2), F), tf.constant(['a', 'b', 'c'])
    d = apply('TensorSliceDataset', components=[x, y], output_shapes=[[2], []])[0]
    Iterator(d, (F, STR), ([2], [])).drain(s, 3)
  with script('TensorSliceDataset', 'mismatch') as s:
    x, y = tf.placeholder(F, None), tf.placeholder(F, None)
    d = apply('TensorSliceDataset', components=[x, y], output_shapes=[None, None])[0]
    it = Iterator(d, (F, F), (None, None))
    s.run(targets=it.init, feeds={x: np.ones(2), y: np.ones(3)}, error=True)
    s.run(targets=it.init, feeds={x: np.ones(2), y: 1.0}, error=True)
    it.drain(s, 2, {x: np.ones([2, 1]), y: np.ones(2)})
  with script('TensorSliceDataset', 'empty') as s:
    Iterator(slices(np.zeros([0]))).drain(s, 0)
  with script('TensorDataset', 'one') as s:
    d = apply('TensorDataset', components=[tf.constant([1.0, 2]), tf.constant('x')], output_shapes=[[2], []])[0]
    Iterator(d, (F, STR), ([2], [])).drain(s, 1)
  records = [b'one', b'', b'three', b'four']
  for label, kind, pack in (('plain', '', lambda d: d), ('gzip', 'GZIP', gzipped)):
    with script('TFRecordDataset', label) as s:
      names = [s.file('a', pack(tfrecord(records[:2]))), s.file('b', pack(tfrecord(records[2:])))]
      files = tf.placeholder(STR, [None])
      d = apply('TFRecordDataset', filenames=files, compression_type=tf.constant(kind), buffer_size=const(1024))[0]
      Iterator(d, (STR,)).drain(s, 4, {files: np.array(names, object)})
  with script('TFRecordDataset', 'errors') as s:
    files = tf.placeholder(STR, [None])
    d = apply('TFRecordDataset', filenames=files, compression_type=tf.constant(''), buffer_size=const(0))[0]
    it = Iterator(d, (STR,))
    corrupt = tfrecord([b'abcdef'])
    s.run(targets=it.init, feeds={files: np.array([s.file('bad', corrupt[:-1] + b'!')], object)})
    s.run(it.next, error=True)
    s.run(targets=it.init, feeds={files: np.array([s.file('cut', corrupt[:-3])], object)})
    s.run(it.next, error=True)
    s.run(targets=it.init, feeds={files: np.array([TEMP_DIR + '/absent'], object)})
    s.run(it.next, error=True)


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


def iterators():
  with script('IteratorV2', 'uninitialized') as s:
    it = Iterator(numbers(2))
    s.run(it.next, error=True)
    it.drain(s, 2)
    it.drain(s, 2)
  with script('IteratorToStringHandle', 'switching') as s:
    a, b = Iterator(numbers(3), name='a'), Iterator(slices([10, 20, 30]), name='b')
    text = tf.placeholder(STR, [])
    it = apply('IteratorFromStringHandleV2', string_handle=text, output_types=[I], output_shapes=[SCALAR])[0]
    s.run(targets=[a.init, b.init])
    handles = [apply('IteratorToStringHandle', resource_handle=i.handle)[0] for i in (a, b)]
    through_a, through_b = [
        apply('IteratorGetNext', iterator=apply('IteratorFromStringHandleV2', string_handle=h, output_types=[I], output_shapes=[SCALAR])[0],
              output_types=[I], output_shapes=[SCALAR])[0] for h in handles]
    s.run(through_a)
    s.run([through_a, through_b])
    s.run(a.next)
    s.run(b.next)
    bad = apply('IteratorGetNext', iterator=it, output_types=[I], output_shapes=[SCALAR])[0]
    s.run(bad, {text: np.array('rubbish', object)}, error=True)
  with script('OneShotIterator', 'numbers') as s:
    @function.Defun(func_name='Factory')
    def factory():
      return numbers(3)
    it = apply('OneShotIterator', dataset_factory=factory, output_types=[I], output_shapes=[SCALAR])[0]
    following = apply('IteratorGetNext', iterator=it, output_types=[I], output_shapes=[SCALAR])[0]
    for _ in range(3):
      s.run(following)
    s.run(following, error=True)
  for op_name in ('SerializeIterator', 'DeserializeIterator'):
    with script(op_name, 'numbers') as s:
      a, b = Iterator(numbers(6), name='a'), Iterator(numbers(6), name='b')
      save = apply('SerializeIterator', resource_handle=a.handle)[0]
      restore = apply('DeserializeIterator', resource_handle=b.handle, serialized=save).op
      again = apply('DeserializeIterator', resource_handle=a.handle, serialized=save).op
      s.run(targets=save.op, error=True)
      s.run(targets=a.init)
      s.run(targets=restore, error=True)
      s.run(a.next)
      s.run(a.next)
      s.run(targets=b.init)
      s.run(targets=restore)
      s.run(b.next)
      s.run(b.next)
      s.run(a.next)
      s.run(targets=again)
      s.run(a.next)
      s.run(targets=restore)
      s.run(b.next)
      s.run(targets=b.init)
      s.run(b.next)
      for _ in range(2):
        s.run(a.next)
      s.run(a.next, error=True)
      s.run(targets=restore)
      s.run(b.next, error=True)
  for rate in (0.0, 0.4, 1.0):
    with script('SamplingDataset', 'rate_%d' % (10 * rate)) as s:
      it = Iterator(dataset('SamplingDataset', numbers(30), rate=tf.constant(rate, F), seed=tf.constant(3, tf.int64), seed2=tf.constant(7, tf.int64)))
      s.run(targets=it.init)
      for _ in range(int(rate * 20)):
        s.run(it.next)
      if rate in (0.0, 1.0):
        it.drain(s, int(rate * 30))
  for drop in (True, False):
    with script('ParallelBatchDataset', 'drop' if drop else 'keep') as s:
      d = dataset('ParallelBatchDataset', numbers(7), shapes=([None],), batch_size=tf.constant(3, tf.int64), num_parallel_calls=tf.constant(2, tf.int64),
                  drop_remainder=tf.constant(drop))
      Iterator(d, shapes=([None],)).drain(s, 2 if drop else 3)
  with script('ParallelBatchDataset', 'errors') as s:
    d = dataset('ParallelBatchDataset', numbers(7), shapes=([None],), batch_size=tf.constant(0, tf.int64), num_parallel_calls=tf.constant(2, tf.int64),
                drop_remainder=tf.constant(False))
    s.run(targets=Iterator(d, shapes=([None],)).init, error=True)
  with script('MatchingFilesDataset', 'patterns') as s:
    for name in ('b.txt', 'a.txt', 'c.py'):
      s.file(name, b'')
    patterns = tf.placeholder(STR, [None])
    it = Iterator(apply('MatchingFilesDataset', patterns=patterns)[0], (STR,))
    folder = TEMP_DIR + '/'
    it.drain(s, 2, {patterns: np.array([folder + '*.txt'], object)})
    it.drain(s, 3, {patterns: np.array([folder + '*.py', folder + '?.txt'], object)})
    s.run(targets=it.init, feeds={patterns: np.array([folder + '*.cc'], object)})
    s.run(it.next, error=True)
  with script('GetElementAtIndex', 'numbers') as s:
    index = tf.placeholder(tf.int64, [])
    at = apply('GetElementAtIndex', dataset=dataset('TakeDataset', numbers(6), count=tf.constant(4, tf.int64)), index=index,
               output_types=[I], output_shapes=[SCALAR])[0]
    for i in (0, 3, 1):
      s.run(at, {index: i})
    for i in (4, -1):
      s.run(at, {index: i}, error=True)
  with script('MakeIterator', 'wrong_types') as s:
    d = numbers(3)
    handle = apply('IteratorV2', shared_name='x', container='', output_types=[F], output_shapes=[SCALAR])[0]
    s.run(targets=apply('MakeIterator', dataset=d, iterator=handle).op, error=True)


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


def files():
  lines = [b'one\ntwo\r\n\nfour', b'five\nsix\n']
  for label, kind, pack in (('plain', '', lambda d: d), ('gzip', 'GZIP', gzipped), ('zlib', 'ZLIB', zlib.compress)):
    with script('TextLineDataset', label) as s:
      names = tf.placeholder(STR, [None])
      d = apply('TextLineDataset', filenames=names, compression_type=tf.constant(kind), buffer_size=const(256))[0]
      Iterator(d, (STR,)).drain(s, 6, {names: np.array([s.file('a', pack(lines[0])), s.file('b', pack(lines[1]))], object)})
    with script('FixedLengthRecordDatasetV2', label) as s:
      names = tf.placeholder(STR, [None])
      d = apply('FixedLengthRecordDatasetV2', filenames=names, header_bytes=const(2), record_bytes=const(3), footer_bytes=const(1),
                buffer_size=const(256), compression_type=tf.constant(kind))[0]
      paths = [s.file('a', pack(b'hhabcdeff')), s.file('b', pack(b'hhf')), s.file('c', pack(b'hhghif'))]
      Iterator(d, (STR,)).drain(s, 3, {names: np.array(paths, object)})
  with script('FixedLengthRecordDatasetV2', 'errors') as s:
    names, length = tf.placeholder(STR, [None]), tf.placeholder(I, [])
    d = apply('FixedLengthRecordDatasetV2', filenames=names, header_bytes=const(2), record_bytes=length, footer_bytes=const(1),
              buffer_size=const(0), compression_type=tf.constant(''))[0]
    it = Iterator(d, (STR,))
    path = np.array([s.file('a', b'hhabcdf')], object)
    s.run(targets=it.init, feeds={names: path, length: 0}, error=True)
    for path in (path, np.array([TEMP_DIR + '/absent'], object)):
      s.run(targets=it.init, feeds={names: path, length: 3})
      s.run(it.next, error=True)
  with script('TextLineDataset', 'errors') as s:
    names, kind = tf.placeholder(STR, [None]), tf.placeholder(STR, [])
    it = Iterator(apply('TextLineDataset', filenames=names, compression_type=kind, buffer_size=const(0))[0], (STR,))
    absent = np.array([TEMP_DIR + '/absent'], object)
    s.run(targets=it.init, feeds={names: absent, kind: np.array('ZIP', object)}, error=True)
    s.run(targets=it.init, feeds={names: absent, kind: np.array('', object)})
    s.run(it.next, error=True)
  def fixed(names, record_bytes):
    return apply('FixedLengthRecordDataset', filenames=names, header_bytes=const(2), record_bytes=record_bytes, footer_bytes=const(1),
                 buffer_size=const(0))[0]
  with script('FixedLengthRecordDataset', 'plain') as s:
    names, length = tf.placeholder(STR, [None]), tf.placeholder(I, [])
    @function.Defun(STR, I, func_name='Fixed')
    def fixed_of(name, length):
      return fixed(name, length)
    d = apply('TensorSliceDataset', components=[names], output_shapes=[[]])[0]
    it = Iterator(dataset('FlatMapDataset', d, (STR,), other_arguments=[length], f=fixed_of), (STR,))
    paths = np.array([s.file('a', b'hhabcdeff'), s.file('b', b'hhghif')], object)
    it.drain(s, 3, {names: paths, length: 3})
    for path, n in ((s.file('c', b'hhabcdf'), 3), (TEMP_DIR + '/absent', 3), (s.file('d', b'hhabcf'), 0)):
      s.run(targets=it.init, feeds={names: np.array([path], object), length: n})
      s.run(it.next, error=True)


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


def whole():
  with script('ReduceDataset', 'sum') as s:
    @function.Defun(I, F, I, F, func_name='Step')
    def step(total, count, x, scale):
      return total + x, count + scale
    n = tf.placeholder(I, [])
    d = dataset('TakeDataset', numbers(10), count=n)
    out = apply('ReduceDataset', input_dataset=d, initial_state=[const(1), tf.constant(0.0)], other_arguments=[tf.constant(0.5)], f=step,
                output_types=[I, F], output_shapes=[SCALAR, SCALAR]).outputs
    s.run(out, {n: 10})
    s.run(out, {n: 0})
  with script('DatasetToSingleElement') as s:
    n = tf.placeholder(I, [])
    out = apply('DatasetToSingleElement', dataset=dataset('TakeDataset', numbers(3), count=n), output_types=[I], output_shapes=[SCALAR]).outputs
    s.run(out, {n: 1})
    s.run(out, {n: 0}, error=True)
    s.run(out, {n: 2}, error=True)
  with script('DatasetCardinality', 'all') as s:
    @function.Defun(I, func_name='Same')
    def same(x):
      return x
    @function.Defun(I, func_name='Even')
    def even(x):
      return tf.equal(x % 2, 0)
    ten = numbers(10)
    drop = tf.constant(True)
    batches = dataset('BatchDatasetV2', ten, shapes=([None],), batch_size=const(4), drop_remainder=tf.constant(False))
    for_ever = dataset('RepeatDataset', ten, count=const(-1))
    span = apply('RangeDataset', start=const(10), stop=const(0), step=const(-3), output_types=[I], output_shapes=[SCALAR])[0]
    sets = [ten, span, batches, for_ever, dataset('BatchDatasetV2', ten, shapes=([4],), batch_size=const(4), drop_remainder=drop),
            dataset('RepeatDataset', ten, count=const(3)), dataset('RepeatDataset', ten, count=const(0)),
            dataset('TakeDataset', ten, count=const(3)), dataset('TakeDataset', for_ever, count=const(3)),
            dataset('TakeDataset', ten, count=const(-1)), dataset('SkipDataset', ten, count=const(3)),
            dataset('SkipDataset', ten, count=const(30)), dataset('SkipDataset', ten, count=const(-1)),
            dataset('ShardDataset', ten, num_shards=const(3), index=const(0)), dataset('ShardDataset', ten, num_shards=const(3), index=const(2)),
            dataset('FilterDataset', ten, other_arguments=[], predicate=even),
            dataset('MapDataset', ten, other_arguments=[], f=same), dataset('MapDataset', ten, other_arguments=[], f=same, preserve_cardinality=True),
            dataset('PrefetchDataset', ten, buffer_size=const(2)), dataset('CacheDataset', ten, filename=tf.constant('')),
            dataset('ConcatenateDataset', ten, another_dataset=span), dataset('ConcatenateDataset', ten, another_dataset=for_ever),
            apply('ZipDataset', input_datasets=[ten, span, for_ever], output_types=[I] * 3, output_shapes=[SCALAR] * 3)[0],
            dataset('AssertCardinalityDataset', ten, cardinality=const(5)),
            apply('RandomDataset', seed=const(1), seed2=const(2), output_types=[I], output_shapes=[SCALAR])[0]]
    s.run([apply('DatasetCardinality', input_dataset=d)[0] for d in sets])


def more():
  with script('IteratorGetNextAsOptional') as s:
    it = Iterator(numbers(2))
    nxt = apply('IteratorGetNextAsOptional', iterator=it.handle, output_types=[I], output_shapes=[SCALAR])[0]
    s.run(targets=it.init)
    for _ in range(2):
      s.run(apply('OptionalGetValue', optional=nxt, output_types=[I], output_shapes=[SCALAR]).outputs)
    s.run(apply('OptionalHasValue', optional=nxt)[0])
  with script('RandomDataset', 'seeded') as s:
    Iterator(apply('RandomDataset', seed=const(4), seed2=const(9), output_types=[I], output_shapes=[SCALAR])[0]).drain(s, 6, end=False)
  with script('RandomDatasetV2', 'seeded') as s:
    d = apply('RandomDatasetV2', seed=const(4), seed2=const(9), seed_generator=apply('DummySeedGenerator')[0], output_types=[I],
              output_shapes=[SCALAR])[0]
    Iterator(d).drain(s, 3, end=False)
  with script('IteratorGetDevice') as s:
    s.run(apply('IteratorGetDevice', resource=Iterator(numbers(2)).handle)[0])
  for op, names in (('OptimizeDataset', ['optimizations']), ('OptimizeDatasetV2', ['optimizations_enabled', 'optimizations_disabled',
                                                                                   'optimizations_default'])):
    with script(op) as s:
      Iterator(dataset(op, numbers(3), **{n: tf.constant([], STR) for n in names})).drain(s, 3)
  with script('ShuffleAndRepeatDataset', 'seeded') as s:
    d = dataset('ShuffleAndRepeatDataset', numbers(6), buffer_size=const(3), seed=const(4), seed2=const(9), count=const(2))
    Iterator(d).drain(s, 12)
  for stop in (False, True):
    with script('DirectedInterleaveDataset', 'stop' if stop else 'all') as s:
      d = apply('DirectedInterleaveDataset', selector_input_dataset=slices([0, 1, 0, 0, 1, 0, 0, 1, 1]),
                data_input_datasets=[numbers(2), slices([10, 11, 12, 13])], output_types=[I], output_shapes=[SCALAR], stop_on_empty_dataset=stop)[0]
      Iterator(d).drain(s, 3 if stop else 6)
  with script('DirectedInterleaveDataset', 'errors') as s:
    which = tf.placeholder(I, [None])
    selector = apply('TensorSliceDataset', components=[which], output_shapes=[SCALAR])[0]
    it = Iterator(apply('DirectedInterleaveDataset', selector_input_dataset=selector, data_input_datasets=[numbers(2)], output_types=[I],
                        output_shapes=[SCALAR])[0])
    s.run(targets=it.init, feeds={which: [0, 1]})
    s.run(it.next)
    s.run(it.next, error=True)
  with script('GroupByReducerDataset') as s:
    @function.Defun(I, func_name='KeyOf')
    def key(x):
      return x % 3
    @function.Defun(I, func_name='First')
    def first(k):
      return k * 100, tf.constant(0.0)
    @function.Defun(I, F, I, func_name='AddOne')
    def add(total, n, x):
      return total + x, n + 1.0
    @function.Defun(I, F, func_name='Last')
    def last(total, n):
      return tf.cast(total, F) / n
    d = apply('GroupByReducerDataset', input_dataset=numbers(8), key_func_other_arguments=[], init_func_other_arguments=[],
              reduce_func_other_arguments=[], finalize_func_other_arguments=[], key_func=key, init_func=first, reduce_func=add,
              finalize_func=last, output_types=[F], output_shapes=[SCALAR])[0]
    Iterator(d, (F,)).drain(s, 3)
  batches = lambda n, size: dataset('BatchDatasetV2', numbers(n), shapes=([None],), batch_size=const(size), drop_remainder=tf.constant(False))
  with script('RebatchDatasetV2', 'sizes') as s:
    d = dataset('RebatchDatasetV2', batches(11, 4), shapes=([None],), batch_sizes=tf.constant([2, 3], I), drop_remainder=tf.constant(False))
    Iterator(d, shapes=([None],)).drain(s, 5)
  with script('RebatchDatasetV2', 'drop') as s:
    d = dataset('RebatchDatasetV2', batches(11, 4), shapes=([None],), batch_sizes=const(3), drop_remainder=tf.constant(True))
    Iterator(d, shapes=([None],)).drain(s, 3)
  with script('RebatchDataset', 'replicas') as s:
    d = dataset('RebatchDataset', batches(7, 5), shapes=([None],), num_replicas=const(3))
    Iterator(d, shapes=([None],)).drain(s, 6)
  with script('SparseTensorSliceDataset') as s:
    d = apply('SparseTensorSliceDataset', indices=tf.constant([[0, 1], [2, 0], [2, 3]], I), values=tf.constant(['a', 'b', 'c']),
              dense_shape=tf.constant([4, 5], I))[0]
    Iterator(d, (I, STR, I), ([None, 1], [None], [1])).drain(s, 4)
  with script('DenseToSparseBatchDataset') as s:
    row = lambda n: apply('TensorDataset', components=[tf.constant(np.arange(n) + n, I)], output_shapes=[[n]])[0]
    rows = row(1)
    for n in (0, 3, 2):
      rows = dataset('ConcatenateDataset', rows, shapes=([None],), another_dataset=row(n))
    shape = tf.placeholder(I, [1])
    d = dataset('DenseToSparseBatchDataset', rows, (tf.variant,), (None,), batch_size=const(3), row_shape=shape)
    it = Iterator(d, (tf.variant,), (None,))
    it.next = apply('DeserializeSparse', serialized_sparse=tf.placeholder_with_default(it.next[0], None), dtype=I).outputs
    it.drain(s, 2, {shape: [6]})
    it.drain(s, 2, {shape: [-1]})
    s.run(targets=it.init, feeds={shape: [2]})
    s.run(it.next, error=True)
  with script('AssertCardinalityDataset', 'wrong') as s:
    n = tf.placeholder(I, [])
    it = Iterator(dataset('AssertCardinalityDataset', numbers(2), cardinality=n))
    it.drain(s, 2, {n: 2})
    for count, good in ((3, 2), (1, 1)):
      s.run(targets=it.init, feeds={n: count})
      for _ in range(good):
        s.run(it.next)
      s.run(it.next, error=True)
  for op, kw in (('FinalizeDataset', {}), ('NonSerializableDataset', {}), ('MaxIntraOpParallelismDataset', {'max_intra_op_parallelism': 1}),
                 ('PrivateThreadPoolDataset', {'num_threads': 2}), ('SleepDataset', {'sleep_microseconds': 10})):
    with script(op) as s:
      Iterator(dataset(op, numbers(3), **{k: const(v) for k, v in kw.items()})).drain(s, 3)
  with script('MapDataset', 'preserve_cardinality') as s:
    @function.Defun(I, func_name='Fails')
    def fails(x):
      with tf.control_dependencies([apply('DatasetToSingleElement', dataset=dataset('TakeDataset', numbers(2), count=x + 1),
                                          output_types=[I], output_shapes=[SCALAR]).op]):
        return x + 0
    Iterator(dataset('MapDataset', numbers(1), other_arguments=[], f=fails, preserve_cardinality=True)).drain(s, 1)


def cases():
  sources()
  windows()
  whole()
  more()
  transformations()
  iterators()
  selections()
  older()
  files()
