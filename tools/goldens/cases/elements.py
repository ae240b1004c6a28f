# SPDX-License-Identifier: Apache-2.0
"""Datasets of lists, CSV files and Examples; elements by number; datasets that are put elsewhere."""
import numpy as np
from tensorflow.python.framework import function

from cases.data.build import F, I, SCALAR, STR, Iterator, const, dataset, numbers, slices
from cases.io import gzipped, tfrecord
from record import TEMP_DIR, apply, script, tf

V = tf.variant


def at(source, index, types=(I,), shapes=(SCALAR,)):
  return apply('GetElementAtIndex', dataset=source, index=index, output_types=list(types), output_shapes=list(shapes)).outputs


def batch(source, size, drop):
  return apply('BatchDatasetV2', input_dataset=source, batch_size=const(size), drop_remainder=tf.constant(drop), output_types=[I],
               output_shapes=[[None]])[0]


def squared(source):
  @function.Defun(I, func_name='Squared')
  def f(x):
    return x * x
  return dataset('MapDataset', source, other_arguments=[], f=f, preserve_cardinality=True)


def shuffled(source, seeds=(3, 4), reshuffle=True, shapes=(SCALAR,)):
  return dataset('GlobalShuffleDataset', source, shapes=shapes, seed=const(seeds[0]), seed2=const(seeds[1]),
                 seed_generator=apply('DummySeedGenerator')[0], reshuffle_each_iteration=reshuffle)


def chains():
  """Datasets whose elements can be had by number, with how many there are."""
  yield 'range', apply('RangeDataset', start=const(10), stop=const(-3), step=const(-2), output_types=[I], output_shapes=[SCALAR])[0], 7
  yield 'slices', slices([5, 7, 9]), 3
  yield 'map', squared(numbers(6)), 6
  yield 'take', dataset('TakeDataset', numbers(9), count=const(4)), 4
  yield 'skip', dataset('SkipDataset', numbers(9), count=const(4)), 5
  yield 'repeat', dataset('RepeatDataset', numbers(3), count=const(3)), 9
  yield 'concatenate', dataset('ConcatenateDataset', numbers(3), another_dataset=slices([7, 8])), 5
  yield 'shard', dataset('ShardDataset', numbers(9), num_shards=const(4), index=const(1)), 2
  yield 'prefetch', dataset('PrefetchDataset', numbers(4), buffer_size=const(2)), 4
  yield 'cache', dataset('CacheDataset', numbers(4), filename=tf.constant('')), 4


