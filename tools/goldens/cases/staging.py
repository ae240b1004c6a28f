# SPDX-License-Identifier: Apache-2.0
"""Barriers and staging areas, with and without keys; checkpoints of version 1."""
import numpy as np

from tensorflow.python.framework import function

from record import apply, script, tf

I32, I64 = np.int32, np.int64


def make_barrier(**kwargs):
  return apply('Barrier', component_types=[tf.float32, tf.int32], shapes=[[2], []], **kwargs)[0]


def insert(handle, keys, values, component):
  return apply('BarrierInsertMany', handle=handle, keys=tf.constant(keys), values=tf.constant(values),
               component_index=component).op


def take(handle, n, **kwargs):
  return list(apply('BarrierTakeMany', handle=handle, num_elements=n, component_types=[tf.float32, tf.int32], **kwargs).outputs)


PAIRS = np.float32([[1, 2], [3, 4], [5, 6]])


def barriers():
  with script('Barrier', 'fill') as s:
    b = make_barrier()
    ready, incomplete = apply('BarrierReadySize', handle=b)[0], apply('BarrierIncompleteSize', handle=b)[0]
    s.run([ready, incomplete])
    s.run(targets=insert(b, ['a', 'b', 'c'], PAIRS, 0))
    s.run([ready, incomplete])
    s.run(targets=insert(b, ['c', 'd'], I32([3, 4]), 1))
    s.run([ready, incomplete])
    s.run(take(b, 1))
    s.run(targets=insert(b, ['d'], PAIRS[:1], 0))
    s.run(targets=insert(b, ['b', 'a'], I32([2, 1]), 1))
    # Those inserted first come first; of one insertion, those that got whole first.
    s.run(take(b, 3))
    s.run([ready, incomplete])
  with script('Barrier', 'close') as s:
    b = make_barrier()
    s.run(targets=insert(b, ['a', 'b'], PAIRS[:2], 0))
    s.run(targets=apply('BarrierClose', handle=b).op)
    s.run(targets=apply('BarrierClose', handle=b).op, error=True)
    s.run(targets=insert(b, ['c'], PAIRS[:1], 0), error=True)
    s.run(targets=insert(b, ['a', 'b'], I32([1, 2]), 1))
    s.run(take(b, 3), error=True)
    s.run(take(b, 3, allow_small_batch=True))
    s.run(take(b, 1, allow_small_batch=True), error=True)
    s.run(targets=insert(b, ['a'], PAIRS[:1], 0), error=True)
  with script('Barrier', 'cancel') as s:
    b = make_barrier()
    s.run(targets=insert(b, ['a', 'b'], PAIRS[:2], 0))
    s.run(targets=apply('BarrierClose', handle=b).op)
    s.run(targets=apply('BarrierClose', handle=b, cancel_pending_enqueues=True).op)
    s.run(apply('BarrierIncompleteSize', handle=b)[0])
    s.run(targets=insert(b, ['a'], I32([1]), 1), error=True)
    s.run(take(b, 1), error=True)
  with script('Barrier', 'errors') as s:
    b = make_barrier()
    s.run(targets=insert(b, ['a'], PAIRS[:1], 0))
    s.run(targets=insert(b, ['a'], PAIRS[:1], 0), error=True)
    s.run(targets=insert(b, ['e'], np.zeros([1, 0], np.float32), 0), error=True)
    s.run(targets=insert(b, ['f'], PAIRS[:1], 1), error=True)
    s.run(targets=insert(b, ['g'], PAIRS[:1], 2), error=True)
  with script('Barrier', 'unknown') as s:
    b = apply('Barrier', component_types=[tf.float32, tf.int32], shapes=[None, None])[0]
    s.run(apply('BarrierReadySize', handle=b)[0])
    s.run(targets=insert(b, ['e'], np.zeros([1, 0], np.float32), 0), error=True)
  with script('Barrier', 'shared') as s:
    s.run(make_barrier(shared_name='shared_barrier'))
    other = apply('Barrier', component_types=[tf.float32, tf.float32], shapes=[[2], []], shared_name='shared_barrier')[0]
    s.run(other, error=True)
    other = apply('Barrier', component_types=[tf.float32, tf.int32], shapes=[[3], []], shared_name='shared_barrier')[0]
    s.run(other, error=True)
  with script('Barrier', 'capacity') as s:
    s.run(make_barrier(capacity=3), error=True)


