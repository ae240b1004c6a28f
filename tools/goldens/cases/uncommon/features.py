# SPDX-License-Identifier: Apache-2.0
"""Counts, crosses, fingerprints, parsed sequences, layouts."""
import numpy as np

from cases.uncommon.common import I32, I64
from record import apply, op, script, tf


def bincounts():
  v, w = I32([[3, 0, 3, 7], [1, 1, 0, 2]]), np.float32([[1, 2, 3, 4], [5, 6, 7, 8]])
  none = np.zeros([0])
  for index in (I32, I64):
    op('DenseBincount', index(v), index(5), none, types=('float', 'double', 'int32', 'int64'), label=index.__name__, grad=False)
  op('DenseBincount', v, I32(8), w, label='weights', grad=False)
  op('DenseBincount', v[0], I32(4), w[0], label='vector', grad=False, const=(1,))
  op('DenseBincount', v[0], I32(4), none, label='binary', binary_output=True, grad=False)
  op('DenseBincount', I32(2), I32(4), none, label='scalar', grad=False)
  op('DenseBincount', I32([-1]), I32(4), none, label='negative', error=True)
  op('DenseBincount', v, I32(-1), none, label='negative_size', error=True)
  op('DenseBincount', v[None], I32(3), none, label='rank3', error=True)
  op('DenseBincount', v, I32(3), w[:1], label='weights_shape', error=True)
  at = I64([[0, 1], [0, 3], [2, 0]])
  op('SparseBincount', at, I32([1, 1, 4]), I64([3, 4]), I32(5), none, grad=False, const=(2, 3))
  op('SparseBincount', at, I64([1, 1, 4]), I64([3, 4]), I64(3), [2, 3, 4.0], label='weights', grad=False)
  op('SparseBincount', at[:, :1], I32([1, 1, 4]), I64([3]), I32(5), none, label='vector', binary_output=True, grad=False)
  op('SparseBincount', at, I32([1, 1, 4]), I64([2, 4]), I32(5), none, label='outside', error=True)
  op('RaggedBincount', I64([0, 2, 2, 5]), I32([1, 1, 0, 3, 9]), I32(4), none, grad=False, const=(2,))
  op('RaggedBincount', I64([0, 2, 2, 5]), I64([1, 1, 0, 3, 3]), I64(4), [1, 2, 3, 4, 5.0], label='weights', grad=False)
  op('RaggedBincount', I64([1, 2]), I32([1, 1]), I32(4), none, label='start', error=True)
  op('RaggedBincount', I64([0, 3]), I32([1, 1]), I32(4), none, label='end', error=True)


def data_formats():
  for index in (I32, I64):
    op('DataFormatDimMap', index([[0, 1], [-1, 2]]), types=None)
    op('DataFormatVecPermute', index([1, 2, 3, 4]), types=None)
  op('DataFormatDimMap', I32([0, 1, 2, 3, 4, -5]), types=None, src_format='NDHWC', dst_format='NCDHW', label='volume')
  op('DataFormatDimMap', I32([0]), types=None, src_format='NHWC', dst_format='NHWW', label='twice', error=True)
  op('DataFormatDimMap', I32([0]), types=None, src_format='HWC', dst_format='CHW', label='short', error=True)
  op('DataFormatVecPermute', I32([[1, 2], [3, 4], [5, 6], [7, 8]]), types=None, label='pairs', src_format='HWNC', dst_format='NHWC')
  op('DataFormatVecPermute', I32([1, 2]), types=None, label='spatial', src_format='NHWC', dst_format='NCWH')
  op('DataFormatVecPermute', I32([1, 2, 3]), types=None, label='three', error=True)
  op('DataFormatVecPermute', I32([[1, 2, 3]] * 4), types=None, label='wide', error=True)