def by_number():
  for label, d, n in chains_of():
    with script('GetElementAtIndex', label) as s:
      i = tf.placeholder(I, [])
      element = at(d(), i)
      for k in (n - 1, 0, n // 2):
        s.run(element, feeds={i: k})
      s.run(element, feeds={i: n}, error=True)
      s.run(element, feeds={i: -1}, error=True)
  for label, d, n in chains_of():
    with script('GlobalShuffleDataset', label) as s:
      Iterator(shuffled(d())).drain(s, n)
  with script('GetElementAtIndex', 'batch') as s:
    i = tf.placeholder(I, [])
    element = at(batch(numbers(7), 3, False), i, shapes=([None],))
    for k in (2, 0):
      s.run(element, feeds={i: k})


def chains_of():
  """The same, each to be built in the graph of its case."""
  with tf.Graph().as_default():
    labels = [(label, n) for label, _, n in chains()]
  for k, (label, n) in enumerate(labels):
    yield label, (lambda k=k: [d for _, d, _ in chains()][k]), n


def shuffles():
  for reshuffle in (False, True):
    with script('GlobalShuffleDataset', 'twice_%s' % reshuffle) as s:
      Iterator(dataset('RepeatDataset', shuffled(numbers(20), reshuffle=reshuffle), count=const(2))).drain(s, 40)
  with script('GlobalShuffleDataset', 'batches') as s:
    Iterator(shuffled(batch(numbers(20), 3, True), shapes=([None],)), shapes=([None],)).drain(s, 6)
  with script('GlobalShuffleDataset', 'remainder') as s:
    s.run(targets=Iterator(shuffled(batch(numbers(20), 3, False), shapes=([None],)), shapes=([None],)).init, error=True)
  with script('GlobalShuffleDataset', 'errors') as s:
    count = tf.placeholder(I, [])
    it = Iterator(shuffled(dataset('RepeatDataset', numbers(3), count=count)))
    s.run(targets=it.init, feeds={count: -1}, error=True)
    @function.Defun(I, func_name='Even')
    def even(x):
      return tf.equal(x % 2, 0)
    s.run(targets=Iterator(shuffled(dataset('FilterDataset', numbers(4), other_arguments=[], predicate=even)), name='other').init, error=True)
  with script('GlobalShuffleDataset', 'empty') as s:
    s.run(targets=Iterator(shuffled(numbers(0))).init, error=True)


def anonymous():
  for op, outputs in (('AnonymousIterator', 1), ('AnonymousIteratorV2', 2), ('AnonymousIteratorV3', 1)):
    with script(op, 'step') as s:
      made = apply(op, output_types=[I], output_shapes=[SCALAR]).outputs
      with tf.control_dependencies([apply('MakeIterator', dataset=numbers(3), iterator=made[0]).op]):
        first = apply('IteratorGetNext', iterator=made[0], output_types=[I], output_shapes=[SCALAR])[0]
      with tf.control_dependencies([first]):
        second = apply('IteratorGetNext', iterator=made[0], output_types=[I], output_shapes=[SCALAR])[0]
      fetches = [first, second]
      if outputs == 2:
        with tf.control_dependencies([second]):
          gone = apply('DeleteIterator', handle=made[0], deleter=made[1]).op
        with tf.control_dependencies([gone]):
          fetches = [first, tf.identity(second)]
      for _ in range(2):  # each step has its own
        s.run(fetches)


def states():
  with script('DeserializeIterator', 'as_string') as s:
    it = Iterator(numbers(5))
    state = apply('SerializeIterator', resource_handle=it.handle)[0]
    # How much there is of a state is nobody's business; that a string of it leads back is.
    text = apply('SerializeTensor', tensor=state)[0]
    kept = tf.Variable('', dtype=STR, use_resource=False, collections=[])
    back = apply('DeserializeIterator', resource_handle=it.handle, serialized=apply('ParseTensor', serialized=kept, out_type=V)[0]).op
    s.run(targets=it.init)
    for _ in range(2):
      s.run(it.next)
    s.run(targets=tf.assign(kept, text).op)
    for _ in range(3):
      s.run(it.next)
    s.run(targets=it.init)
    s.run(targets=back)
    for _ in range(3):
      s.run(it.next)
    s.run(it.next, error=True)


def in_step():
  with script('ZipDataset', 'after_errors') as s:
    @function.Defun(I, func_name='FailsAtOne')
    def fails(x):
      return tf.reshape(x, [tf.where(tf.equal(x, 1), tf.constant(9, I), tf.constant(1, I))])[0]
    bad = dataset('MapDataset', numbers(4), other_arguments=[], f=fails)
    types, shapes = (I, I), (SCALAR, SCALAR)
    d = apply('ZipDataset', input_datasets=[bad, numbers(4)], output_types=list(types), output_shapes=list(shapes))[0]
    it = Iterator(d, types, shapes)
    s.run(targets=it.init)
    s.run(it.next)
    s.run(it.next, error=True)
    for _ in range(2):
      s.run(it.next)
    s.run(it.next, error=True)


def repeated_ends():
  def start():
    @function.Defun(I, func_name='BelowTwo')
    def below(x):
      return tf.less(x, tf.constant(2, I))
    return dataset('TakeWhileDataset', numbers(4), other_arguments=[], predicate=below)
  with script('TakeWhileDataset', 'repeated') as s:
    Iterator(dataset('RepeatDataset', start(), count=const(2))).drain(s, 4)
  with script('TakeWhileDataset', 'concatenated') as s:
    Iterator(dataset('ConcatenateDataset', start(), another_dataset=start())).drain(s, 4)


def endless():
  with script('GroupByWindowDataset', 'endless') as s:
    @function.Defun(I, func_name='WindowKey')
    def key(x):
      return x
    @function.Defun(I, V, func_name='Window')
    def window(k, d):
      return d
    @function.Defun(I, func_name='WindowSize')
    def size(k):
      return tf.constant(2, I)
    for count in (-1, 2):
      source = dataset('RepeatDataset', numbers(2), count=const(count))
      d = dataset('GroupByWindowDataset', source, key_func_other_arguments=[], reduce_func_other_arguments=[], window_size_func_other_arguments=[],
                  key_func=key, reduce_func=window, window_size_func=size)
      s.run(apply('DatasetCardinality', input_dataset=d)[0])


def shuffled_rows():
  for label, value in (('vector', np.arange(10)), ('rows', np.arange(12).reshape(6, 2)), ('one', np.arange(1)), ('strings', np.array(list('abcde'), object))):
    with script('StatelessShuffle', label) as s:
      key = tf.constant(np.array([12345678901234567890], np.uint64))
      counter = tf.constant(np.array([7, 9], np.uint64))
      for alg in (1, 3):
        s.run(apply('StatelessShuffle', value=tf.constant(value), key=key, counter=counter, alg=tf.constant(alg))[0])
      s.run(apply('StatelessShuffle', value=tf.constant(value), key=key, counter=counter, alg=tf.constant(99))[0], error=True)


def given():
  with script('ListDataset', 'one') as s:
    d = apply('ListDataset', tensors=[const(3), const(1), const(2)], output_types=[I], output_shapes=[SCALAR])[0]
    Iterator(d).drain(s, 3)
  with script('ListDataset', 'two') as s:
    d = apply('ListDataset', tensors=[const([3]), tf.constant('a'), const([1, 2]), tf.constant('b')], output_types=[I, STR],
              output_shapes=[[None], SCALAR])[0]
    Iterator(d, (I, STR), ([None], SCALAR)).drain(s, 2)
  with script('WrapDatasetVariant', '') as s:
    wrapped = apply('WrapDatasetVariant', input_handle=numbers(3))[0]
    Iterator(apply('UnwrapDatasetVariant', input_handle=wrapped)[0]).drain(s, 3)
  with script('UnwrapDatasetVariant', 'errors') as s:
    s.run(targets=Iterator(apply('UnwrapDatasetVariant', input_handle=numbers(3))[0]).init, error=True)
  with script('RewriteDataset', '') as s:
    Iterator(dataset('RewriteDataset', numbers(3), rewrite_name=tf.constant('replicate_on_split'))).drain(s, 3)
  with script('TFRecordDataset', 'any_buffer') as s:
    files = tf.placeholder(STR, [])
    d = apply('TFRecordDataset', filenames=files, compression_type=tf.constant(''), buffer_size=const(-1))[0]
    Iterator(d, (STR,)).drain(s, 2, {files: s.file('a', tfrecord([b'one', b'two']))})


def csv(files, defaults, types, header=False, delim=',', quotes=True, na='', select=(), exclude=None, kind='', size=4, op=None):
  kw = {} if exclude is None else {'exclude_cols': const(np.array(exclude, np.int64))}
  return apply(op or ('CSVDataset' if exclude is None else 'CSVDatasetV2'), filenames=files, compression_type=tf.constant(kind), buffer_size=const(size),
               header=tf.constant(header), field_delim=tf.constant(delim), use_quote_delim=tf.constant(quotes), na_value=tf.constant(na),
               select_cols=const(np.array(select, np.int64)), record_defaults=defaults, output_shapes=[SCALAR] * len(types), **kw)[0]


def tables():
  text = b'1,2.5,"a, ""b"""\n2,,plain\r\n3,-1e3,"two\nlines"\r-4,0,\n'
  types = (I, F, STR)
  def defaults():
    return [tf.constant([], I), tf.constant([9.5]), tf.constant('none')]
  def names(*paths):
    return np.array(paths, object)
  for label, size, pack, kind in (('one', 1, lambda d: d, ''), ('large', 1000, lambda d: d, ''), ('gzip', 7, gzipped, 'GZIP')):
    with script('CSVDataset', label) as s:
      files = tf.placeholder(STR, [None])
      d = csv(files, defaults(), types, kind=kind, size=size)
      Iterator(d, types, [SCALAR] * 3).drain(s, 4, {files: names(s.file('a', pack(text)))})
  with script('CSVDatasetV2', 'excluded') as s:
    files = tf.placeholder(STR, [None])
    d = csv(files, [const(0), const(-1)], (I, I), header=True, delim='|', na='NA', exclude=[0])
    paths = names(s.file('a', b'a|b|c\n1|2|3\n4|NA|6'), s.file('b', b'x|y|z\n7|8|9\n'))
    Iterator(d, (I, I), (SCALAR, SCALAR)).drain(s, 3, {files: paths})
  with script('CSVDatasetV2', 'selected') as s:
    files = tf.placeholder(STR, [])
    d = csv(files, [tf.constant('')], (STR,), quotes=False, select=[1], exclude=[])
    Iterator(d, (STR,)).drain(s, 3, {files: s.file('a', b'1,"2,3\n4,"5\n6,7')})
  bad = (('quote', b'1,2"3\n4,5\n'), ('unescaped', b'1,"2"3"\n4,5\n'), ('few', b'1\n4,5\n'), ('many', b'1,2,3\n4,5\n'),
         ('number', b'x,2\n4,5\n'), ('missing', b',2\n4,5\n'))
  for label, content in bad:
    with script('CSVDataset', 'bad_' + label) as s:
      files = tf.placeholder(STR, [None])
      it = Iterator(csv(files, [tf.constant([], I), tf.constant('')], (I, STR)), (I, STR), (SCALAR, SCALAR))
      s.run(targets=it.init, feeds={files: names(s.file('a', content))})
      s.run(it.next, error=True)
      s.run(it.next)
      s.run(it.next, error=True)
  with script('CSVDataset', 'open') as s:
    files = tf.placeholder(STR, [None])
    it = Iterator(csv(files, [const(0), tf.constant('')], (I, STR)), (I, STR), (SCALAR, SCALAR))
    s.run(targets=it.init, feeds={files: names(s.file('a', b'1,"2\n'))})
    s.run(it.next, error=True)
  headers = (('open', b'h,"x\n1,a\n', 0), ('unescaped', b'h,"x"y"\n1,a\n2,b\n', 2), ('swallowed', b'h,"x"y\n1,a\n2,b\n', 0), ('quote', b'h,x"y\n1,a\n', 1), ('empty', b'', 0))
  for label, content, rows in headers:
    with script('CSVDataset', 'header_' + label) as s:
      files = tf.placeholder(STR, [None])
      it = Iterator(csv(files, [const(0), tf.constant('')], (I, STR), header=True), (I, STR), (SCALAR, SCALAR))
      s.run(targets=it.init, feeds={files: names(s.file('a', content), s.file('b', b'h,x\n7,c\n'))})
      s.run(it.next, error=True)
      for _ in range(rows + 1):
        s.run(it.next)
      s.run(it.next, error=True)
  wrong = (dict(size=0), dict(delim=',,'), dict(select=[1, 0]), dict(select=[0, 1, 2]), dict(select=[0, 1], exclude=[0]), dict(exclude=[-1]),
           dict(kind='RAR'))
  with script('CSVDatasetV2', 'errors') as s:
    for k, kw in enumerate(wrong):
      kw.setdefault('exclude', [])
      d = csv(tf.constant(['none']), [const(0), const(0)], (I, I), **kw)
      s.run(targets=Iterator(d, (I, I), (SCALAR, SCALAR), name='it%d' % k).init, error=True)


def examples():
  def example(**features):
    kinds = {'f': lambda v: tf.train.Feature(float_list=tf.train.FloatList(value=v)),
             'i': lambda v: tf.train.Feature(int64_list=tf.train.Int64List(value=v)),
             's': lambda v: tf.train.Feature(bytes_list=tf.train.BytesList(value=v))}
    return tf.train.Example(features=tf.train.Features(feature={k: kinds[k[0]](v) for k, v in features.items()})).SerializeToString(deterministic=True)
  rows = [example(f1=[1.5, 2], i1=[3], s1=[b'x']), example(f1=[0, 1], s1=[b'y', b'z']), example(i1=[4, 5])]
  for op, more in (('ParseExampleDataset', {}), ('ParseExampleDatasetV2', dict(deterministic='true'))):
    with script(op, 'dense_sparse') as s:
      batches = apply('BatchDatasetV2', input_dataset=slices(np.array(rows, object), STR), batch_size=const(2), drop_remainder=tf.constant(False),
                      output_types=[STR], output_shapes=[[None]])[0]
      types, shapes = (F, V, V), ([None, 2], [3], [3])
      d = dataset(op, batches, types, shapes, num_parallel_calls=const(1), dense_defaults=[tf.constant([7.0, 8])], sparse_keys=['s1', 'i1'],
                  dense_keys=['f1'], sparse_types=[STR, I], dense_shapes=[[2]], **more)
      it = Iterator(d, types, shapes)
      s.run(targets=it.init)
      parts = [it.next[0]]
      for v, t in ((it.next[1], I), (it.next[2], STR)):
        parts.extend(apply('DeserializeSparse', serialized_sparse=v, dtype=t).outputs)
      for _ in range(2):
        s.run(parts)
      s.run(parts, error=True)
  with script('ParseExampleDatasetV2', 'ragged') as s:
    types, shapes = (V,), (SCALAR,)
    d = dataset('ParseExampleDatasetV2', slices(np.array([rows], object), STR), types, shapes, num_parallel_calls=const(1), dense_defaults=[],
                sparse_keys=[], dense_keys=[], sparse_types=[], dense_shapes=[], ragged_keys=['s1'], ragged_value_types=[STR], ragged_split_types=[I])
    it = Iterator(d, types, shapes)
    s.run(targets=it.init)
    s.run(apply('RaggedTensorFromVariant', encoded_ragged=it.next[0], input_ragged_rank=1, output_ragged_rank=1, Tvalues=STR, Tsplits=I).outputs)
  with script('ParseExampleDatasetV2', 'required') as s:
    d = dataset('ParseExampleDatasetV2', slices(np.array([rows], object), STR), (F,), ([None, 2],), num_parallel_calls=const(1),
                dense_defaults=[tf.constant([], F)], sparse_keys=[], dense_keys=['f1'], sparse_types=[], dense_shapes=[[2]])
    it = Iterator(d, (F,), ([None, 2],))
    s.run(targets=it.init)
    s.run(it.next, error=True)


def rows_mapped():
  with script('MapDefun', 'rows') as s:
    @function.Defun(I, F, I, func_name='Row')
    def row(x, y, z):
      return x * z, tf.reshape(y, [1]), tf.as_string(x)
    x, y = tf.placeholder(I, None), tf.placeholder(F, None)
    out = apply('MapDefun', arguments=[x, y], captured_inputs=[const(3)], output_types=[I, F, STR], output_shapes=[[2], None, [2]], f=row).outputs
    s.run(out, feeds={x: [[1, 2], [3, 4]], y: [0.5, 1.5]})
    s.run(out[0], feeds={x: [[1, 2, 3]], y: [0.5]}, error=True)
    s.run(out[0], feeds={x: [[1, 2]], y: [0.5, 1.5]}, error=True)
    s.run(out[0], feeds={x: 1, y: [0.5]}, error=True)


def sinks():
  with script('DatasetToTFRecord', '') as s:
    path = tf.placeholder(STR, [])
    feeds = {path: TEMP_DIR + '/out'}
    def write(source, kind):
      return apply('DatasetToTFRecord', input_dataset=source, filename=path, compression_type=tf.constant(kind)).op
    s.run(targets=write(slices(['a', '', 'ccc'], STR), 'GZIP'), feeds=feeds)
    d = apply('TFRecordDataset', filenames=path, compression_type=tf.constant('GZIP'), buffer_size=const(1024))[0]
    Iterator(d, (STR,)).drain(s, 3, feeds)
    s.run(targets=write(numbers(3), ''), feeds=feeds, error=True)
  with script('InitializeTableFromDataset', '') as s:  # a dataset that does not fit ends TensorFlow's process
    table = apply('HashTableV2', key_dtype=I, value_dtype=STR, shared_name='t')[0]
    d = apply('TensorSliceDataset', components=[const([1, 2]), tf.constant(['a', 'b'])], output_shapes=[SCALAR, SCALAR])[0]
    s.run(targets=apply('InitializeTableFromDataset', table_handle=table, dataset=d).op)
    s.run(apply('LookupTableFindV2', table_handle=table, keys=const([2, 3, 1]), default_value=tf.constant('none'))[0])
  with script('InitializeTableFromDataset', 'empty') as s:
    table = apply('HashTableV2', key_dtype=I, value_dtype=STR, shared_name='nothing')[0]
    d = apply('TensorSliceDataset', components=[const(np.zeros([0])), tf.constant([], STR)], output_shapes=[SCALAR, SCALAR])[0]
    s.run(targets=apply('InitializeTableFromDataset', table_handle=table, dataset=d).op, error=True)
    s.run(apply('LookupTableFindV2', table_handle=table, keys=const([2]), default_value=tf.constant('none'))[0], error=True)


def saved():
  def load(path, kind=''):
    @function.Defun(V, func_name='TheSame')
    def same(x):
      return x
    @function.Defun(V, func_name='ReadShards')
    def read(shards):
      return dataset('FlatMapDataset', shards, other_arguments=[], f=same)
    return apply('LoadDataset', path=path, reader_func_other_args=[], output_types=[I], output_shapes=[SCALAR], compression=kind, reader_func=read)[0]
  for label, kind in (('plain', ''), ('gzip', 'GZIP')):
    with script('SaveDataset', label) as s:
      @function.Defun(I, I, func_name='Shard')
      def shard(x, n):
        return x % n
      path = tf.placeholder(STR, [])
      feeds = {path: TEMP_DIR + '/saved'}
      save = apply('SaveDataset', input_dataset=numbers(5), path=path, shard_func_other_args=[const(2)], compression=kind, shard_func=shard)
      s.run(targets=save.op, feeds=feeds)
      d = load(path, kind)
      s.run(apply('DatasetCardinality', input_dataset=d)[0], feeds=feeds)
      Iterator(d).drain(s, 5, feeds)
  with script('SaveDatasetV2', 'passing') as s:
    @function.Defun(I, func_name='Shard')
    def never(x):
      return x
    path = tf.placeholder(STR, [])
    feeds = {path: TEMP_DIR + '/saved'}
    d = dataset('SaveDatasetV2', numbers(3), path=path, shard_func_other_args=[], shard_func=never, use_shard_func=False)
    Iterator(d).drain(s, 3, feeds)
    Iterator(load(path), name='loaded').drain(s, 3, feeds)
  with script('LoadDataset', 'absent') as s:
    path = tf.placeholder(STR, [])
    s.run(targets=Iterator(load(path)).init, feeds={path: TEMP_DIR + '/absent'}, error=True)


def interleaved():
  def repeated():
    @function.Defun(I, func_name='Repeated')
    def f(x):
      return dataset('RepeatDataset', apply('TensorDataset', components=[x], output_shapes=[[]])[0], count=x)
    return f
  for cycle, block in ((1, 1), (2, 1), (2, 3)):
    for op, more in (('ParallelInterleaveDataset', dict(sloppy=False)), ('LegacyParallelInterleaveDatasetV2', {})):
      with script(op, 'cycle%d_%d' % (cycle, block)) as s:
        kw = {k: tf.constant(v) for k, v in more.items()}
        if not more:
          kw['deterministic'] = 'true'
        d = dataset(op, slices([4, 5, 1, 6]), other_arguments=[], f=repeated(), cycle_length=const(cycle), block_length=const(block),
                    buffer_output_elements=const(1), prefetch_input_elements=const(1), **kw)
        Iterator(d).drain(s, 16)
  with script('LegacyParallelInterleaveDatasetV2', 'errors') as s:
    out, ahead = tf.placeholder(I, []), tf.placeholder(I, [])
    it = Iterator(dataset('LegacyParallelInterleaveDatasetV2', numbers(3), other_arguments=[], f=repeated(), cycle_length=const(1), block_length=const(1),
                          buffer_output_elements=out, prefetch_input_elements=ahead))
    s.run(targets=it.init, feeds={out: 0, ahead: 0}, error=True)
    s.run(targets=it.init, feeds={out: 1, ahead: -2}, error=True)


def cases():
  by_number()
  shuffles()
  anonymous()
  states()
  in_step()
  repeated_ends()
  endless()
  shuffled_rows()
  given()
  tables()
  examples()
  rows_mapped()
  sinks()
  saved()
  interleaved()
