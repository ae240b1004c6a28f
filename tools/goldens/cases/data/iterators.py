# SPDX-License-Identifier: Apache-2.0
"""Iterators: handles, saved positions, elements by index."""
import numpy as np
from tensorflow.python.framework import function

from cases.data.build import F, I, SCALAR, STR, Iterator, dataset, numbers, slices
from record import TEMP_DIR, apply, script, tf


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
