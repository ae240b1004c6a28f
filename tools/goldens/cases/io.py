# SPDX-License-Identifier: Apache-2.0
"""Checkpoints, readers of files, and the parsing of examples."""
import io
import struct
import zlib

import numpy as np
from tensorflow.core.example import example_pb2

from cases.state import c
from record import TEMP_DIR, apply, script, tf

TYPES = ('float', 'double', 'half', 'bfloat16', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'complex64',
         'complex128', 'bool', 'string')
X = np.array([[1.0, -2, 3], [0, 5, 6]])


def crc32c(data):
  crc = 0xffffffff
  for byte in data:
    crc ^= byte
    for _ in range(8):
      crc = (crc >> 1) ^ (0x82f63b78 if crc & 1 else 0)
  crc ^= 0xffffffff
  return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def tfrecord(records):
  """The bytes of a file of records."""
  out = io.BytesIO()
  for r in records:
    length = struct.pack('<Q', len(r))
    out.write(length + struct.pack('<I', crc32c(length)) + r + struct.pack('<I', crc32c(r)))
  return out.getvalue()


def gzipped(data):
  compress = zlib.compressobj(9, zlib.DEFLATED, 31)
  return compress.compress(data) + compress.flush()


def checkpoints():
  with script('SaveV2', 'all_types') as s:
    prefix = tf.placeholder(tf.string, [])
    tensors = [c(X, t) for t in TYPES]
    names = tf.constant(['t/' + t for t in TYPES])
    none = tf.constant([''] * len(TYPES))
    save = apply('SaveV2', prefix=prefix, tensor_names=names, shape_and_slices=none, tensors=tensors).op
    restore = apply('RestoreV2', prefix=prefix, tensor_names=names, shape_and_slices=none, dtypes=[tf.as_dtype(t) for t in TYPES])
    feeds = {prefix: np.array(TEMP_DIR + '/model.ckpt', object)}
    s.run(targets=save, feeds=feeds)
    s.run(restore.outputs, feeds)
    some = apply('RestoreV2', prefix=prefix, tensor_names=tf.constant(['t/string', 't/float']), shape_and_slices=tf.constant(['', '']),
                 dtypes=[tf.string, tf.float32])
    s.run(some.outputs, feeds)
  with script('RestoreV2', 'errors') as s:
    prefix, names = tf.placeholder(tf.string, None), tf.placeholder(tf.string, None)
    slices, dtypes = tf.placeholder(tf.string, None), [tf.float32]
    save = apply('SaveV2', prefix=prefix, tensor_names=tf.constant(['x']), shape_and_slices=tf.constant(['']), tensors=[c(X)]).op
    restore = apply('RestoreV2', prefix=prefix, tensor_names=names, shape_and_slices=slices, dtypes=dtypes)[0]
    p = np.array(TEMP_DIR + '/e.ckpt', object)
    ask = lambda name, part='', prefix_value=p: {prefix: prefix_value, names: np.array([name], object), slices: np.array([part], object)}
    s.run(restore, ask('x'), error=True)
    s.run(targets=save, feeds={prefix: p})
    s.run(restore, ask('x'))
    s.run(restore, ask('y'), error=True)
    s.run(restore, ask('x', '2 3 0,1:1,2'))
    s.run(restore, ask('x', '2 3 -:0,1'))
    s.run(restore, ask('x', '4 3 0,2:-'), error=True)
    s.run(restore, ask('x', 'rubbish'), error=True)
    s.run(restore, ask('x', '2 3 5,1:-'), error=True)
    wrong = apply('RestoreV2', prefix=prefix, tensor_names=names, shape_and_slices=slices, dtypes=[tf.int32])[0]
    s.run(wrong, ask('x'), error=True)
  with script('SaveV2', 'slices') as s:
    prefix = tf.placeholder(tf.string, [])
    save = apply('SaveV2', prefix=prefix, tensor_names=tf.constant(['x', 'x']),
                 shape_and_slices=tf.constant(['4 3 0,2:-', '4 3 2,2:-']), tensors=[c(X), c(-X)]).op
    def restore(part):
      return apply('RestoreV2', prefix=prefix, tensor_names=tf.constant(['x']), shape_and_slices=tf.constant([part]), dtypes=[tf.float32])[0]
    feeds = {prefix: np.array(TEMP_DIR + '/slices', object)}
    s.run(targets=save, feeds=feeds)
    s.run(restore(''), feeds)
    s.run(restore('4 3 1,2:0,2'), feeds)
    s.run(restore('4 3 0,2:-'), feeds)
  with script('SaveV2', 'errors') as s:
    prefix, names = tf.placeholder(tf.string, None), tf.placeholder(tf.string, None)
    save = apply('SaveV2', prefix=prefix, tensor_names=names, shape_and_slices=tf.constant(['']), tensors=[c(X)]).op
    s.run(targets=save, feeds={prefix: np.array(TEMP_DIR + '/a', object), names: np.array(['a', 'b'], object)}, error=True)
    s.run(targets=save, feeds={prefix: np.array([TEMP_DIR + '/a'] * 2, object), names: np.array(['a'], object)}, error=True)
  with script('MergeV2Checkpoints', 'two') as s:
    def part(i, name, value):
      return apply('SaveV2', prefix=tf.placeholder(tf.string, [], name='p%d' % i), tensor_names=tf.constant([name]),
                   shape_and_slices=tf.constant(['']), tensors=[c(value)]).op
    a, b = part(0, 'a', X), part(1, 'b', -X)
    to, parts = tf.placeholder(tf.string, []), tf.placeholder(tf.string, [None])
    merge = apply('MergeV2Checkpoints', checkpoint_prefixes=parts, destination_prefix=to).op
    restore = apply('RestoreV2', prefix=to, tensor_names=tf.constant(['a', 'b']), shape_and_slices=tf.constant(['', '']),
                    dtypes=[tf.float32, tf.float32])
    prefixes = [TEMP_DIR + '/tmp/part%d' % i for i in (0, 1)]
    s.run(targets=a, feeds={a.inputs[0]: np.array(prefixes[0], object)})
    s.run(targets=b, feeds={b.inputs[0]: np.array(prefixes[1], object)})
    destination = np.array(TEMP_DIR + '/merged', object)
    s.run(targets=merge, feeds={parts: np.array(prefixes, object), to: destination})
    s.run(restore.outputs, {to: destination})
    s.run(targets=merge, feeds={parts: np.array(prefixes, object), to: destination}, error=True)