def staging():
  names = dict(dtypes=[tf.float32, tf.string], shared_name='golden_stage')
  with script('Stage') as s:
    x, t = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.string, [])
    put = apply('Stage', values=[x, t], shared_name='golden_stage').op
    size, clear = apply('StageSize', **names)[0], apply('StageClear', **names).op
    s.run(size)
    for i in range(3):
      s.run(targets=put, feeds={x: [i, i + 1], t: 'v%d' % i})
    s.run(size)
    for i in (0, 2):
      s.run(list(apply('StagePeek', index=i, **names).outputs))
    s.run(list(apply('Unstage', **names).outputs))
    s.run(size)
    s.run(list(apply('Unstage', dtypes=[tf.float32], shared_name='golden_stage').outputs), error=True)
    s.run(targets=clear)
    s.run(size)
  limited = dict(dtypes=[tf.float32], shared_name='golden_limit', memory_limit=8)
  with script('Stage', 'memory') as s:
    x = tf.placeholder(tf.float32, None)
    put = apply('Stage', values=[x], shared_name='golden_limit', memory_limit=8).op
    s.run(targets=put, feeds={x: [1, 2]})
    s.run(list(apply('Unstage', **limited).outputs))
    s.run(targets=put, feeds={x: [1, 2, 3]}, error=True)
    s.run(targets=put, feeds={x: [4]})
    s.run(apply('StageSize', **limited)[0])


def map_staging(prefix):
  names = dict(shared_name='golden_' + prefix)
  types = [tf.float32, tf.int32]

  def put(key, indices, values):
    return apply(prefix + 'Stage', key=I64(key), indices=I32(indices), values=[tf.constant(v) for v in values], dtypes=types, **names).op

  def find(op, indices, **kwargs):
    return list(apply(prefix + op, indices=I32(indices), dtypes=[types[i] for i in indices], **kwargs, **names).outputs)
  with script(prefix + 'Stage') as s:
    size, incomplete = apply(prefix + 'Size', dtypes=types, **names)[0], apply(prefix + 'IncompleteSize', dtypes=types, **names)[0]
    s.run(targets=put(7, [0, 1], [np.float32([1, 2]), I32(3)]))
    s.run(targets=put(5, [1], [I32(4)]))
    s.run([size, incomplete])
    s.run(targets=put(5, [0], [np.float32([5])]))
    s.run([size, incomplete])
    s.run(find('Peek', [0, 1], key=I64(7)))
    s.run(find('Unstage', [1], key=I64(7)))
    s.run([size, incomplete])
    s.run(find('Unstage', [0], key=I64(7)))
    s.run([size, incomplete])
    s.run(find('UnstageNoKey', [0, 1]))
    s.run([size, incomplete])
    s.run(targets=put(9, [0], [np.float32(1)]))
    s.run(targets=apply(prefix + 'Clear', dtypes=types, **names).op)
    s.run([size, incomplete])
  with script(prefix + 'Stage', 'errors') as s:
    s.run(targets=put(1, [1, 0], [I32(4), np.float32(3)]), error=True)
    s.run(targets=put(1, [0], [np.float32(3)]))
    s.run(targets=put(1, [2], [np.float32(3)]), error=True)
    s.run(targets=put(1, [0], [np.float32(3)]), error=True)
    s.run(targets=put(1, [1], [I32(4)]))
    s.run(find('Unstage', [0], key=I64(1)))
    s.run(find('Unstage', [0], key=I64(1)), error=True)


