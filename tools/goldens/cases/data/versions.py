# SPDX-License-Identifier: Apache-2.0
"""Second versions of datasets, as clients of TensorFlow 2 send them."""
import numpy as np
from tensorflow.python.framework import function

from cases.data.build import I, SCALAR, STR, Iterator, const, dataset, inside, numbers, slices
from cases.io import gzipped, tfrecord
from record import TEMP_DIR, apply, script, tf


def shuffled():
  for reshuffle in (False, True):
    label = 'reshuffle' if reshuffle else 'same'
    def generator():
      return apply('AnonymousSeedGenerator', seed=const(5), seed2=const(6), reshuffle=tf.constant(reshuffle))[0]
    with script('ShuffleDatasetV2', label) as s:
      d = dataset('ShuffleDatasetV2', numbers(10), buffer_size=const(4), seed_generator=generator())
      Iterator(dataset('RepeatDataset', d, count=const(2))).drain(s, 20)
    with script('ShuffleAndRepeatDatasetV2', label) as s:
      buffer_size, count = tf.placeholder(I, []), tf.placeholder(I, [])
      d = dataset('ShuffleAndRepeatDatasetV2', numbers(6), buffer_size=buffer_size, seed=const(1), seed2=const(2), count=count,
                  seed_generator=generator(), reshuffle_each_iteration=reshuffle)
      it = Iterator(d)
      it.drain(s, 12, {buffer_size: 3, count: 2})
      for bad in ({buffer_size: 0, count: 2}, {buffer_size: 3, count: 0}, {buffer_size: 3, count: -2}):
        s.run(targets=it.init, feeds=bad, error=True)
  with script('ShuffleAndRepeatDatasetV2', 'own_seeds') as s:
    d = dataset('ShuffleAndRepeatDatasetV2', numbers(6), buffer_size=const(3), seed=const(4), seed2=const(9), count=const(2),
                seed_generator=apply('DummySeedGenerator')[0])
    Iterator(d).drain(s, 12)
  with script('ShuffleDatasetV2', 'one') as s:
    buffer_size = tf.placeholder(I, [])
    it = Iterator(dataset('ShuffleDatasetV2', numbers(4), buffer_size=buffer_size, seed_generator=apply('DummySeedGenerator')[0]))
    it.drain(s, 4, {buffer_size: 1})
    s.run(targets=it.init, feeds={buffer_size: 0}, error=True)


def cached():
  for label, cache in (('anonymous', 'AnonymousMemoryCache'), ('dummy', 'DummyMemoryCache')):
    with script('CacheDatasetV2', label) as s:
      d = dataset('ShuffleDataset', numbers(8), buffer_size=const(4), seed=const(5), seed2=const(6))
      d = dataset('CacheDatasetV2', d, filename=tf.constant(''), cache=apply(cache)[0])
      Iterator(dataset('RepeatDataset', d, count=const(3))).drain(s, 24)
    with script(cache) as s:
      s.run(targets=apply(cache).op)
  with script('CacheDatasetV2', 'file') as s:
    path = tf.placeholder(STR, [])
    d = dataset('CacheDatasetV2', numbers(3), filename=path, cache=apply('DummyMemoryCache')[0])
    Iterator(dataset('RepeatDataset', d, count=const(2))).drain(s, 6, {path: TEMP_DIR + '/cache'})
  with script('CacheDatasetV2', 'shared') as s:
    cache = apply('AnonymousMemoryCache')[0]
    def through(source):
      return dataset('CacheDatasetV2', source, filename=tf.constant(''), cache=cache)
    d = dataset('ConcatenateDataset', through(numbers(3)), another_dataset=through(slices([7, 8])))
    Iterator(d).drain(s, 6)