def readers():
  def reading(s, reader, names):
    q = apply('FIFOQueueV2', component_types=[tf.string], shapes=[()], capacity=10)[0]
    files = tf.placeholder(tf.string, [None])
    fill = apply('QueueEnqueueManyV2', handle=q, components=[files]).op
    close = apply('QueueCloseV2', handle=q).op
    read = apply('ReaderReadV2', reader_handle=reader, queue_handle=q)
    up_to = apply('ReaderReadUpToV2', reader_handle=reader, queue_handle=q, num_records=tf.constant(3, tf.int64))
    produced = apply('ReaderNumRecordsProducedV2', reader_handle=reader)[0]
    completed = apply('ReaderNumWorkUnitsCompletedV2', reader_handle=reader)[0]
    reset = apply('ReaderResetV2', reader_handle=reader).op
    s.run(targets=fill, feeds={files: np.array(names, object)})
    s.run([produced, completed])
    s.run(read.outputs)
    s.run(read.outputs)
    s.run(up_to.outputs)
    s.run([produced, completed])
    s.run(targets=close)
    s.run(up_to.outputs)
    s.run(up_to.outputs, error=True)
    s.run([produced, completed])
    s.run(targets=reset)
    s.run([produced, completed])
    s.run(read.outputs, error=True)

  for kind in ('IdentityReaderV2', 'WholeFileReaderV2'):
    with script('ReaderSerializeStateV2', kind) as s:
      names = [s.file('%d.txt' % i, b'%d' % i) for i in range(3)]
      reader, q = apply(kind)[0], apply('FIFOQueueV2', component_types=[tf.string], shapes=[()], capacity=10)[0]
      files, state = tf.placeholder(tf.string, [None]), tf.placeholder(tf.string)
      fill = apply('QueueEnqueueManyV2', handle=q, components=[files]).op
      read = apply('ReaderReadV2', reader_handle=reader, queue_handle=q)[1]
      counts = [apply('ReaderNumRecordsProducedV2', reader_handle=reader)[0], apply('ReaderNumWorkUnitsCompletedV2', reader_handle=reader)[0]]
      restore = apply('ReaderRestoreStateV2', reader_handle=reader, state=state).op
      s.run(targets=fill, feeds={files: np.array(names, object)})
      s.run(apply('ReaderSerializeStateV2', reader_handle=reader)[0])
      s.run(read)
      s.run(read)
      s.run(counts)
      s.run(targets=restore, feeds={state: np.array(b'\x08\x05\x10\x05\x18\x04', object)})
      s.run(counts)
      s.run(read)
      s.run(counts)
      for bad in (b'\x01\x10', b'\x08\x05\x10\x04', b'\x08' + b'\xff' * 9 + b'\x01'):
        s.run(targets=restore, feeds={state: np.array(bad, object)}, error=True)
      s.run(targets=restore, feeds={state: np.array([b'', b''], object)}, error=True)
  with script('ReaderSerializeStateV2', 'records') as s:
    reader = apply('TFRecordReaderV2')[0]
    s.run(apply('ReaderSerializeStateV2', reader_handle=reader)[0], error=True)
    s.run(targets=apply('ReaderRestoreStateV2', reader_handle=reader, state=tf.constant('')).op, error=True)

  records = [b'one', b'', b'three' * 20, b'4', b'five', b'six']
  for label, kind, pack in (('plain', '', lambda d: d), ('gzip', 'GZIP', gzipped), ('zlib', 'ZLIB', zlib.compress)):
    with script('TFRecordReaderV2', label) as s:
      names = [s.file('a.tfrecord', pack(tfrecord(records[:4]))), s.file('b.tfrecord', pack(tfrecord(records[4:])))]
      reading(s, apply('TFRecordReaderV2', compression_type=kind)[0], names)
  with script('TextLineReaderV2', 'lines') as s:
    names = [s.file('a.txt', b'first\nsecond\r\n\nfourth'), s.file('b.txt', b'fifth\nsixth\n')]
    reading(s, apply('TextLineReaderV2')[0], names)
  with script('TextLineReaderV2', 'skip') as s:
    names = [s.file('a.txt', b'header\nfirst\nsecond\nthird\nfourth\n'), s.file('b.txt', b'header\nfifth\nsixth\n')]
    reading(s, apply('TextLineReaderV2', skip_header_lines=1)[0], names)
  for label, data in (('corrupt', tfrecord([b'abcdef'])[:-1] + b'!'), ('truncated', tfrecord([b'abcdef'])[:-2])):
    with script('TFRecordReaderV2', label) as s:
      reader = apply('TFRecordReaderV2')[0]
      q = apply('FIFOQueueV2', component_types=[tf.string], shapes=[()])[0]
      files = tf.placeholder(tf.string, [None])
      s.run(targets=apply('QueueEnqueueManyV2', handle=q, components=[files]).op, feeds={files: np.array([s.file('a', data)], object)})
      s.run(targets=apply('QueueCloseV2', handle=q).op)
      s.run(apply('ReaderReadV2', reader_handle=reader, queue_handle=q).outputs, error=True)
  with script('TFRecordReaderV2', 'no_file') as s:
    reader = apply('TFRecordReaderV2')[0]
    q = apply('FIFOQueueV2', component_types=[tf.string], shapes=[()])[0]
    files = tf.placeholder(tf.string, [None])
    s.run(targets=apply('QueueEnqueueManyV2', handle=q, components=[files]).op, feeds={files: np.array([TEMP_DIR + '/absent'], object)})
    s.run(apply('ReaderReadV2', reader_handle=reader, queue_handle=q).outputs, error=True)