def fingerprints():
  for data in (np.array([[1.5, 2], [3, 4]], np.float32), I64([7, 8]), np.array([['a', 'bc'], ['', 'd']], object), np.array(['x', 'long word'], object)):
    with script('Fingerprint', str(data.dtype) + str(data.ndim)) as s:
      y = apply('Fingerprint', data=tf.constant(data), method='farmhash64')[0]
      s.run(y)
      s.static_shapes(y)
  with script('Fingerprint', 'errors') as s:
    s.run(apply('Fingerprint', data=tf.constant([1.0]), method=tf.placeholder_with_default('md5', []))[0], error=True)


def crosses():
  a = (I64([[0, 0], [0, 1], [2, 0]]), np.array(['a', 'b', 'c'], object), I64([3, 2]))
  b = (I64([[0, 0], [1, 0], [2, 0], [2, 1]]), np.array(['x', 'y', 'z', 'w'], object), I64([3, 2]))
  n = (I64([[0, 0], [1, 0], [2, 0], [2, 1]]), I64([5, 77, -3, 2**40]), I64([3, 2]))
  words, numbers = np.array([['p', 'q'], ['r', 's'], ['', 't']], object), I64([[1, 2], [3, 4], [5, 6]])

  def inputs(sparse, dense):
    columns = [[tf.constant(v) for v in column] for column in zip(*sparse)] if sparse else [[], [], []]
    return dict(indices=columns[0], values=columns[1], shapes=columns[2], dense_inputs=[tf.constant(d) for d in dense])
  for label, sparse, dense in (('two', [a, b], []), ('dense', [a], [words]), ('numbers', [n, a], [numbers]), ('only_dense', [], [words, numbers])):
    with script('SparseCrossV2', label) as s:
      y = apply('SparseCrossV2', sep='-', **inputs(sparse, dense))
      s.run(list(y.outputs))
      s.static_shapes(*y.outputs)
    for buckets in (0, 100):
      with script('SparseCross', '%s_%d' % (label, buckets)) as s:
        y = apply('SparseCross', hashed_output=True, num_buckets=buckets, hash_key=956888297470, out_type=tf.int64, internal_type=tf.int64, **inputs(sparse, dense))
        s.run(list(y.outputs))
      for strong in (False, True):
        if strong and label in ('numbers', 'only_dense'):
          continue  # reads a number as an address in TensorFlow 2.21
        with script('SparseCrossHashed', '%s_%d_%d' % (label, buckets, strong)) as s:
          y = apply('SparseCrossHashed', num_buckets=I64(buckets), strong_hash=strong, salt=I64([3, 4]), **inputs(sparse, dense))
          s.run(list(y.outputs))
  with script('SparseCross', 'strings') as s:
    y = apply('SparseCross', hashed_output=False, num_buckets=0, hash_key=1, out_type=tf.string, internal_type=tf.string, **inputs([a, b], [words]))
    s.run(list(y.outputs))
    s.static_shapes(*y.outputs)
  with script('SparseCrossV2', 'batch') as s:
    s.run(list(apply('SparseCrossV2', sep='-', **inputs([a], [words[:2]])).outputs), error=True)


def ragged_crosses():
  for label, hashed, splits in (('text', False, tf.int64), ('hashes', True, tf.int32)):
    with script('RaggedCross', label) as s:
      strings, numbers = tf.constant(['a', 'b', 'c']), tf.constant([10, 20, 30, 40], tf.int64)
      dense = tf.constant([['x', 'y'], ['z', 'w'], ['u', 'v']])
      out = apply('RaggedCross', ragged_values=[strings, numbers], ragged_row_splits=[tf.constant([0, 2, 2, 3], splits), tf.constant([0, 1, 3, 4], splits)],
                  sparse_indices=[tf.constant([[0, 0], [2, 0], [2, 1]], tf.int64)], sparse_values=[tf.constant(['s', 't', 'r'])],
                  sparse_shape=[tf.constant([3, 2], tf.int64)], dense_inputs=[dense], input_order='RSDR', hashed_output=hashed, num_buckets=100 if hashed else 0,
                  hash_key=956888297470, out_values_type=tf.int64 if hashed else tf.string, out_row_splits_type=splits)
      s.run(out.outputs)
  with script('RaggedCross', 'errors') as s:
    splits, column = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.string)
    out = apply('RaggedCross', ragged_values=[tf.constant(['a', 'b', 'c'])], ragged_row_splits=[splits], sparse_indices=[], sparse_values=[], sparse_shape=[], dense_inputs=[column],
                input_order='RD', hashed_output=False, num_buckets=0, hash_key=1, out_values_type=tf.string, out_row_splits_type=tf.int64)
    good = np.array([['x'], ['y']], object)
    s.run(out.outputs, {splits: np.int64([0, 1, 3]), column: good})
    for bad in ([], [1, 3], [0, 2, 1], [0, 2], [0, 1, 2, 3]):
      s.run(out.outputs, {splits: np.int64(bad), column: good}, error=True)
    s.run(out.outputs, {splits: np.int64([0, 1, 3]), column: np.array(['x', 'y'], object)}, error=True)


