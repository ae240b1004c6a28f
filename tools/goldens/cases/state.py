# SPDX-License-Identifier: Apache-2.0
"""Variables of both kinds: reference edges (VariableV2) and handles (VarHandleOp)."""
import numpy as np

from record import apply, convert, cpu_types, script, tf, type_name

NUMBERS = ('float', 'double', 'half', 'bfloat16', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64',
           'complex64', 'complex128')
X = np.array([[1.0, -2], [3, 4]])
Y = np.array([[0.5, 6], [-7, 1]])


def ref(dtype=tf.float32, shape=(2, 2), name='v', op='VariableV2', **kw):
  return apply(op, name, dtype=dtype, shape=shape, **kw)[0]


def handle(dtype=tf.float32, shape=(2, 2), name='v', **kw):
  return apply('VarHandleOp', name, dtype=dtype, shape=shape, shared_name=name, **kw)[0]


def read(v, dtype=tf.float32):
  return apply('ReadVariableOp', resource=v, dtype=dtype)[0]


def c(value, dtype=tf.float32):
  return tf.constant(convert(value, dtype), dtype)


def assignments(types):
  for t in types:
    with script('Assign', t) as s:
      v = ref(t)
      s.run(apply('IsVariableInitialized', ref=v)[0])
      s.run(apply('Assign', ref=v, value=c(X, t))[0])
      s.run([v, apply('IsVariableInitialized', ref=v)[0]])
      s.run(tf.identity(v))
    with script('AssignVariableOp', t) as s:
      v = handle(t)
      s.run(apply('VarIsInitializedOp', resource=v)[0])
      s.run(targets=apply('AssignVariableOp', resource=v, value=c(X, t)).op)
      s.run([read(v, t), apply('VarIsInitializedOp', resource=v)[0], apply('VariableShape', input=v)[0]])
  for t in NUMBERS:
    for op in ('AssignAdd', 'AssignSub'):
      with script(op, t) as s:
        v = ref(t)
        s.run(apply('Assign', ref=v, value=c(X, t))[0])
        update = apply(op, ref=v, value=c(Y, t))[0]
        s.run(update)
        s.run(update)
        s.run(v)
      with script(op + 'VariableOp', t) as s:
        v = handle(t)
        s.run(targets=apply('AssignVariableOp', resource=v, value=c(X, t)).op)
        update = apply(op + 'VariableOp', resource=v, value=c(Y, t)).op
        s.run(targets=update)
        s.run(targets=update)
        s.run(read(v, t))


