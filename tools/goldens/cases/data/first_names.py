# SPDX-License-Identifier: Apache-2.0
"""Datasets under the names that TensorFlow 1.12 to 1.15 wrote into graphs."""
import numpy as np
from tensorflow.python.framework import function

from cases.data.build import F, I, SCALAR, STR, Iterator, const, dataset, numbers, slices
from cases.elements import csv
from record import TEMP_DIR, apply, script, tf

V = tf.variant


def batches(n, size):
  return dataset('BatchDatasetV2', numbers(n), shapes=([None],), batch_size=const(size), drop_remainder=tf.constant(False))


def settings():
  for op, arg, values, bad in (('NonSerializable', None, (), None), ('MaxIntraOpParallelism', 'max_intra_op_parallelism', (0, 3), -1),
                               ('PrivateThreadPool', 'num_threads', (0, 2), -1), ('Sleep', 'sleep_microseconds', (10,), None)):
    with script('Experimental%sDataset' % op) as s:
      value = tf.placeholder(I, [])
      it = Iterator(dataset('Experimental%sDataset' % op, numbers(3), **({arg: value} if arg else {})))
      for v in values or (0,):
        it.drain(s, 3, {value: v} if arg else None)
      if bad is not None:
        s.run(targets=it.init, feeds={value: bad}, error=True)


def selections():
  with script('ExperimentalUnbatchDataset') as s:
    Iterator(dataset('ExperimentalUnbatchDataset', slices(np.arange(6).reshape(3, 2)))).drain(s, 6)
  with script('ExperimentalUniqueDataset') as s:
    Iterator(dataset('ExperimentalUniqueDataset', slices([3, 1, 3, 2, 1, 4]))).drain(s, 4)
  with script('ExperimentalIgnoreErrorsDataset') as s:
    @function.Defun(I, func_name='FailsAtTwo')
    def fails(x):
      return tf.reshape(tf.range(x), [tf.where(tf.equal(x, 2), tf.constant(9, I), x)])
    d = dataset('MapDataset', numbers(5), shapes=([None],), other_arguments=[], f=fails)
    Iterator(dataset('ExperimentalIgnoreErrorsDataset', d, shapes=([None],)), shapes=([None],)).drain(s, 4)
  with script('ExperimentalTakeWhileDataset') as s:
    @function.Defun(I, I, func_name='Below')
    def below(x, limit):
      return tf.less(x, limit)
    Iterator(dataset('ExperimentalTakeWhileDataset', slices([1, 2, 5, 1]), other_arguments=[const(4)], predicate=below)).drain(s, 2)
  with script('ExperimentalDirectedInterleaveDataset') as s:
    which = tf.placeholder(I, [None])
    selector = apply('TensorSliceDataset', components=[which], output_shapes=[SCALAR])[0]
    it = Iterator(apply('ExperimentalDirectedInterleaveDataset', selector_input_dataset=selector, output_types=[I], output_shapes=[SCALAR],
                        data_input_datasets=[numbers(2), slices([10, 11, 12])])[0])
    it.drain(s, 4, {which: [0, 1, 0, 0, 1]})
    s.run(targets=it.init, feeds={which: [2]})
    s.run(it.next, error=True)
  with script('ExperimentalDatasetCardinality') as s:
    for_ever = dataset('RepeatDataset', numbers(3), count=const(-1))
    s.run([apply('ExperimentalDatasetCardinality', input_dataset=d)[0] for d in (numbers(7), batches(7, 2), for_ever)])
  with script('ExperimentalIteratorGetDevice') as s:
    s.run(apply('ExperimentalIteratorGetDevice', resource=Iterator(numbers(2)).handle)[0])


