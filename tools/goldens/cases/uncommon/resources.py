# SPDX-License-Identifier: Apache-2.0
"""Records, vocabularies, tables, variables, loops of functions, updates of slices."""
import gzip

import numpy as np
from tensorflow.python.framework import function

from cases.uncommon.common import I32, I64
from record import apply, op, script, tf


def reshapes():
  with script('Reshape', 'many') as s:
    s.run(tf.reshape(tf.constant([[1]]), tf.placeholder_with_default(np.ones([254], I64), [254])), error=True)


def slice_updates():
  x = np.arange(24.0).reshape([2, 3, 4])
  name = 'TensorStridedSliceUpdate'
  op(name, x, I32([0, 1]), I32([2, 3]), I32([1, 1]), -np.arange(16.0).reshape([2, 2, 4]), types=('float', 'int32', 'string'))
  op(name, x, I64([1]), I64([0]), I64([-1]), np.array([[7.0], [8], [9]]), label='broadcast')
  op(name, x, I32([1, 0, 0]), I32([0, 3, 4]), I32([1, 1, 2]), np.array(5.0), label='shrink', shrink_axis_mask=1)
  op(name, x, I32([0, 3]), I32([0, 4]), I32([1, 1]), np.array([5.0, 6]).reshape([2, 1, 1]), label='ellipsis', ellipsis_mask=1)
  op(name, x, I32([2]), I32([2]), I32([1]), np.array(5.0), label='nothing')
  op(name, x, I32([0]), I32([1]), I32([1]), np.ones([5]), label='mismatch', error=True)


def packed_records():
  with script('FixedLengthRecordReaderV2', 'gzip') as s:
    reader = apply('FixedLengthRecordReaderV2', header_bytes=2, record_bytes=3, footer_bytes=1, encoding='GZIP')[0]
    q = apply('FIFOQueueV2', component_types=[tf.string], shapes=[()], capacity=10)[0]
    name = tf.placeholder(tf.string, [])
    s.run(targets=apply('QueueEnqueueV2', handle=q, components=[name]).op, feeds={name: s.file('a', gzip.compress(b'hhabcdeff', mtime=0))})
    s.run(targets=apply('QueueCloseV2', handle=q).op)
    read = apply('ReaderReadV2', reader_handle=reader, queue_handle=q)
    s.run(read.outputs)
    s.run(read.outputs)
    s.run(read.outputs, error=True)