def variables():
  for op in ('Variable', 'VariableV2'):
    with script(op, 'uninitialized', covers=[op]) as s:
      v = ref(op=op)
      s.run(v, error=True)
      s.run(tf.identity(v), error=True)
      s.static_shapes(v)
    with script(op, 'shared', covers=[op]) as s:
      a, b = ref(name='a', op=op, shared_name='same'), ref(name='b', op=op, shared_name='same')
      s.run(apply('Assign', ref=a, value=c(X))[0])
      s.run([b, a])
    with script(op, 'containers', covers=[op]) as s:
      a, b = ref(name='a', op=op, shared_name='same', container='one'), ref(name='b', op=op, shared_name='same', container='two')
      s.run(apply('Assign', ref=a, value=c(X))[0])
      s.run(a)
      s.run(b, error=True)
  with script('VariableV2', 'shared_mismatch', covers=['VariableV2']) as s:
    a, b = ref(name='a', shared_name='same'), ref(tf.int32, name='b', shared_name='same')
    s.run(apply('Assign', ref=a, value=c(X))[0])
    s.run(b, error=True)
  with script('Assign', 'validate_shape') as s:
    v = ref()
    x = tf.placeholder(tf.float32, None)
    checked, free = apply('Assign', ref=v, value=x)[0], apply('Assign', ref=v, value=x, validate_shape=False)[0]
    s.run(checked, {x: X})
    s.run(checked, {x: [1.0, 2, 3]}, error=True)
    s.run(v)
    s.run(free, {x: [1.0, 2, 3]})
    s.run(tf.shape(v))
    s.run(checked, {x: X}, error=True)
  with script('AssignAdd', 'errors') as s:
    v = ref()
    x = tf.placeholder(tf.float32, None)
    add, sub = apply('AssignAdd', ref=v, value=x)[0], apply('AssignSub', ref=v, value=x)[0]
    s.run(add, {x: X}, error=True)
    s.run(apply('Assign', ref=v, value=c(X))[0])
    s.run(add, {x: [1.0]}, error=True)
    s.run(sub, {x: 1.0}, error=True)
    s.run(add, {x: Y})
  with script('VarHandleOp', 'uninitialized') as s:
    v = handle()
    s.run(read(v), error=True)
    s.run(targets=apply('AssignAddVariableOp', resource=v, value=c(X)).op, error=True)
    s.run(apply('VariableShape', input=v)[0], error=True)
    s.run(apply('VarIsInitializedOp', resource=v)[0])
  with script('VarHandleOp', 'shared') as s:
    a = apply('VarHandleOp', 'a', dtype=tf.float32, shape=[2, 2], shared_name='same')[0]
    b = apply('VarHandleOp', 'b', dtype=tf.float32, shape=[2, 2], shared_name='same')[0]
    s.run(targets=apply('AssignVariableOp', resource=a, value=c(X)).op)
    s.run(read(b))
    s.static_shapes(read(b))
  with script('VarHandleOp', 'wrong_type') as s:
    v, x = handle(), tf.placeholder(tf.float32, None)
    s.run(targets=apply('AssignVariableOp', resource=v, value=x).op, feeds={x: X})
    s.run(read(v))
    s.run(apply('VariableShape', input=v, out_type=tf.int64)[0])
  with script('AssignVariableOp', 'other_shape') as s:
    v, x = handle(shape=None), tf.placeholder(tf.float32, None)
    s.run(targets=apply('AssignVariableOp', resource=v, value=x).op, feeds={x: X})
    s.run(targets=apply('AssignVariableOp', resource=v, value=x).op, feeds={x: [1.0]})
    s.run(read(v))
    s.run(targets=apply('AssignVariableOp', resource=v, value=x, validate_shape=True).op, feeds={x: X}, error=True)
    s.run(targets=apply('AssignAddVariableOp', resource=v, value=x).op, feeds={x: X}, error=True)
    s.run(targets=apply('AssignSubVariableOp', resource=v, value=x).op, feeds={x: [3.0]})
    s.run(read(v))
  for ignore in (True, False):
    with script('DestroyResourceOp', 'ignore' if ignore else 'strict') as s:
      v = handle()
      destroy = apply('DestroyResourceOp', resource=v, ignore_lookup_error=ignore).op
      s.run(targets=apply('AssignVariableOp', resource=v, value=c(X)).op)
      s.run(targets=destroy)
      s.run(apply('VarIsInitializedOp', resource=v)[0])
      s.run(read(v), error=True)
      if ignore:
        s.run(targets=destroy)
  with script('RefIdentity', 'reads_later') as s:
    v = ref()
    i = apply('RefIdentity', input=v)[0]
    s.run(apply('Assign', ref=i, value=c(X))[0])
    s.run([v, i])
    s.run(apply('AssignAdd', ref=i, value=c(Y))[0])
    s.run(v)
  with script('VariableV2', 'order_of_updates') as s:
    v = ref(shape=())
    init = apply('Assign', ref=v, value=c(1.0))
    with tf.control_dependencies([init.op]):
      add = apply('AssignAdd', ref=v, value=c(2.0))
    with tf.control_dependencies([add.op]):
      double = apply('Assign', ref=v, value=v * 2)
    s.run(double[0])
    s.run(double[0])
    s.run(v)