def records():
  content = [tfrecord([b'one', b'', b'three']), tfrecord([b'four', b'five'])]
  one, four = len(tfrecord([b'one'])), len(tfrecord([b'four']))
  for label, kind, pack in (('plain', '', lambda d: d), ('gzip', 'GZIP', gzipped)):
    def read(files, offsets):
      return apply('TFRecordDatasetV2', filenames=files, compression_type=tf.constant(kind), buffer_size=const(1024), byte_offsets=offsets)[0]
    with script('TFRecordDatasetV2', label) as s:
      files, offsets = tf.placeholder(STR, None), tf.placeholder(I, None)
      it = Iterator(inside(read, (files, offsets), (STR,)), (STR,))
      names = np.array([s.file('a', pack(content[0])), s.file('b', pack(content[1]))], object)
      for n, at in ((5, [0, 0]), (3, [one, four]), (2, [len(content[0]), 0])):
        it.drain(s, n, {files: names, offsets: at})
      it.drain(s, 1, {files: names[1], offsets: four})
      s.run(targets=it.init, feeds={files: names, offsets: [3, four]})
      s.run(it.next, error=True)
      s.run(it.next)
      for bad in (0, [[0, 0]]):
        s.run(targets=it.init, feeds={files: names, offsets: bad})
        s.run(it.next, error=True)


def filtered():
  def filtered_by(predicate, n, calls=2, captured=()):
    def make(*args):
      source = apply('TensorSliceDataset', components=[tf.range(const(n))], output_shapes=[[]])[0]
      return dataset('ParallelFilterDataset', source, other_arguments=list(args), num_parallel_calls=const(calls), predicate=predicate, deterministic='true')
    return Iterator(inside(make, captured))
  for calls in (1, 3, -1):
    with script('ParallelFilterDataset', 'calls%d' % calls if calls > 0 else 'any') as s:
      @function.Defun(I, I, func_name='Below')
      def below(x, y):
        return tf.less(x % 4, y)
      y = tf.placeholder(I, [])
      it = filtered_by(below, 9, calls, (y,))
      it.drain(s, 5, {y: 2})
      it.drain(s, 0, {y: 0})
  for label, value in (('vector', [True, False]), ('number', 1.0)):
    with script('ParallelFilterDataset', label) as s:
      @function.Defun(I, func_name='Predicate')
      def predicate(x):
        return tf.constant(value)
      it = filtered_by(predicate, 3)
      s.run(targets=it.init)
      s.run(it.next, error=True)
  with script('ParallelFilterDataset', 'fails') as s:
    @function.Defun(I, func_name='FailsAtTwo')
    def fails(x):
      return tf.greater_equal(tf.size(tf.reshape(tf.range(x), [tf.where(tf.equal(x, 2), tf.constant(9, I), x)])), 0)
    it = filtered_by(fails, 4)
    s.run(targets=it.init)
    for error in (False, False, True, False, True):
      s.run(it.next, error=error)


def divided():
  for first in ('', 'Experimental'):
    op = first + 'AutoShardDataset'
    for label, policy in (('auto', 0), ('data', 2), ('off', -1), ('hint', 3)):
      with script(op, label) as s:
        workers, index = tf.placeholder(I, []), tf.placeholder(I, [])
        it = Iterator(dataset(op, numbers(7), num_workers=workers, index=index, auto_shard_policy=policy))
        for n, i in ((1, 0), (3, 0), (3, 2)):
          it.drain(s, len(range(i, 7, n)) if policy in (0, 2) else 7, {workers: n, index: i})
        for n, i in ((0, 0), (2, 2), (2, -1)):
          s.run(targets=it.init, feeds={workers: n, index: i}, error=True)
    op = first + 'ChooseFastestDataset'
    def fastest(*inputs, **kw):
      return Iterator(apply(op, input_datasets=list(inputs), output_types=[I], output_shapes=[SCALAR], **kw)[0])
    for n in (1, 3, 9):
      with script(op, 'tries%d' % n) as s:
        fastest(numbers(5), slices(np.arange(5)), num_experiments=n).drain(s, 5)
    with script(op, 'errors') as s:
      s.run(targets=fastest(numbers(5), numbers(4), num_experiments=2).init, error=True)
      s.run(targets=fastest(numbers(5), slices(['a'], STR), num_experiments=2).init, error=True)


def versions():
  divided()
  shuffled()
  cached()
  records()
  filtered()
