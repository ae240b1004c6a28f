# SPDX-License-Identifier: Apache-2.0
"""Lookup tables."""
import numpy as np

from record import apply, script, tf

K = lambda *v: tf.constant(list(v))
PAIRS = (('string', 'int64'), ('string', 'float'), ('string', 'string'), ('int64', 'string'), ('int64', 'int64'), ('int64', 'float'))
KEYS = {'string': ['a', 'b', 'c'], 'int64': [3, 7, 9], 'int32': [3, 7, 9]}
VALUES = {'string': ['x', 'y', 'z'], 'int64': [10, 20, 30], 'float': [1.5, 2.5, 3.5], 'bool': [True, False, True]}
DEFAULTS = {'string': 'none', 'int64': -1, 'float': -1.0, 'bool': False}


def tables(name, key, value, v2, **kw):
  op = name + ('V2' if v2 else '')
  return apply(op, key_dtype=tf.as_dtype(key), value_dtype=tf.as_dtype(value), **kw)[0]


def call(name, v2, **kw):
  return apply(name + ('V2' if v2 else ''), **kw)


def fixed():
  for key, value in PAIRS:
    for v2 in (False, True):
      with script('HashTable' + ('V2' if v2 else ''), '%s_%s' % (key, value)) as s:
        t = tables('HashTable', key, value, v2, shared_name='t')
        keys, values = tf.constant(KEYS[key], tf.as_dtype(key)), tf.constant(VALUES[value], tf.as_dtype(value))
        ask = tf.placeholder(tf.as_dtype(key), None)
        found = call('LookupTableFind', v2, table_handle=t, keys=ask, default_value=tf.constant(DEFAULTS[value], tf.as_dtype(value)))[0]
        size = call('LookupTableSize', v2, table_handle=t)[0]
        init = call('InitializeTable', v2, table_handle=t, keys=keys, values=values).op
        other = call('InitializeTable', v2, table_handle=t, keys=keys[:2], values=values[1:]).op
        insert = call('LookupTableInsert', v2, table_handle=t, keys=keys, values=values).op
        query = {ask: np.array([[KEYS[key][1], KEYS[key][0]], [KEYS[key][2], 'q' if key == 'string' else 1]])}
        s.run(found, query, error=True)
        s.run(size)
        s.run(targets=init)
        s.run(found, query)
        s.run(size)
        s.run(targets=init)
        s.run(targets=other, error=True)
        s.run(targets=insert, error=True)
  with script('InitializeTableV2', 'errors') as s:
    t = tables('HashTable', 'string', 'int64', True)
    wrong = apply('InitializeTableV2', table_handle=t, keys=K('a'), values=tf.constant([1.0])).op
    keys, values = tf.placeholder(tf.string, None), tf.placeholder(tf.int64, None)
    init = apply('InitializeTableV2', table_handle=t, keys=keys, values=values).op
    s.run(targets=wrong, error=True)
    s.run(targets=init, feeds={keys: ['a', 'b'], values: [1]}, error=True)
    s.run(targets=init, feeds={keys: [['a']], values: [[1]]}, error=True)
    s.run(targets=init, feeds={keys: ['a', 'a'], values: [1, 2]}, error=True)
    s.run(targets=init, feeds={keys: ['a', 'a'], values: [1, 1]})
    wrong_find = apply('LookupTableFindV2', table_handle=t, keys=K('a'), default_value=tf.constant(1.0))[0]
    s.run(wrong_find, error=True)
    s.run(apply('LookupTableExportV2', table_handle=t, Tkeys=tf.string, Tvalues=tf.int64).outputs)
    vector_default = apply('LookupTableFindV2', table_handle=t, keys=K('a', 'b', 'c'), default_value=tf.constant([1, 2], tf.int64))[0]
    s.run(vector_default, error=True)


def from_file():
  def init(t, name, key, value, v2=True, **kw):
    return call('InitializeTableFromTextFile', v2, table_handle=t, filename=name, key_index=key, value_index=value, **kw).op
  for v2 in (False, True):
    with script('InitializeTableFromTextFile' + ('V2' if v2 else ''), 'vocabulary') as s:
      t = tables('HashTable', 'string', 'int64', v2, shared_name='vocabulary')
      name = tf.placeholder(tf.string, [])
      feeds = {name: np.array(s.file('v.txt', b'the\nquick\nfox\n'), object)}
      found = call('LookupTableFind', v2, table_handle=t, keys=K('fox', 'the', 'cow'), default_value=tf.constant(-1, tf.int64))[0]
      s.run(targets=init(t, name, -2, -1, v2), feeds=feeds)
      s.run(found)
  cases = [('columns', b'a\t1\nb\t2\n', 'string', 'int64', 0, 1, {}, None), ('float', b'a,1.5\nb,2\n', 'string', 'float', 0, 1, dict(delimiter=','), None),
           ('reverse', b'the\nquick\n', 'int64', 'string', -1, -2, {}, None), ('size', b'a\nb\nc\n', 'string', 'int64', -2, -1, dict(vocab_size=2), None),
           ('offset', b'a\nb\n', 'string', 'int64', -2, -1, dict(offset=5), None),
           ('short', b'a\nb\n', 'string', 'int64', -2, -1, dict(vocab_size=3), True), ('few', b'a\nb\n', 'string', 'int64', 0, 1, {}, True),
           ('bad', b'a\tx\n', 'string', 'int64', 0, 1, {}, True), ('type', b'a\nb\n', 'string', 'float', -2, -1, {}, True),
           ('twice', b'a\t1\na\t2\n', 'string', 'int64', 0, 1, {}, True), ('crlf', b'a\r\nb\r\n', 'string', 'int64', -2, -1, {}, None)]
  for label, data, key, value, ki, vi, kw, error in cases:
    with script('InitializeTableFromTextFileV2', label) as s:
      t = tables('HashTable', key, value, True)
      name = tf.placeholder(tf.string, [])
      feeds = {name: np.array(s.file('v.txt', data), object)}
      s.run(targets=init(t, name, ki, vi, **kw), feeds=feeds, error=bool(error))
      if not error:
        keys = tf.constant(['a', 'b', 'the', 'zz'] if key == 'string' else [0, 1, 5], tf.as_dtype(key))
        s.run(apply('LookupTableFindV2', table_handle=t, keys=keys, default_value=tf.constant(DEFAULTS[value], tf.as_dtype(value)))[0])
  with script('InitializeTableFromTextFileV2', 'missing') as s:
    t = tables('HashTable', 'string', 'int64', True)
    s.run(targets=init(t, tf.constant('/no/such/file'), -2, -1), error=True)