def example(**features):
  e = example_pb2.Example()
  for name, values in features.items():
    f = e.features.feature[name]
    if values and isinstance(values[0], bytes):
      f.bytes_list.value.extend(values)
    elif values and isinstance(values[0], float):
      f.float_list.value.extend(values)
    else:
      f.int64_list.value.extend(values)
  return e.SerializeToString(deterministic=True)


EXAMPLES = [example(x=[1.0, 2.0], n=[7], s=[b'a', b'b'], v=[1, 2, 3]), example(x=[3.0, 4.0], s=[b'c'], v=[4]), example(x=[5.0, 6.0], n=[9])]


def parsing():
  def dense_x():
    return ('x', tf.zeros([0]), [2])
  def default_n():
    return ('n', tf.constant([-1], tf.int64), [1])
  for label, make in {
      'dense': dict(serialized=EXAMPLES, dense=lambda: [dense_x(), default_n()]),
      'sparse': dict(serialized=EXAMPLES, dense=lambda: [dense_x()], sparse=[('s', tf.string), ('v', tf.int64), ('absent', tf.float32)]),
      'ragged': dict(serialized=EXAMPLES, dense=lambda: [dense_x()], ragged=[('v', tf.int64), ('s', tf.string)]),
      'named': dict(serialized=EXAMPLES, dense=lambda: [dense_x()], names=['a', 'b', 'c']),
      'none': dict(serialized=[], dense=lambda: [dense_x(), default_n()], sparse=[('s', tf.string)]),
      'scalar': dict(serialized=EXAMPLES[0], dense=lambda: [dense_x(), default_n()], sparse=[('v', tf.int64)]),
      'variable_length': dict(serialized=EXAMPLES, dense=lambda: [('v', tf.constant(-1, tf.int64), [None])]),
      'string_default': dict(serialized=EXAMPLES, dense=lambda: [('t', tf.constant(['d', 'e']), [2])]),
      'missing': dict(serialized=EXAMPLES, dense=lambda: [('n', tf.zeros([0], tf.int64), [1])], error=True),
      'wrong_length': dict(serialized=EXAMPLES, dense=lambda: [('x', tf.zeros([0]), [3])], error=True),
      'wrong_type': dict(serialized=EXAMPLES, dense=lambda: [('x', tf.zeros([0], tf.int64), [2])], error=True),
      'garbage': dict(serialized=[b'\x0a\x7f'], dense=lambda: [dense_x()], error=True),
  }.items():
    _parse_batch(label, **make)
  def single(label, serialized, dense, sparse=(), error=False):
    with script('ParseSingleExample', label) as s:
      data = tf.placeholder(tf.string, None)
      d = dense()
      out = apply('ParseSingleExample', serialized=data, dense_defaults=[v for _, v, _ in d], num_sparse=len(sparse),
                  sparse_keys=[k for k, _ in sparse], dense_keys=[k for k, _, _ in d], sparse_types=[t for _, t in sparse],
                  dense_shapes=[shape for _, _, shape in d])
      s.run(out.outputs, {data: np.array(serialized, object)}, error=error)
      s.static_shapes(*out.outputs)
  single('dense', EXAMPLES[0], lambda: [dense_x(), default_n()])
  single('default', EXAMPLES[1], lambda: [dense_x(), default_n()])
  single('sparse', EXAMPLES[0], lambda: [dense_x()], [('s', tf.string), ('v', tf.int64), ('absent', tf.float32)])
  single('missing', EXAMPLES[1], lambda: [('n', tf.zeros([0], tf.int64), [1])], error=True)
  single('wrong_length', EXAMPLES[0], lambda: [('x', tf.zeros([0]), [3])], error=True)
  single('wrong_type', EXAMPLES[0], lambda: [('x', tf.zeros([0], tf.int64), [2])], error=True)
  single('garbage', b'\x0a\x7f', lambda: [dense_x()], error=True)
  single('vector', [EXAMPLES[0]], lambda: [dense_x()], error=True)


