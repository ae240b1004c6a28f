# SPDX-License-Identifier: Apache-2.0
"""Datasets of tensors and of files."""
import zlib

import numpy as np
from tensorflow.python.framework import function

from cases.data.build import F, I, STR, Iterator, const, dataset, slices
from cases.io import gzipped, tfrecord
from record import TEMP_DIR, apply, script, tf


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
    good = np.array([s.file('a', b'hhabcdf')], object)
    s.run(targets=it.init, feeds={names: good, length: 0}, error=True)
    for path in (good, np.array([TEMP_DIR + '/absent'], object)):
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