def mutable():
  for key, value in PAIRS:
    for name in ('MutableHashTable', 'MutableHashTableV2', 'MutableHashTableOfTensorsV2', 'MutableHashTableOfTensors',
                 'MutableDenseHashTableV2'):
      v2 = name.endswith('V2')
      tensors, dense = 'Tensors' in name, 'Dense' in name
      if value == 'string' and (dense or key == 'string'):
        continue
      with script(name, '%s_%s' % (key, value)) as s:
        k = lambda v: tf.constant(v, tf.as_dtype(key))
        kw = dict(shared_name='t')
        if tensors:
          kw['value_shape'] = [2]
        if dense:
          kw['empty_key'] = k('' if key == 'string' else -1)
          if v2:
            kw['deleted_key'] = k('-' if key == 'string' else -2)
        if not dense:
          kw['key_dtype'] = tf.as_dtype(key)
        t = apply(name, value_dtype=tf.as_dtype(value), **kw)[0]
        widen = lambda v: np.stack([v, v[::-1]], 1) if tensors else np.array(v)
        values = tf.constant(widen(np.array(VALUES[value], object)).tolist(), tf.as_dtype(value))
        default = tf.constant([DEFAULTS[value]] * 2 if tensors else DEFAULTS[value], tf.as_dtype(value))
        find = lambda keys: call('LookupTableFind', v2, table_handle=t, keys=k(keys), default_value=default)[0]
        keys = KEYS[key]
        found, size = find([keys[2], keys[0]]), call('LookupTableSize', v2, table_handle=t)[0]
        s.run([found, size])
        s.run(targets=call('LookupTableInsert', v2, table_handle=t, keys=k(keys), values=values).op)
        s.run(found)
        s.run(size)
        s.run(find([[keys[1]], [keys[1]]]))
        s.run(targets=call('LookupTableInsert', v2, table_handle=t, keys=k(keys[:1]), values=values[2:]).op)
        s.run(found)
        s.run(targets=call('LookupTableInsert', v2, table_handle=t, keys=k(keys[:2]), values=values).op, error=True)
        if v2:
          s.run(targets=apply('LookupTableRemoveV2', table_handle=t, keys=k([keys[2], 'none' if key == 'string' else 77])).op)
          s.run([found, size])
        if dense:
          s.run(targets=call('LookupTableInsert', v2, table_handle=t, keys=k(['' if key == 'string' else -1]), values=values[:1]).op, error=True)
        if not dense:  # which crashes TensorFlow
          s.run(targets=call('LookupTableImport', v2, table_handle=t, keys=k(keys[1:2]), values=values[:1]).op)
          s.run(size)
          s.run(call('LookupTableExport', v2, table_handle=t, Tkeys=tf.as_dtype(key), Tvalues=tf.as_dtype(value)).outputs)
  with script('MutableDenseHashTableV2', 'vector_keys') as s:
    t = apply('MutableDenseHashTableV2', empty_key=tf.constant([0, 0], tf.int64), deleted_key=tf.constant([-1, -1], tf.int64), value_dtype=tf.float32,
              initial_num_buckets=8, value_shape=[2])[0]
    keys = tf.constant([[1, 2], [3, 4], [1, 4]], tf.int64)
    s.run(targets=apply('LookupTableInsertV2', table_handle=t, keys=keys, values=tf.constant([[1.0, 2], [3, 4], [5, 6]])).op)
    s.run(apply('LookupTableFindV2', table_handle=t, keys=tf.constant([[1, 4], [1, 2], [9, 9]], tf.int64), default_value=tf.constant([-1.0, -2]))[0])
    s.run(apply('LookupTableSizeV2', table_handle=t)[0])


def anonymous():
  for name, kw in (('AnonymousHashTable', {}), ('AnonymousMutableHashTable', {}), ('AnonymousMutableHashTableOfTensors', dict(value_shape=[1])),
                   ('AnonymousMutableDenseHashTable', dict(empty_key=tf.constant))):
    with script(name, '') as s:
      if 'Dense' in name:
        kw = dict(empty_key=tf.constant(0, tf.int64), deleted_key=tf.constant(-1, tf.int64))
      if 'Dense' not in name:
        kw = dict(kw, key_dtype=tf.int64)
      t = apply(name, value_dtype=tf.float32, **kw)[0]
      values = tf.constant([[1.0], [2]] if 'value_shape' in kw else [1.0, 2])
      fill = apply('InitializeTableV2' if name == 'AnonymousHashTable' else 'LookupTableInsertV2', table_handle=t, keys=tf.constant([5, 6], tf.int64), values=values).op
      with tf.control_dependencies([fill]):
        s.run(apply('LookupTableFindV2', table_handle=t, keys=tf.constant([6, 7], tf.int64), default_value=-values[0])[0])


def cases():
  fixed()
  from_file()
  mutable()
  anonymous()