def functions():
  with script('ExperimentalScanDataset') as s:
    @function.Defun(I, I, func_name='Running')
    def running(total, x):
      return total + x, total * 10 + x
    Iterator(dataset('ExperimentalScanDataset', numbers(5), initial_state=[const(1)], other_arguments=[], f=running)).drain(s, 5)
  with script('ExperimentalMapAndBatchDataset') as s:
    @function.Defun(I, I, func_name='Times')
    def times(x, y):
      return x * y
    size = tf.placeholder(I, [])
    d = dataset('ExperimentalMapAndBatchDataset', numbers(7), shapes=([None],), other_arguments=[const(3)], f=times, batch_size=size,
                num_parallel_calls=const(2), drop_remainder=tf.constant(False))
    it = Iterator(d, shapes=([None],))
    it.drain(s, 3, {size: 3})
    s.run(targets=it.init, feeds={size: 0}, error=True)
  with script('ExperimentalParallelInterleaveDataset') as s:
    @function.Defun(I, func_name='Repeated')
    def repeated(x):
      return dataset('RepeatDataset', apply('TensorDataset', components=[x], output_shapes=[[]])[0], count=x)
    cycle = tf.placeholder(I, [])
    d = dataset('ExperimentalParallelInterleaveDataset', slices([4, 5, 1, 6]), other_arguments=[], f=repeated, cycle_length=cycle,
                block_length=const(2), sloppy=tf.constant(False), buffer_output_elements=const(1), prefetch_input_elements=const(0))
    it = Iterator(d)
    it.drain(s, 16, {cycle: 2})
    s.run(targets=it.init, feeds={cycle: 0}, error=True)
  with script('ExperimentalGroupByWindowDataset') as s:
    @function.Defun(I, func_name='Key')
    def key(x):
      return x % 2
    @function.Defun(I, V, func_name='Reduce')
    def reduce(k, window):
      return dataset('BatchDatasetV2', window, shapes=([None],), batch_size=const(10), drop_remainder=tf.constant(False))
    @function.Defun(I, func_name='WindowSize')
    def window_size(k):
      return k + 2
    d = apply('ExperimentalGroupByWindowDataset', input_dataset=numbers(11), key_func_other_arguments=[], reduce_func_other_arguments=[],
              window_size_func_other_arguments=[], key_func=key, reduce_func=reduce, window_size_func=window_size,
              output_types=[I], output_shapes=[[None]])[0]
    Iterator(d, shapes=([None],)).drain(s, 5)
  with script('ExperimentalGroupByReducerDataset') as s:
    @function.Defun(I, func_name='KeyOf')
    def key_of(x):
      return x % 3
    @function.Defun(I, func_name='First')
    def first(k):
      return k * 100
    @function.Defun(I, I, func_name='AddOne')
    def add(total, x):
      return total + x
    @function.Defun(I, func_name='Last')
    def last(total):
      return tf.cast(total, F) / 2.0
    d = apply('ExperimentalGroupByReducerDataset', input_dataset=numbers(8), key_func_other_arguments=[], init_func_other_arguments=[],
              reduce_func_other_arguments=[], finalize_func_other_arguments=[], key_func=key_of, init_func=first, reduce_func=add,
              finalize_func=last, output_types=[F], output_shapes=[SCALAR])[0]
    Iterator(d, (F,)).drain(s, 3)


def rows():
  with script('ExperimentalRebatchDataset') as s:
    Iterator(dataset('ExperimentalRebatchDataset', batches(7, 5), shapes=([None],), num_replicas=const(3)), shapes=([None],)).drain(s, 6)
  with script('ExperimentalDenseToSparseBatchDataset') as s:
    shape = tf.placeholder(I, [1])
    d = dataset('ExperimentalDenseToSparseBatchDataset', batches(5, 2), (V,), (None,), batch_size=const(2), row_shape=shape)
    it = Iterator(d, (V,), (None,))
    it.next = apply('DeserializeSparse', serialized_sparse=tf.placeholder_with_default(it.next[0], None), dtype=I).outputs
    it.drain(s, 2, {shape: [-1]})
    s.run(targets=it.init, feeds={shape: [1]})
    s.run(it.next, error=True)
  with script('ExperimentalParseExampleDataset') as s:
    def example(values):
      feature = tf.train.Feature(float_list=tf.train.FloatList(value=values))
      return tf.train.Example(features=tf.train.Features(feature={'x': feature})).SerializeToString(deterministic=True)
    serialized = slices(np.array([[example([1, 2]), example([3, 4])]], object), STR)
    d = dataset('ExperimentalParseExampleDataset', serialized, (F,), ([None, 2],), num_parallel_calls=const(1),
                dense_defaults=[tf.constant([], F)], sparse_keys=[], dense_keys=['x'], sparse_types=[], dense_shapes=[[2]])
    Iterator(d, (F,), ([None, 2],)).drain(s, 1)


def windows():
  for op, attrs in (('SlidingWindowDataset', (True, False)), ('ExperimentalSlidingWindowDataset', (None,))):
    for drop in attrs:
      with script(op, {True: 'drop', False: 'keep', None: ''}[drop]) as s:
        args = [tf.placeholder(I, []) for _ in range(3)]
        kw = {} if drop is None else {'drop_remainder': drop}
        d = dataset(op, numbers(8), shapes=([None],), window_size=args[0], window_shift=args[1], window_stride=args[2], **kw)
        it = Iterator(d, shapes=([None],))
        for size, shift, stride in ((3, 1, 2), (2, 5, 1), (9, 3, 1)):
          starts = range(0, 8, shift)
          n = len([k for k in starts if drop is False or k + (size - 1) * stride < 8])
          it.drain(s, n, dict(zip(args, (size, shift, stride))))
        for bad in range(3):
          s.run(targets=it.init, feeds={a: 0 if i == bad else 1 for i, a in enumerate(args)}, error=True)