def sequences():
  feature = lambda **kw: tf.train.Feature(**kw)
  floats = lambda *v: feature(float_list=tf.train.FloatList(value=v))
  ints = lambda *v: feature(int64_list=tf.train.Int64List(value=v))
  words = lambda *v: feature(bytes_list=tf.train.BytesList(value=v))
  steps = lambda *v: tf.train.FeatureList(feature=v)
  full = tf.train.SequenceExample(
      context=tf.train.Features(feature={'a': floats(1, 2), 'n': ints(7), 'w': words(b'x', b'yy'), 'unset': feature()}),
      feature_lists=tf.train.FeatureLists(feature_list={
          'f': steps(floats(1, 2), floats(3, 4), floats(5, 6)), 's': steps(words(b'p'), words(), words(b'q', b'r')),
          'i': steps(ints(1), feature(), ints(2, 3)), 'short': steps(floats(1, 2), floats(3)), 'none': steps()}))

  def parse(s, error=False, message=full, missing=(), sparse=('n', 'w'), dense=('a',), lists=('s', 'i'), dense_lists=('f',), defaults=None, name=''):
    types = {'a': tf.float32, 'n': tf.int64, 'w': tf.string, 'f': tf.float32, 's': tf.string, 'i': tf.int64, 'short': tf.float32, 'none': tf.float32,
             'absent': tf.float32, 'unset': tf.float32}
    serialized = message if isinstance(message, bytes) else message.SerializeToString(deterministic=True)
    y = apply('ParseSingleSequenceExample', serialized=tf.constant(serialized), feature_list_dense_missing_assumed_empty=tf.constant(list(missing), tf.string),
              context_sparse_keys=[tf.constant(k) for k in sparse], context_dense_keys=[tf.constant(k) for k in dense],
              feature_list_sparse_keys=[tf.constant(k) for k in lists], feature_list_dense_keys=[tf.constant(k) for k in dense_lists],
              context_dense_defaults=[tf.constant(defaults or [], types[k]) for k in dense], debug_name=name,
              context_sparse_types=[types[k] for k in sparse], context_dense_shapes=[[2]] * len(dense), feature_list_sparse_types=[types[k] for k in lists],
              feature_list_dense_types=[types[k] for k in dense_lists], feature_list_dense_shapes=[[2]] * len(dense_lists))
    s.run(list(y.outputs), error=error)
    if not error:
      s.static_shapes(*y.outputs)
  with script('ParseSingleSequenceExample') as s:
    parse(s)
  with script('ParseSingleSequenceExample', 'missing') as s:
    parse(s, sparse=('absent', 'unset'), dense=('absent',), defaults=[8.0, 9.0], lists=('absent', 'none'), dense_lists=('absent', 'none'), missing=('absent',))
  for label, more in (('required', dict(dense=('absent',))), ('list', dict(dense_lists=('absent',))), ('type', dict(dense_lists=('short',), sparse=(), lists=())),
                      ('bytes', dict(message=b'\x0a\x7f'))):
    with script('ParseSingleSequenceExample', label) as s:
      parse(s, error=True, name='me', **more)