def remappings():
  for offset, count in ((0, 4), (1, 2), (2, 0)):
    with script('GenerateVocabRemapping', '%d_%d' % (offset, count)) as s:
      new, old = tf.placeholder(tf.string, []), tf.placeholder(tf.string, [])
      feeds = {new: s.file('new.txt', b'knitting\neminem\nMISSING\ncar\n'), old: s.file('old.txt', b'eminem\ncar\nknitting\nlast')}
      y = apply('GenerateVocabRemapping', new_vocab_file=new, old_vocab_file=old, new_vocab_offset=offset, num_new_vocab=count)
      s.run(list(y.outputs), feeds)
      y = apply('GenerateVocabRemapping', new_vocab_file=new, old_vocab_file=old, new_vocab_offset=offset, num_new_vocab=count, old_vocab_size=1)
      s.run(list(y.outputs), feeds)
      s.static_shapes(*y.outputs)
  with script('GenerateVocabRemapping', 'errors') as s:
    new, old = tf.placeholder(tf.string, []), tf.placeholder(tf.string, [])
    feeds = {new: s.file('new.txt', b'a\nb\n'), old: s.file('old.txt', b'c\n')}
    make = lambda **kw: list(apply('GenerateVocabRemapping', new_vocab_file=new, old_vocab_file=old, **kw).outputs)
    s.run(make(new_vocab_offset=1, num_new_vocab=2), feeds, error=True)
    s.run(make(new_vocab_offset=0, num_new_vocab=2), {new: feeds[new], old: ''}, error=True)
    s.run(make(new_vocab_offset=0, num_new_vocab=2), {new: feeds[new] + 'x', old: feeds[old]}, error=True)
  with script('LoadAndRemapMatrix') as s:
    path = s.file('unused', b'')[:-6] + 'matrix'
    name, rows, cols, fresh = tf.placeholder(tf.string, []), tf.placeholder(tf.int64, [3]), tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])
    matrix = np.arange(20, dtype=np.float32).reshape([5, 4])
    s.run(targets=apply('SaveV2', prefix=name, tensor_names=['m', 'v', 'd'], shape_and_slices=['', '', ''],
                        tensors=[tf.constant(matrix), tf.constant(matrix[0]), tf.constant(matrix.astype(np.float64))]).op, feeds={name: path})
    make = lambda tensor='m', num_cols=4, **kw: apply('LoadAndRemapMatrix', ckpt_path=name, old_tensor_name=tensor, row_remapping=rows, col_remapping=cols,
                                                      initializing_values=fresh, num_rows=3, num_cols=num_cols, **kw)[0]
    s.run(make(), {name: path, rows: [2, 0, 4], cols: [], fresh: []})
    s.run(make(max_rows_in_memory=1), {name: path, rows: [2, -1, 4], cols: [], fresh: [1, 2, 3, 4]})
    s.run(make(num_cols=3), {name: path, rows: [2, -1, 4], cols: [3, -1, 0], fresh: [1, 2, 3, 4, 5]})
    for bad in (dict(fresh=[]), dict(fresh=[1] * 9), dict(rows=[5, 0, 1]), dict(rows=[1, 0, 1])):
      values = dict(dict(rows=[2, -1, 4], cols=[], fresh=[1, 2, 3, 4]), **bad)
      s.run(make(), {name: path, rows: values['rows'], cols: values['cols'], fresh: values['fresh']}, error=True)
    for tensor in ('v', 'd', 'none'):
      s.run(make(tensor), {name: path, rows: [0, 1, 2], cols: [], fresh: []}, error=True)
    s.run(make(num_cols=3), {name: path, rows: [0, 1, 2], cols: [], fresh: []}, error=True)
    s.static_shapes(make())


def loops():
  with script('For') as s:
    @function.Defun(tf.int32, tf.float32, tf.float32)
    def body(i, x, y):
      return x + tf.cast(i, tf.float32), y * x
    limits = [tf.placeholder(tf.int32, None) for _ in range(3)]
    y = apply('For', start=limits[0], limit=limits[1], delta=limits[2], input=[tf.constant(1.0), tf.constant([1.0, 2.0])], body=body)
    for values in ((0, 4, 1), (7, 1, -2), (3, 3, 0), (5, 8, 2)):
      s.run(list(y.outputs), dict(zip(limits, values)))
    for values in ((0, 4, -1), (0, 4, 0), ([0], 4, 1)):
      s.run(list(y.outputs), dict(zip(limits, values)), error=True)
  with script('While', 'two_conditions') as s:
    cond = function.Defun(tf.int32)(lambda i: (i < 3, i < 4))
    body = function.Defun(tf.int32)(lambda i: i + 1)
    s.run(list(apply('While', input=[tf.constant(0)], cond=cond, body=body).outputs), error=True)
  for value in (0.0, 0.5, I32(0), I64(3), True, '', 'a', np.zeros([0]), np.zeros([2]), np.zeros([1, 1])):
    with script('ToBool') as s:
      y = apply('ToBool', input=tf.constant(value))[0]
      s.run(y)
      s.static_shapes(y)