def _parse_batch(label, serialized, dense, sparse=(), ragged=(), error=False, names=()):
  with script('ParseExampleV2', label) as s:
    data = tf.placeholder(tf.string, None)
    d = dense()  # key, default, shape
    out = apply('ParseExampleV2', serialized=data, names=tf.constant(list(names), tf.string),
                sparse_keys=tf.constant([k for k, _ in sparse], tf.string), dense_keys=tf.constant([k for k, _, _ in d], tf.string),
                ragged_keys=tf.constant([k for k, _ in ragged], tf.string), dense_defaults=[v for _, v, _ in d],
                num_sparse=len(sparse), sparse_types=[t for _, t in sparse], ragged_value_types=[t for _, t in ragged],
                ragged_split_types=[tf.int64] * len(ragged), dense_shapes=[shape for _, _, shape in d])
    s.run(out.outputs, {data: np.array(serialized, object)}, error=error)
    s.static_shapes(*out.outputs)


def other_readers():
  def reading(s, reader, names, reads, version='V2'):
    q = apply('FIFOQueue' + version, component_types=[tf.string], shapes=[()], capacity=10)[0]
    works = tf.placeholder(tf.string, [None])
    read = apply('ReaderRead' + version, reader_handle=reader, queue_handle=q)
    up_to = apply('ReaderReadUpTo' + version, reader_handle=reader, queue_handle=q, num_records=tf.constant(2, tf.int64))
    counts = [apply('Reader%s%s' % (what, version), reader_handle=reader)[0] for what in ('NumRecordsProduced', 'NumWorkUnitsCompleted')]
    s.run(targets=apply('QueueEnqueueMany' + version, handle=q, components=[works]).op, feeds={works: np.array(names, object)})
    s.run(targets=apply('QueueClose' + version, handle=q).op)
    s.run(counts)
    for _ in range(reads - 1):
      s.run(read.outputs)
      s.run(counts)
    s.run(up_to.outputs)
    s.run(read.outputs, error=True)
    s.run(up_to.outputs, error=True)
    s.run(counts)
    s.run(targets=apply('ReaderReset' + version, reader_handle=reader).op)
    s.run(counts)

  with script('DecodeJSONExample', 'examples') as s:
    text = tf.placeholder(tf.string)
    out = apply('DecodeJSONExample', json_examples=text)[0]
    s.run(out, {text: np.array([['{}', '{"features": {}}']], object)})
    s.run(out, {text: np.array('{"features": {"feature": {"b": {"bytesList": {"value": ["YWI="]}}}}}', object)})
    for bad in ('{]', '[1]', '{"nothing": 1}'):
      s.run(out, {text: np.array(bad, object)}, error=True)
  with script('RecordInput', 'no_files') as s:
    s.run(apply('RecordInput', file_pattern='/absent/*')[0], error=True)
  for version in ('', 'V2'):
    with script('ReaderSerializeState' + version, 'whole') as s:
      reader = apply('WholeFileReader' + version)[0]
      state = apply('ReaderSerializeState' + version, reader_handle=reader)[0]
      s.run(state)
      s.run(targets=apply('ReaderRestoreState' + version, reader_handle=reader, state=tf.constant(b'\x08\x05\x10\x05\x18\x04')).op)
      s.run(state)
    with script('WholeFileReader' + version, 'files') as s:
      names = [s.file('a', b'first\nfile'), s.file('b', b''), s.file('c', b'\x00\xff')]
      reading(s, apply('WholeFileReader' + version)[0], names, 3, version)
  with script('WholeFileReaderV2', 'no_file') as s:
    q = apply('FIFOQueueV2', component_types=[tf.string], shapes=[()])[0]
    name = tf.placeholder(tf.string, [])
    s.run(targets=apply('QueueEnqueueV2', handle=q, components=[name]).op, feeds={name: np.array(TEMP_DIR + '/absent', object)})
    s.run(apply('ReaderReadV2', reader_handle=apply('WholeFileReaderV2')[0], queue_handle=q).outputs, error=True)
  with script('IdentityReaderV2', 'names') as s:
    reading(s, apply('IdentityReaderV2')[0], ['a', '', 'c'], 3)
  with script('FixedLengthRecordReaderV2', 'parts') as s:
    names = [s.file('a', b'hhabcdeff'), s.file('b', b'hhghif')]
    reading(s, apply('FixedLengthRecordReaderV2', header_bytes=2, record_bytes=3, footer_bytes=1)[0], names, 3)
  with script('FixedLengthRecordReaderV2', 'hop') as s:
    reading(s, apply('FixedLengthRecordReaderV2', record_bytes=3, hop_bytes=2)[0], [s.file('a', b'abcdefg')], 3)
  with script('FixedLengthRecordReaderV2', 'zlib') as s:
    names = [s.file('a', zlib.compress(b'hhabcdeff'))]
    reading(s, apply('FixedLengthRecordReaderV2', header_bytes=2, record_bytes=3, footer_bytes=1, encoding='ZLIB')[0], names, 2)