def checkpoints():
  x, y = np.float32([[1, 2, 3], [4, 5, 6]]), I64([7, 8])
  with script('Save') as s:
    path = s.file('unused', b'') [:-6] + 'old.ckpt'
    name = tf.placeholder(tf.string, [])
    words = tf.constant([b'a', b'', b'long word'])
    save = apply('Save', filename=name, tensor_names=['x', 'y', 'words', 'flag'], data=[tf.constant(x), tf.constant(y), words, tf.constant(True)]).op
    s.run(targets=save, feeds={name: path})
    restored = [apply('Restore', file_pattern=name, tensor_name=n, dt=t)[0]
                for n, t in (('x', tf.float32), ('y', tf.int64), ('words', tf.string), ('flag', tf.bool))]
    s.run(restored, {name: path})
    # Both readers and patterns.
    both = apply('RestoreV2', prefix=name, tensor_names=['y', 'x'], shape_and_slices=['', '2 3 -:1,2'], dtypes=[tf.int64, tf.float32])
    s.run(list(both.outputs), {name: path})
    s.run(restored[0], {name: path[:-8] + 'o*.ckpt'})
    s.run(restored[0], {name: path + 'missing'}, error=True)
    s.run(apply('Restore', file_pattern=name, tensor_name='z', dt=tf.float32)[0], {name: path}, error=True)
    s.run(apply('Restore', file_pattern=name, tensor_name='x', dt=tf.int64)[0], {name: path}, error=True)
  with script('SaveSlices') as s:
    path = s.file('unused', b'')[:-6] + 'slices.ckpt'
    name = tf.placeholder(tf.string, [])
    save = apply('SaveSlices', filename=name, tensor_names=['x', 'x', 'y'], shapes_and_slices=['2 5 -:0,3', '2 5 -:3,2', ''],
                 data=[tf.constant(x), tf.constant(x[:, :2]), tf.constant(y)]).op
    s.run(targets=save, feeds={name: path})
    s.run(apply('Restore', file_pattern=name, tensor_name='x', dt=tf.float32)[0], {name: path})
    part = apply('RestoreSlice', file_pattern=name, tensor_name='x', shape_and_slice='2 5 1,1:1,4', dt=tf.float32)[0]
    s.run(part, {name: path})
    s.static_shapes(part)
    wrong = apply('RestoreSlice', file_pattern=name, tensor_name='x', shape_and_slice='2 6 -:-', dt=tf.float32)[0]
    s.run(wrong, {name: path}, error=True)
    bad = apply('SaveSlices', filename=name, tensor_names=['x'], shapes_and_slices=['2 5 -:0,4'], data=[tf.constant(x)]).op
    s.run(targets=bad, feeds={name: path}, error=True)
  with script('ShardedFilespec') as s:
    s.run(apply('ShardedFilespec', basename='a/b', num_shards=12)[0])