def rows(op, types, make_ref):
  v0 = np.arange(8.0).reshape(4, 2)
  for t in types:
    for index in (np.int32, np.int64) if t == 'float' else (np.int32,):
      with script(op, '%s_%s' % (t, np.dtype(index).name)) as s:
        v, init, update, value = make_ref(op, t, v0)
        s.run(targets=init)
        u = update(tf.constant(index([2, 0, 2])), c(np.array([[1.0, 2], [3, 4], [5, 6]]), t))
        s.run(targets=u)
        s.run(value)
  with script(op, 'forms') as s:
    v, init, update, value = make_ref(op, 'float', v0)
    s.run(targets=init)
    s.run(targets=update(tf.constant(1), c([10.0, 20])))
    s.run(value)
    s.run(targets=update(tf.constant([[0, 1], [2, 3]]), c(np.ones([2, 2, 2]))))
    s.run(value)
    s.run(targets=update(tf.constant([0, 3]), c(5.0)))
    s.run(value)
    s.run(targets=update(tf.zeros([0], tf.int32), tf.zeros([0, 2])))
    s.run(value)
  with script(op, 'errors') as s:
    v, init, update, value = make_ref(op, 'float', v0)
    i, x = tf.placeholder(tf.int32, None), tf.placeholder(tf.float32, None)
    u = update(i, x)
    s.run(targets=u, feeds={i: [0], x: [[1.0, 1]]}, error=True)
    s.run(targets=init)
    s.run(targets=u, feeds={i: [4], x: [[1.0, 1]]}, error=True)
    s.run(targets=u, feeds={i: [-1], x: [[1.0, 1]]}, error=True)
    s.run(targets=u, feeds={i: [0, 1], x: [[1.0, 1]]}, error=True)
    if not op.startswith('Resource'):  # TensorFlow does not check it there
      s.run(targets=u, feeds={i: [0], x: [[1.0, 1, 1]]}, error=True)
    s.run(value)


def scatters():
  def by_ref(op, t, v0):
    v = ref(t, v0.shape)
    return (v, apply('Assign', ref=v, value=c(v0, t)).op,
            lambda i, x: apply(op, ref=v, indices=i, updates=x).op, tf.identity(v))

  def by_handle(op, t, v0):
    v = handle(t, v0.shape)
    return (v, apply('AssignVariableOp', resource=v, value=c(v0, t)).op,
            lambda i, x: apply(op, resource=v, indices=i, updates=x).op, read(v, t))

  for op in ('Add', 'Sub', 'Mul', 'Div', 'Min', 'Max', 'Update'):
    for name, make in (('Scatter' + op, by_ref), ('ResourceScatter' + op, by_handle)):
      attr = 'T' if make is by_ref else 'dtype'
      rows(name, [type_name(t) for t in cpu_types(name, attr)], make)
  v0 = np.arange(24.0).reshape(4, 3, 2)
  for t in NUMBERS + ('bool', 'string'):
    with script('ResourceGather', t) as s:
      v = handle(t, v0.shape)
      s.run(targets=apply('AssignVariableOp', resource=v, value=c(v0, t)).op)
      s.run([apply('ResourceGather', resource=v, indices=tf.constant(np.int32([2, 0])), dtype=tf.as_dtype(t))[0],
             apply('ResourceGather', resource=v, indices=tf.constant(np.int64([[1]])), dtype=tf.as_dtype(t))[0]])
  with script('ResourceGather', 'forms') as s:
    v, i = handle(shape=v0.shape), tf.placeholder(tf.int32, None)
    gather = apply('ResourceGather', resource=v, indices=i, dtype=tf.float32)[0]
    s.run(gather, {i: [0]}, error=True)
    s.run(targets=apply('AssignVariableOp', resource=v, value=c(v0)).op)
    for indices in (3, [], [[0, 1], [3, 3]]):
      s.run(gather, {i: np.array(indices, np.int32)})
    s.run(gather, {i: [4]}, error=True)
    s.run(gather, {i: [-1]}, error=True)
    s.run(apply('ResourceGather', resource=v, indices=tf.constant([[0], [1], [2], [1]]), dtype=tf.float32, batch_dims=1)[0])


