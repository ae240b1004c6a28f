# SPDX-License-Identifier: Apache-2.0
"""Datasets that look at how they were made: as graphs, as numbers, checks of pipelines, shards by file, snapshots."""
from tensorflow.python.framework import function

from cases.data.build import I, SCALAR, STR, Iterator, const, dataset, numbers, slices
from cases.io import tfrecord
from record import TEMP_DIR, apply, script, tf

V = tf.variant


def doubled(source):
  @function.Defun(I, func_name='Doubled')
  def f(x):
    return x * 2
  return dataset('MapDataset', source, other_arguments=[], f=f)


def batches(source, size):
  return dataset('BatchDatasetV2', source, types=(I,), shapes=([None],), batch_size=const(size), drop_remainder=False)


def graphs():
  for op, policy in (('DatasetToGraph', {}), ('DatasetToGraphV2', dict(external_state_policy=2)), ('DatasetToGraphV2', dict(strip_device_assignment=True))):
    with script(op, '_'.join(policy) or 'plain') as s:
      d = doubled(dataset('TakeDataset', dataset('RepeatDataset', slices([1, 2, 3]), count=const(2)), count=const(4)))
      graph = apply(op, input_dataset=d, **policy)[0]
      again = apply('DatasetFromGraph', graph_def=graph)[0]
      Iterator(again).drain(s, 4)
  with script('DatasetFromGraph', 'malformed') as s:
    d = apply('DatasetFromGraph', graph_def=tf.constant('no graph'))[0]
    s.run(targets=Iterator(d).init, error=True)
  with script('DatasetToGraphV2', 'random') as s:
    @function.Defun(I, func_name='AnyNumber')
    def f(x):
      return x + tf.random.uniform([], maxval=9, dtype=I)
    d = dataset('MapDataset', numbers(3), other_arguments=[], f=f)
    s.run(apply('DatasetToGraphV2', input_dataset=d, external_state_policy=2)[0], error=True)
  with script('DatasetFingerprint', '') as s:
    number = lambda d: apply('DatasetFingerprint', input_dataset=d)[0]
    same = tf.bitcast(number(doubled(numbers(3))), I), tf.bitcast(number(doubled(numbers(3))), I), tf.bitcast(number(numbers(3)), I)
    s.run(tf.equal(same[0], same[1]))
    s.run(tf.equal(same[0], same[2]))


def sizes():
  with script('ComputeBatchSize', '') as s:
    size = lambda d: s.run(apply('ComputeBatchSize', input_dataset=d)[0])
    size(numbers(3))
    size(batches(numbers(3), 2))
    size(dataset('RepeatDataset', batches(numbers(3), 2), types=(I,), shapes=([None],), count=const(3)))
    size(dataset('ConcatenateDataset', batches(numbers(3), 2), types=(I,), shapes=([None],), another_dataset=batches(numbers(8), 2)))
    size(dataset('ConcatenateDataset', batches(numbers(3), 2), types=(I,), shapes=([None],), another_dataset=batches(numbers(8), 4)))


def checks():
  for op in ('AssertNextDataset', 'ExperimentalAssertNextDataset'):
    for label, names, good in (('holds', ['FiniteSkip', 'FiniteTake'], True), ('other', ['FiniteTake', 'FiniteSkip'], False), ('whoops', ['Whoops'], False),
                               ('too_many', ['FiniteSkip', 'FiniteTake', 'Root', 'More', 'More'], False)):
      with script(op, label) as s:
        d = dataset(op, numbers(3), transformations=tf.constant(names))
        it = Iterator(dataset('TakeDataset', dataset('SkipDataset', d, count=const(1)), count=const(1)))
        it.drain(s, 1) if good else s.run(targets=it.init, error=True)
  for label, texts, good in (('holds', ['name: "SkipDataset"', 'name: "TensorSliceDataset"'], True), ('batch', ['name: "BatchDataset"'], False),
                             ('attribute', ['name: "SkipDataset" attr { key: "nosuch" value { b: true } }'], False), ('malformed', ['}{'], False)):
    with script('AssertPrevDataset', label) as s:
      it = Iterator(dataset('AssertPrevDataset', dataset('SkipDataset', numbers(3), count=const(1)), transformations=tf.constant(texts)))
      it.drain(s, 2) if good else s.run(targets=it.init, error=True)