def dense_tables():
  make = lambda **kw: apply('MutableDenseHashTableV2', **dict(dict(empty_key=I64(100), deleted_key=I64(200), value_dtype=tf.int64, initial_num_buckets=8), **kw))[0]
  with script('MutableDenseHashTableV2', 'buckets') as s:
    t = make(shared_name='buckets')
    keys, values = apply('LookupTableExportV2', table_handle=t, Tkeys=tf.int64, Tvalues=tf.int64).outputs
    # The order of buckets is nobody's business.
    flat = tf.reshape(keys, [-1])
    show = [tf.nn.top_k(flat, tf.size(flat))[0], tf.reduce_sum(values), tf.shape(keys), tf.shape(values), apply('LookupTableSizeV2', table_handle=t)[0]]
    insert = lambda k, v: apply('LookupTableInsertV2', table_handle=t, keys=I64(k), values=I64(v)).op
    s.run(show)
    s.run(targets=insert([11, 12, 13, 14], [1, 2, 3, 4]))
    s.run(show)
    s.run(targets=apply('LookupTableRemoveV2', table_handle=t, keys=I64([12, 15])).op)
    s.run(show)
    s.run(targets=insert([21, 22, 23, 24, 25], [1, 1, 1, 1, 1]))
    s.run(show)
    find = lambda k: apply('LookupTableFindV2', table_handle=t, keys=I64(k), default_value=I64(-1))[0]
    s.run(find([11, 12, 13, 25]))
    for bad in ([100], [200], [[7, 8]]):
      s.run(find(bad), error=True)
  with script('MutableDenseHashTableV2', 'equal_keys') as s:
    s.run(apply('LookupTableSizeV2', table_handle=make(deleted_key=I64(100)))[0], error=True)
  with script('MutableDenseHashTableV2', 'two_buckets') as s:
    s.run(apply('LookupTableSizeV2', table_handle=make(initial_num_buckets=2))[0], error=True)
  with script('InitializeTableV2', 'empty') as s:
    t = apply('HashTableV2', key_dtype=tf.int64, value_dtype=tf.int64)[0]
    s.run(targets=apply('InitializeTableV2', table_handle=t, keys=I64([]), values=I64([])).op, error=True)
  with script('LookupTableFindV2', 'defaults') as s:
    t = apply('MutableHashTableOfTensorsV2', key_dtype=tf.int64, value_dtype=tf.int64, value_shape=[2])[0]
    find = lambda d: apply('LookupTableFindV2', table_handle=t, keys=I64([[1, 2], [3, 4]]), default_value=I64(d))[0]
    s.run(find([5, 6]))
    s.run(find(np.arange(8).reshape([2, 2, 2])))
    s.run(find(np.arange(8).reshape([4, 2])), error=True)
    s.run(find([[[5, 6], [7, 8]]]), error=True)


def variables():
  with script('AssignVariableOp', 'validate') as s:
    handle = apply('VarHandleOp', dtype=tf.float32, shape=[1, 1], shared_name='validated')[0]
    x = tf.placeholder(tf.float32, None)
    assign = apply('AssignVariableOp', resource=handle, value=x, validate_shape=True).op
    s.run(targets=assign, feeds={x: np.zeros([2, 2])})
    s.run(targets=assign, feeds={x: np.ones([2, 2])})
    s.run(targets=assign, feeds={x: np.zeros([1, 1])}, error=True)
  with script('DisableCopyOnRead') as s:
    v = tf.get_variable('v', initializer=[1.0, 2.0], use_resource=True)
    s.run(targets=v.initializer)
    s.run(targets=apply('DisableCopyOnRead', resource=v.handle).op)
    s.run(v.read_value())


def stubs():
  with script('StubResourceHandleOp', 'make') as s:
    a, b = [apply('StubResourceHandleOp', container='c', shared_name=name)[0] for name in 'ab']
    made = [apply('ResourceInitializedOp', resource=h)[0] for h in (a, b)]
    create, use = apply('ResourceCreateOp', resource=a).op, apply('ResourceUsingOp', resource=a).op
    s.run(made)
    s.run(targets=use, error=True)
    s.run(targets=create)
    s.run(made)
    s.run(targets=use)
    s.run(targets=create, error=True)
  op('_EagerConst', np.arange(6.0).reshape(2, 3), types=('float', 'int32', 'string'), grad=False)
  for names in (['CPU', 'GPU'], ['GPU', 'CPU'], ['TPU'], []):
    with script('DeviceIndex', '_'.join(names) or 'none') as s:
      s.run(apply('DeviceIndex', device_names=names)[0])