def whole_files():
  with script('ReadFile', 'contents') as s:
    name = tf.placeholder(tf.string, None)
    read = apply('ReadFile', filename=name)[0]
    s.run(read, {name: np.array(s.file('a', b'some\x00\xffbytes\n'), object)})
    s.run(read, {name: np.array(s.file('b', b''), object)})
    s.run(read, {name: np.array(TEMP_DIR + '/absent', object)}, error=True)
    s.run(read, {name: np.array([TEMP_DIR + '/a'], object)}, error=True)
  with script('WriteFile', 'contents') as s:
    name, data = tf.placeholder(tf.string, None), tf.placeholder(tf.string, None)
    read, write = apply('ReadFile', filename=name)[0], apply('WriteFile', filename=name, contents=data).op
    for path in ('/a', '/new/folder/a'):
      path = np.array(TEMP_DIR + path, object)
      for content in (b'some\x00bytes', b'less'):
        s.run(targets=write, feeds={name: path, data: np.array(content, object)})
        s.run(read, {name: path})
    s.run(targets=write, feeds={name: path, data: np.array([b'a'], object)}, error=True)
    s.run(targets=write, feeds={name: np.array([TEMP_DIR + '/a'], object), data: np.array(b'a', object)}, error=True)
  with script('MatchingFiles', 'patterns') as s:
    for name in ('b.txt', 'a.txt', 'c.bin', 'a1.txt'):
      s.file(name, b'')
    pattern = tf.placeholder(tf.string, None)
    found = apply('MatchingFiles', pattern=pattern)[0]
    for p in ('/*', '/*.txt', '/a?.txt', '/[bc].*', '/a.txt', '/none*', '/absent/*'):
      s.run(found, {pattern: np.array(TEMP_DIR + p, object)})
    s.run(found, {pattern: np.array([TEMP_DIR + '/b*', TEMP_DIR + '/*.txt'], object)})
    s.run(found, {pattern: np.zeros([0], object)})
    s.run(found, {pattern: np.array([[TEMP_DIR + '/b*']], object)}, error=True)
    s.static_shapes(found)