def gradients():
  with script('ReadVariableOp', 'gradient') as s:
    v = tf.get_variable('w', initializer=tf.constant(np.float32(X)), use_resource=True)
    x = tf.placeholder(tf.float32, [2, 2])
    y = tf.matmul(x, v.value())
    s.run(targets=v.initializer)
    s.run(y, {x: Y})


def counters():
  for t in ('int32', 'int64'):
    with script('CountUpTo', t) as s:
      v = ref(t, ())
      count = apply('CountUpTo', ref=v, limit=3)[0]
      s.run(count, error=True)
      s.run(apply('Assign', ref=v, value=tf.constant(1, t))[0])
      s.run(count)
      s.run(count)
      s.run(count, error=True)
      s.run(v)
    with script('ResourceCountUpTo', t) as s:
      v = handle(t, ())
      count = apply('ResourceCountUpTo', resource=v, limit=3, T=tf.as_dtype(t))[0]
      s.run(count, error=True)
      s.run(targets=apply('AssignVariableOp', resource=v, value=tf.constant(1, t)).op)
      s.run(count)
      s.run(count)
      s.run(count, error=True)
      s.run(read(v, t))
  with script('TemporaryVariable', 'sum') as s:
    x = tf.placeholder(tf.float32, [2, 2])
    v = apply('TemporaryVariable', 'tmp', shape=[2, 2], dtype=tf.float32)[0]
    first = apply('Assign', ref=v, value=x)[0]
    second = apply('AssignAdd', ref=first, value=x * 2.0)[0]
    s.run(apply('DestroyTemporaryVariable', ref=second, var_name='tmp')[0], {x: X})
    s.run(apply('DestroyTemporaryVariable', ref=second, var_name='tmp')[0], {x: Y})


def slices():
  v0 = np.arange(12.0).reshape(3, 4)
  forms = [((0, 1), (2, 3), (1, 1), {}, np.ones([2, 2])), ((2,), (3,), (1,), dict(shrink_axis_mask=1), np.arange(4.0)),
           ((-1, -1), (-4, -5), (-1, -2), {}, np.arange(6.0).reshape(3, 2)), ((0, 0), (0, 0), (1, 1), dict(begin_mask=3, end_mask=3), v0 * 2)]
  for t in ('float', 'double', 'int32', 'bool', 'string', 'complex64', 'half'):
    with script('StridedSliceAssign', t) as s:
      v = ref(t, v0.shape)
      s.run(apply('Assign', ref=v, value=c(v0, t))[0])
      for begin, end, strides, kw, value in forms:
        s.run(apply('StridedSliceAssign', ref=v, begin=begin, end=end, strides=strides, value=c(value, t), **kw)[0])
    with script('ResourceStridedSliceAssign', t) as s:
      v = handle(t, v0.shape)
      s.run(targets=apply('AssignVariableOp', resource=v, value=c(v0, t)).op)
      for begin, end, strides, kw, value in forms:
        s.run(targets=apply('ResourceStridedSliceAssign', ref=v, begin=begin, end=end, strides=strides, value=c(value, t), **kw).op)
        s.run(read(v, t))
  with script('StridedSliceAssign', 'errors') as s:
    v, x = ref(shape=v0.shape), tf.placeholder(tf.float32, None)
    assign = apply('StridedSliceAssign', ref=v, begin=[0, 1], end=[2, 3], strides=[1, 1], value=x)[0]
    s.run(assign, {x: np.ones([2, 2])}, error=True)
    s.run(apply('Assign', ref=v, value=c(v0))[0])
    s.run(assign, {x: np.ones([2, 3])}, error=True)
    s.run(assign, {x: np.ones([2, 2])})


def cases():
  counters()
  slices()
  assignments(NUMBERS + ('bool', 'string'))
  variables()
  scatters()
  gradients()