def file_shards():
  files = {'a': tfrecord([b'a0', b'a1']), 'b': tfrecord([b'b0']), 'c': tfrecord([b'c0', b'c1'])}
  for label, policy, index, count in (('file', 1, 0, 4), ('file_last', 1, 1, 1), ('auto', 0, 1, 1), ('data', 2, 1, 2), ('off', -1, 0, 5)):
    with script('AutoShardDataset', 'files_' + label) as s:
      for name, content in files.items():
        s.file(name, content)

      @function.Defun(STR, func_name='ReadOne')
      def read(name):
        return apply('TFRecordDataset', filenames=name, compression_type=tf.constant(''), buffer_size=const(1024))[0]
      names = tf.placeholder(STR, [3])
      source = apply('TensorSliceDataset', components=[names], output_shapes=[SCALAR])[0]
      d = dataset('FlatMapDataset', source, types=(STR,), other_arguments=[], f=read)
      d = dataset('PrefetchDataset', d, types=(STR,), buffer_size=const(1))
      d = dataset('AutoShardDataset', d, types=(STR,), num_workers=const(2), index=const(index), auto_shard_policy=policy)
      Iterator(d, (STR,)).drain(s, count, {names: [TEMP_DIR + '/' + n for n in 'abc']})
  with script('AutoShardDataset', 'no_files') as s:
    s.run(targets=Iterator(dataset('AutoShardDataset', numbers(4), num_workers=const(2), index=const(0), auto_shard_policy=1)).init, error=True)


def snapshots():
  def functions():
    @function.Defun(V, func_name='TheSame')
    def same(x):
      return x

    @function.Defun(V, func_name='ReadShards')
    def read(shards):
      return dataset('FlatMapDataset', shards, other_arguments=[], f=same)

    @function.Defun(I, func_name='OneShard')
    def shard(x):
      return x * 0
    return dict(reader_func=read, shard_func=shard, reader_func_other_args=[], shard_func_other_args=[])
  for compression in ('', 'GZIP', 'AUTO'):
    with script('SnapshotDatasetV2', compression or 'plain') as s:
      path = tf.placeholder(STR, [])
      feeds = {path: TEMP_DIR + '/snapshot'}
      it = Iterator(dataset('SnapshotDatasetV2', doubled(numbers(4)), path=path, compression=compression, **functions()))
      it.drain(s, 4, feeds)
      it.drain(s, 4, feeds)
  for label, attrs in (('auto', {}), ('gzip', dict(compression='GZIP')), ('passthrough', dict(mode='passthrough')), ('write', dict(mode='write')),
                       ('named', dict(snapshot_name='mine', shard_size_bytes=20))):
    with script('SnapshotDataset', label) as s:
      path = tf.placeholder(STR, [])
      feeds = {path: TEMP_DIR + '/snapshot'}
      it = Iterator(dataset('SnapshotDataset', doubled(numbers(4)), path=path, **attrs))
      it.drain(s, 4, feeds)
      it.drain(s, 4, feeds)
  with script('SnapshotDataset', 'read_nothing') as s:
    path = tf.placeholder(STR, [])
    it = Iterator(dataset('SnapshotDataset', numbers(2), path=path, mode='read'))
    s.run(targets=it.init, feeds={path: TEMP_DIR + '/nothing'})
    s.run(it.next, error=True)
  with script('SnapshotDataset', 'bad_mode') as s:
    s.run(targets=Iterator(dataset('SnapshotDataset', numbers(2), path=tf.constant('x'), mode='nosuch')).init, error=True)


def cases():
  graphs()
  sizes()
  checks()
  file_shards()
  snapshots()