def older_parsing():
  def parse(label, serialized, sparse=(), dense=(), names=(), error=False):
    with script('ParseExample', label) as s:
      data = tf.placeholder(tf.string, None)
      out = apply('ParseExample', serialized=data, names=tf.constant(list(names), tf.string),
                  sparse_keys=[tf.constant(k) for k, _ in sparse], dense_keys=[tf.constant(k) for k, _, _ in dense],
                  dense_defaults=[tf.constant(v) for _, v, _ in dense], sparse_types=[t for _, t in sparse],
                  dense_shapes=[shape for _, _, shape in dense])
      s.run(out.outputs, {data: np.array(serialized, object)}, error=error)
      if not error:
        s.static_shapes(*out.outputs)
  x, n = ('x', np.zeros([0], np.float32), [2]), ('n', np.array([-1], np.int64), [1])
  sparse = [('s', tf.string), ('v', tf.int64), ('absent', tf.float32)]
  parse('dense', EXAMPLES, dense=[x, n])
  parse('sparse', EXAMPLES, sparse)
  parse('both', EXAMPLES, sparse, [x, n], ['a', 'b', 'c'])
  parse('none', np.zeros([0], object), sparse, [x])
  parse('missing', EXAMPLES, dense=[('n', np.zeros([0], np.int64), [1])], error=True)
  parse('wrong_length', EXAMPLES, dense=[('x', np.zeros([0], np.float32), [3])], error=True)
  parse('wrong_type', EXAMPLES, [('x', tf.int64)], error=True)
  parse('garbage_dense', [b'\x0a\x7f'], dense=[x], error=True)
  parse('names', EXAMPLES, sparse, names=['a'], error=True)


def cases():
  checkpoints()
  readers()
  parsing()
  other_readers()
  whole_files()
  older_parsing()