def batches():
  """One step at a time: steps that meet are in millstream/ops/flow/batch_ops_test.cc."""
  limits = dict(num_batch_threads=1, batch_timeout_micros=1000)
  for label, rows, allowed in (('full', 4, []), ('padded', 2, [1, 3, 4]), ('partly', 3, [])):
    with script('Batch', label) as s:
      x = tf.placeholder(tf.float32, [rows, 2])
      y = tf.placeholder(tf.int64, [rows])
      out = apply('Batch', in_tensors=[x, y], max_batch_size=4, allowed_batch_sizes=allowed, grad_timeout_micros=10**7, **limits)
      back = apply('Unbatch', batched_tensor=out[0] * 2.0, batch_index=out[2], id=out[3], timeout_micros=10**7)[0]
      feeds = {x: np.arange(2.0 * rows).reshape([rows, 2]), y: np.arange(rows)}
      s.run([out[0], out[1], out[2][:, 1:], back], feeds)
      s.static_shapes(out[0], out[1], out[2], out[3], back)
    with script('BatchFunction', label) as s:

      @function.Defun(tf.float32, tf.float32, func_name='twice_' + label)
      def twice(x, captured):
        return x * 2.0 + captured, tf.reduce_sum(x, [1])

      x = tf.placeholder(tf.float32, [rows, 2])
      out = apply('BatchFunction', in_tensors=[x], captured_tensors=[tf.constant(0.5)], f=twice, Tout=[tf.float32, tf.float32], max_batch_size=4,
                  allowed_batch_sizes=allowed, **limits)
      s.run(list(out.outputs), {x: np.arange(2.0 * rows).reshape([rows, 2])})
  with script('BatchFunction', 'rows') as s:
    x = tf.placeholder(tf.float32, [None])
    bodies = (('twice', lambda x: tf.concat([x, x], 0)), ('more', lambda x: tf.concat([x, x[:1]], 0)), ('fewer', lambda x: x[:2]), ('none', lambda x: x[0]))
    for name, body in bodies:
      f = function.Defun(tf.float32, func_name='rows_' + name)(body)
      for allowed in ([], [3, 4]):
        s.run(apply('BatchFunction', in_tensors=[x], captured_tensors=[], f=f, Tout=[tf.float32], max_batch_size=4, allowed_batch_sizes=allowed, **limits)[0],
              {x: [1, 2, 3]}, error=True)
      if name == 'fewer':  # those that were there before padding are not enough
        s.run(apply('BatchFunction', in_tensors=[x], captured_tensors=[], f=f, Tout=[tf.float32], max_batch_size=4, allowed_batch_sizes=[3, 4], **limits)[0],
              {x: [1, 2]}, error=True)
  with script('UnbatchGrad', 'alone') as s:
    index, none = tf.constant(I64([[7, 0, 2]])), tf.constant(np.zeros([0, 3], np.int64))
    s.run(apply('UnbatchGrad', original_input=tf.constant([1.0, 2, 3]), batch_index=index, grad=tf.constant([4.0, 5]), id=I64(7))[0])
    s.run(apply('UnbatchGrad', original_input=tf.zeros([0]), batch_index=none, grad=tf.constant([4.0, 5]), id=I64(8))[0])
    s.run(apply('UnbatchGrad', original_input=tf.constant([1.0]), batch_index=none, grad=tf.constant([4.0]), id=I64(9))[0], error=True)
    s.run(apply('UnbatchGrad', original_input=tf.constant([1.0]), batch_index=index, grad=tf.constant([4.0]), id=tf.placeholder_with_default(I64([9]), None))[0],
          error=True)
  with script('Batch', 'errors') as s:
    options = dict(max_batch_size=2, grad_timeout_micros=0, **limits)
    later = lambda v: tf.placeholder_with_default(tf.constant(v), None)
    s.run(apply('Batch', in_tensors=[later([1]), later([1, 2])], **options)[0], error=True)
    s.run(apply('Batch', in_tensors=[later([1, 2, 3])], **options)[0], error=True)
    s.run(apply('Batch', in_tensors=[later(1)], **options)[0], error=True)
    s.run(apply('Batch', in_tensors=[later([1])], **dict(options, allowed_batch_sizes=[1]))[0], error=True)
    for change in (dict(batch_timeout_micros=-5), dict(batch_timeout_micros=2**31), dict(num_batch_threads=2**31), dict(max_batch_size=2**31),
                   dict(max_enqueued_batches=2**31)):
      s.run(apply('Batch', in_tensors=[later([1])], **dict(options, **change))[0], error=True)
    for timeout, bad in ((2**31, True), (-2**31 - 1, True), (2**31 - 1, False)):
      s.run(apply('Unbatch', batched_tensor=later([1.0]), batch_index=later(I64([[1, 0, 1]])), id=later(I64(1)), timeout_micros=timeout)[0], error=bad)
    s.run(apply('Unbatch', batched_tensor=later([1.0]), batch_index=later(I64([[1, 0, 1]])), id=later(I64([1])), timeout_micros=1000)[0], error=True)


def cases():
  batches()
  barriers()
  staging()
  map_staging('Map')
  map_staging('OrderedMap')
  checkpoints()