def pools():
  for first in ('', 'Experimental'):
    pool = first + 'ThreadPoolHandle'
    with script(first + 'ThreadPoolDataset') as s:
      handle = apply(pool, num_threads=2, display_name='pool', shared_name='', container='')[0]
      Iterator(dataset(first + 'ThreadPoolDataset', numbers(3), thread_pool=handle)).drain(s, 3)
    with script(pool) as s:
      s.run(targets=apply(pool, num_threads=2, display_name='pool', shared_name='a', container='').op)
      for threads in (-1, 65536):
        s.run(targets=apply(pool, num_threads=threads, display_name='pool', shared_name='b', container='').op, error=True)


def reports():
  for first in ('', 'Experimental'):
    def aggregator():
      return apply(first + 'StatsAggregatorHandle', shared_name='', container='')[0]
    def reported(source, to, tag):
      return dataset(first + 'SetStatsAggregatorDataset', source, stats_aggregator=to, tag=tf.constant(tag), counter_prefix=tf.constant(''))
    with script(first + 'BytesProducedStatsDataset', options=('compare_summary',)) as s:
      to = aggregator()
      d = dataset(first + 'BytesProducedStatsDataset', numbers(4), tag=tf.constant('bytes'))
      it = Iterator(reported(dataset('RepeatDataset', d, count=const(2)), to, ''))
      it.drain(s, 8)
      s.run(apply(first + 'StatsAggregatorSummary', iterator=to)[0])
    for op in ('StatsAggregatorSummary', 'StatsAggregatorHandle'):
      with script(first + op, 'nothing') as s:
        s.run(apply(first + 'StatsAggregatorSummary', iterator=aggregator())[0])
    with script(first + 'SetStatsAggregatorDataset', 'tag', options=('compare_summary',)) as s:
      to = aggregator()
      d = dataset(first + 'BytesProducedStatsDataset', slices(['a', 'bcd'], STR), (STR,), tag=tf.constant('bytes'))
      d = dataset(first + 'SetStatsAggregatorDataset', d, (STR,), stats_aggregator=to, tag=tf.constant('all'), counter_prefix=tf.constant('c'))
      it = Iterator(d, (STR,))
      s.run(targets=it.init)
      for _ in range(2):
        s.run(targets=it.next[0].op)
      s.run(apply(first + 'StatsAggregatorSummary', iterator=to)[0])
    with script(first + 'LatencyStatsDataset') as s:
      Iterator(dataset(first + 'LatencyStatsDataset', numbers(3), tag=tf.constant('latency'))).drain(s, 3)


def sources():
  with script('ExperimentalRandomDataset') as s:
    @function.Defun(I, func_name='Random')  # which MakeIterator of TensorFlow 2.21 takes only from a function
    def random(seed):
      return apply('ExperimentalRandomDataset', seed=seed, seed2=const(9), output_types=[I], output_shapes=[SCALAR])[0]
    Iterator(dataset('FlatMapDataset', slices([4]), other_arguments=[], f=random)).drain(s, 6, end=False)
  with script('ExperimentalMatchingFilesDataset') as s:
    for name in ('b.txt', 'a.txt', 'c.py'):
      s.file(name, b'')
    patterns = tf.placeholder(STR, [None])
    it = Iterator(apply('ExperimentalMatchingFilesDataset', patterns=patterns)[0], (STR,))
    it.drain(s, 2, {patterns: np.array([TEMP_DIR + '/*.txt'], object)})
  with script('ExperimentalCSVDataset') as s:
    files = tf.placeholder(STR, [None])
    d = csv(files, [tf.constant([], I), tf.constant('')], (I, STR), op='ExperimentalCSVDataset')
    it = Iterator(d, (I, STR), (SCALAR, SCALAR))
    it.drain(s, 2, {files: np.array([s.file('a', b'1,"x, y"\n2,\n')], object)})
    s.run(targets=it.init, feeds={files: np.array([s.file('b', b'x,2\n')], object)})
    s.run(it.next, error=True)
  with script('ExperimentalDatasetToTFRecord') as s:
    path = tf.placeholder(STR, [])
    feeds = {path: TEMP_DIR + '/out'}
    s.run(targets=apply('ExperimentalDatasetToTFRecord', input_dataset=slices(['a', '', 'ccc'], STR), filename=path,
                        compression_type=tf.constant('')).op, feeds=feeds)
    d = apply('TFRecordDataset', filenames=path, compression_type=tf.constant(''), buffer_size=const(1024))[0]
    Iterator(d, (STR,)).drain(s, 3, feeds)


def first_names():
  settings()
  selections()
  functions()
  rows()
  windows()
  pools()
  reports()
  sources()
