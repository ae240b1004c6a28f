# SPDX-License-Identifier: Apache-2.0
"""Ops that take a dataset as a whole, and datasets for few programs."""
import numpy as np
from tensorflow.python.framework import function

from cases.data.build import F, I, SCALAR, STR, Iterator, const, dataset, numbers, slices
from record import apply, script, tf


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
