# SPDX-License-Identifier: Apache-2.0
"""Ops under names that only graphs of old versions may have."""
import numpy as np

from cases.io import tfrecord
from record import apply, op, rng, script, tf
from tensorflow.python.framework import test_util


def old_graph(producer):
  test_util.set_producer_version(tf.get_default_graph(), producer)


class Array:
  """A TensorArray of version 1 ('') or 2 ('V2')."""

  def __init__(self, version, size, dtype=tf.float32, flow=0.0, handle=None, **attrs):
    self.version, self.dtype, self.flow = version, dtype, tf.convert_to_tensor(flow)
    self.handle = handle if handle is not None else apply('TensorArray' + version, size=size, dtype=dtype, **attrs)[0]

  def _apply(self, op, **kwargs):
    version = '' if op in ('Pack', 'Unpack') else self.version
    flow = {} if op == 'Close' else dict(flow_in=self.flow)
    return apply('TensorArray' + op + version, handle=self.handle, **flow, **kwargs)

  def _with(self, op, **kwargs):
    return Array(self.version, 0, self.dtype, self._apply(op, **kwargs)[0], self.handle)

  def write(self, index, value):
    return self._with('Write', index=index, value=tf.constant(value, self.dtype))

  def scatter(self, indices, value):
    return self._with('Scatter', indices=indices, value=tf.constant(value, self.dtype))

  def split(self, value, lengths):
    return self._with('Split', value=tf.constant(value, self.dtype), lengths=tf.constant(lengths, tf.int64))

  def unpack(self, value):
    return self._with('Unpack', value=tf.constant(value, self.dtype))

  def read(self, index, dtype=None):
    return self._apply('Read', index=index, dtype=dtype or self.dtype)[0]

  def gather(self, indices, **attrs):
    return self._apply('Gather', indices=tf.constant(indices, tf.int32), dtype=self.dtype, **attrs)[0]

  def concat(self, **attrs):
    return list(self._apply('Concat', dtype=self.dtype, **attrs).outputs)

  def pack(self, **attrs):
    return self._apply('Pack', dtype=self.dtype, **attrs)[0]

  def size(self):
    return self._apply('Size')[0]

  def close(self):
    return self._apply('Close').op

  def grad(self, source='g'):
    handle = apply('TensorArrayGrad' + self.version, handle=self.handle, flow_in=self.flow, source=source)[0]
    return Array(self.version, 0, self.dtype, self.flow, handle)


ROWS = [[1.0, 2], [3, -4], [5, 6]]


def arrays(version):
  producer = 15 if version == '' else 25

  def case(op, label, make, error=False, shapes=False):
    with script('TensorArray' + op + ('' if op.endswith('ack') else version), label) as s:
      old_graph(producer)
      fetches = make()
      s.run(fetches, error=error)
      if shapes:
        s.static_shapes(*fetches)

  def array(size=3, **attrs):
    return Array(version, size, **attrs)

  for t in (tf.float32, tf.int64, tf.bool, tf.complex64, tf.string):
    values = {tf.int64: [[1, 2], [3, -4], [5, 6]], tf.bool: [[True, False]] * 3, tf.string: [['a', 'b'], ['', 'c'], ['d', 'e']]}.get(t, ROWS)
    def everything(t=t, values=values):
      a = array(dtype=t, clear_after_read=False).scatter([2, 0, 1], values)
      return [a.read(0), a.gather([1, 1, 0]), a.size(), a.flow] + a.concat()
    case('', t.name, everything, shapes=True)
  case('Write', 'then_read', lambda: [array().write(0, [1.0]).write(2, [3.0, 4]).read(2)], shapes=True)
  case('Write', 'grows', lambda: [(lambda a: a.size())(array(0, dynamic_size=True).write(4, [1.0]))])
  case('Read', 'zeros', lambda: [array(element_shape=[2]).read(1)])
  case('Gather', 'empty', lambda: [array(0).gather([], element_shape=[2])])
  case('Concat', 'uneven', lambda: array().write(0, [1.0, 2]).write(1, [3.0]).write(2, [4.0, 5]).concat())
  case('Split', 'parts', lambda: [(lambda a: a.read(1))(array().split(ROWS, [1, 2, 0]))])
  bad = {'write_range': lambda: array().write(3, [1.0]).flow, 'write_twice': lambda: array().write(0, [1.0]).write(0, [1.0]).flow,
         'read_range': lambda: array().read(-1), 'read_unwritten': lambda: array().read(0), 'read_type': lambda: array().read(0, tf.int32),
         'gather_range': lambda: array().scatter([0, 1, 2], ROWS).gather([3]), 'scatter_range': lambda: array().scatter([0, 1, 3], ROWS).flow,
         'split_lengths': lambda: array().split(ROWS, [1, 1, 3]).flow, 'size_negative': lambda: array(-1).size()}
  for label, make in bad.items():
    case('', label, lambda make=make: [make()], error=True)

  def gradients():
    a = array(clear_after_read=False).scatter([0, 1, 2], ROWS)
    g = a.grad()
    added = g.write(0, [1.0, 1]).write(0, [2.0, 3])
    same = Array(version, 0, tf.float32, added.flow, a.grad().handle)
    return [same.read(0), added.read(2), g.size()]
  case('Grad', 'adds', gradients)
  case('Grad', 'sources', lambda: [(lambda a: Array(version, 0, tf.float32, a.grad('g').write(0, [1.0, 2]).flow,
                                                     a.grad('h').handle).read(0))(array(element_shape=[2]))])

  def closed():
    a = array()
    with tf.control_dependencies([a.close()]):
      return [tf.identity(1.0)]
  case('Close', 'closes', closed)

  def used_after():
    a = array()
    with tf.control_dependencies([a.close()]):
      return [a.write(0, [1.0]).flow]
  case('Close', 'used_after', used_after, error=True)


def array_loops():
  for version, producer in (('', 15), ('V2', 25)):
    with script('TensorArray' + version, 'loop') as s:
      old_graph(producer)
      a = Array(version, 4, clear_after_read=False)
      def step(i, flow):
        value = tf.cast(i, tf.float32) * 3
        flow = apply('TensorArrayWrite' + version, handle=a.handle, index=i, value=value, flow_in=flow)[0]
        return i + 1, tf.ensure_shape(flow, [])
      i, flow = tf.while_loop(lambda i, _: i < 2, step, [0, a.flow], parallel_iterations=1)
      done = Array(version, 0, tf.float32, flow, a.handle)
      s.run([done.read(0), done.read(1), i])


def whole_arrays():
  def case(op, label, make, error=False):
    with script('TensorArray' + op, label) as s:
      old_graph(15)
      s.run(make(), error=error)
  array = lambda size=3, **attrs: Array('', size, **attrs)
  case('Pack', 'rows', lambda: [array().unpack(ROWS).pack()])
  case('Pack', 'written', lambda: [array(2, dtype=tf.string).write(0, 'a').write(1, 'b').pack()])
  case('Pack', 'grown', lambda: [array(1, dynamic_size=True).unpack(ROWS).pack()])
  case('Pack', 'zeros', lambda: [array(element_shape=[2]).write(1, [1.0, 2]).pack()])
  case('Pack', 'empty', lambda: [array(0).pack(element_shape=[2, 3])])
  case('Pack', 'empty_of_unknown_shape', lambda: [array(0).pack()], error=True)
  case('Pack', 'uneven', lambda: [array(2).write(0, [1.0]).write(1, [1.0, 2]).pack()], error=True)
  case('Pack', 'unwritten', lambda: [array(2).write(0, [1.0]).pack()], error=True)
  case('Unpack', 'gradient', lambda: [array().unpack(ROWS).grad().unpack(ROWS).pack()])
  case('Unpack', 'gradient_of_grown', lambda: [array(1, dynamic_size=True).unpack(ROWS).grad().write(1, [1.0, 2]).pack()])
  case('Unpack', 'too_few', lambda: [array(4).unpack(ROWS).flow], error=True)
  case('Unpack', 'too_many', lambda: [array(2).unpack(ROWS).flow], error=True)
  case('Unpack', 'fewer_than_dynamic', lambda: [array(4, dynamic_size=True).unpack(ROWS).flow], error=True)
  case('Unpack', 'scalar', lambda: [array(4)._apply('Unpack', value=tf.constant(1))[0]], error=True)


def random_matrices(*shape):
  return rng('old_names', shape).uniform(-1, 1, shape) + (3 * np.eye(*shape[-2:]))


def symmetric(*shape):
  m = random_matrices(*shape)
  return np.matmul(m, np.swapaxes(m, -1, -2)) / 4


def matrices():
  kw = dict(producer=10, tolerance=(2e-4, 2e-4))
  both = ('float', 'double')
  a, b = random_matrices(2, 3, 3), random_matrices(2, 3, 5)[..., 3:]
  op('BatchCholesky', symmetric(2, 3, 3), types=both, **kw)
  op('BatchMatrixDeterminant', a, types=both + ('complex64', 'complex128'), **kw)
  op('BatchMatrixInverse', a, types=both, **kw)
  op('BatchMatrixInverse', a, label='adjoint', adjoint=True, **kw)
  for name in ('BatchMatrixSolve', 'BatchMatrixTriangularSolve'):
    op(name, a, b, types=both, **kw)
    op(name, a, b, label='adjoint', adjoint=True, **kw)
    op(name, a, b[:, :2], label='rows', error=True, **kw)
  op('BatchMatrixTriangularSolve', a, b, label='upper', lower=False, **kw)
  for fast in (True, False):
    op('BatchMatrixSolveLs', random_matrices(2, 4, 3), random_matrices(2, 4, 2), np.float64(0.5 if fast else 0), types=both, const=(2,), fast=fast, **kw)
  op('BatchMatrixSolveLs', a, b, np.float64(-1), label='negative', error=True, **kw)
  op('BatchMatrixInverse', np.zeros([2, 2, 2]), label='singular', error=True, **kw)
  op('BatchMatrixInverse', np.zeros([2, 2, 3]), label='square', error=True, **kw)
  op('BatchCholesky', np.zeros([2, 3]), label='square', error=True, **kw)
  op('BatchMatrixDeterminant', np.zeros([3]), label='rank', error=True, **kw)


def cholesky_gradients():
  for name, producer in (('CholeskyGrad', None), ('BatchCholeskyGrad', 10)):
    kw = dict(producer=producer, tolerance=(2e-4, 2e-4))
    grad = random_matrices(2, 3, 3)
    full = np.linalg.cholesky(symmetric(2, 3, 3)) + np.triu(np.ones([3, 3]), 1)  # what is above the diagonal does not count
    op(name, full, grad, types=('float', 'double'), **kw)
    op(name, np.linalg.cholesky(symmetric(40, 40)), random_matrices(40, 40), label='blocks', types=('double',), shapes=False, producer=producer)
    op(name, np.zeros([0, 0]), np.zeros([0, 0]), label='empty', **kw)
    op(name, np.eye(2), np.eye(3), label='sizes', error=True, **kw)
    op(name, np.ones([2, 3]), np.ones([2, 3]), label='square', error=True, **kw)
    op(name, full, grad[0], label='batch', error=True, **kw)


def eigenvalues():
  for t in (tf.float32, tf.float64):
    x = symmetric(2, 4, 4)
    again = lambda e, v: tf.matmul(v * tf.expand_dims(e, -2), v, adjoint_b=True)
    for name in ('SelfAdjointEig', 'BatchSelfAdjointEig'):
      with script(name, t.name, covers=[name], tolerance=(2e-4, 2e-4)) as s:
        old_graph(10)
        out = tf.ensure_shape(apply(name, input=tf.constant(x, t))[0], [2, 5, 4])
        s.run([out[:, 0, :], again(out[:, 0, :], out[:, 1:, :])])
    with script('BatchSelfAdjointEigV2', t.name, covers=['BatchSelfAdjointEigV2'], tolerance=(2e-4, 2e-4)) as s:
      old_graph(10)
      e, v = apply('BatchSelfAdjointEigV2', input=tf.constant(x, t)).outputs
      s.run([e, again(e, v), apply('BatchSelfAdjointEigV2', input=tf.constant(x, t), compute_v=False)[0]])
    with script('BatchSvd', t.name, covers=['BatchSvd'], tolerance=(2e-4, 2e-4)) as s:
      old_graph(10)
      u = tf.constant(random_matrices(2, 4, 3), t)
      svd, only = apply('BatchSvd', input=u), apply('BatchSvd', input=u, compute_uv=False)
      s.run([svd[0], tf.matmul(svd[1] * tf.expand_dims(svd[0], -2), svd[2], adjoint_b=True), only[0]])
  one = np.float32([[4.0]])
  for name in ('SelfAdjointEig', 'BatchSelfAdjointEig'):
    op(name, np.zeros([2, 0, 0]), label='empty', producer=10)
    op(name, one, label='one', producer=10)
    op(name, np.ones([2, 3]), label='square', error=True, producer=10)
  op('BatchSelfAdjointEigV2', np.ones([2, 3]), label='square', error=True, producer=10)
  op('BatchSvd', np.ones([2]), label='rank', error=True, producer=10)


def diagonals():
  kw = dict(producer=13)
  x = rng('old_names', 'diagonals').uniform(-9, 9, [2, 3, 4]).round(2)
  op('BatchMatrixDiag', x[0], types='all', **kw)
  op('BatchMatrixDiagPart', x, types='all', **kw)
  op('BatchMatrixSetDiag', x, x[:, 0, :3], types='all', **kw)
  op('BatchMatrixBandPart', x, np.int64(1), np.int64(0), types='all', const=(1, 2), **kw)
  op('BatchMatrixBandPart', x, np.int64(-1), np.int64(2), label='upper', const=(1, 2), **kw)
  op('BatchMatrixDiag', np.float32(1), label='scalar', error=True, **kw)
  op('BatchMatrixDiagPart', x[0, 0], label='vector', error=True, **kw)
  op('BatchMatrixSetDiag', x, x[:, 0], label='length', error=True, **kw)
  op('BatchMatrixBandPart', x, np.int64(4), np.int64(0), label='lower', error=True, **kw)


def volumes():
  kw = dict(producer=9, tolerance=(1e-4, 1e-5))
  r = rng('old_names', 'volumes')
  x, f = r.uniform(-1, 1, [2, 3, 4, 4, 2]), r.uniform(-1, 1, [2, 2, 3, 2, 3])
  for padding, strides, out in (('SAME', [1, 1, 2, 1, 1], [2, 3, 2, 4, 3]), ('VALID', [1, 1, 1, 1, 1], [2, 2, 3, 2, 3])):
    dy = r.uniform(-1, 1, out)
    for name in ('Conv3DBackpropInput', 'Conv3DBackpropFilter'):
      op(name, x, f, dy, types=('float', 'double'), label=padding, strides=strides, padding=padding, **kw)
      op(name, x, f, dy[:1], label=padding + '_batch', strides=strides, padding=padding, error=True, **kw)
  op('Conv3DBackpropInput', x[0], f, x, label='rank', strides=[1] * 5, padding='SAME', error=True, **kw)


def images():
  x = rng('old_names', 'images').uniform(0, 100, [2, 4, 3, 2])
  scalars = np.float32(1.5), np.float32(20), np.float32(90)
  op('AdjustContrast', x, *scalars, types='all', const=(1, 2, 3), producer=1, tolerance=(1e-4, 1e-4))
  op('AdjustContrast', x[0], np.float32(-3), np.float32(50), np.float32(0), label='crossed', const=(1, 2, 3), producer=1, tolerance=(1e-4, 1e-4))
  op('AdjustContrast', x[0, 0], *scalars, label='rank', error=True, producer=1)
  op('AdjustContrast', x, np.float32([1, 2]), np.float32(0), np.float32(9), label='factor', error=True, producer=1)
  op('AdjustContrast', x, np.float32(1), np.float32(0), np.float32([9]), label='limit', error=True, producer=1)
  for t in (tf.float32, tf.uint8, tf.int64):
    with script('RandomCrop', t.name) as s:
      old_graph(7)
      image = tf.constant(np.arange(7 * 9 * 2).reshape(7, 9, 2), t)
      size = tf.placeholder(tf.int64, [2])
      y = apply('RandomCrop', image=image, size=size, seed=3, seed2=8)[0]
      for wanted in ([2, 3], [2, 3], [7, 3], [2, 9], [7, 9], [4, 4], [0, 3]):
        s.run(y, {size: wanted})
      s.run(y, {size: [8, 2]}, error=True)
      s.run(y, {size: [2, 10]}, error=True)
      s.static_shapes(y, apply('RandomCrop', image=image, size=tf.constant([2, 3], tf.int64))[0])


def quantized():
  x = np.array([[-1.7, -0.4, 0.0, 0.31], [0.5, 1.2, 2.49, 7.0]])
  kw = dict(producer=21, fd=False)
  for i, attrs in enumerate((dict(), dict(num_bits=3), dict(signed_input=False), dict(range_given=True, input_min=-1.0, input_max=2.0),
                             dict(range_given=True, input_min=0.0, input_max=3.0, signed_input=False, num_bits=4))):
    op('QuantizeAndDequantize', x, label=str(i), types=('float', 'double'), **attrs, **kw)
  op('QuantizeAndDequantize', x, label='bits', num_bits=63, error=True, producer=21)
  op('QuantizeAndDequantize', x, label='range', range_given=True, input_min=1.0, input_max=0.0, error=True, producer=21)


def samples():
  for t in (tf.float16, tf.float32, tf.float64):
    with script('RandomPoisson', t.name) as s:
      old_graph(24)
      y = apply('RandomPoisson', shape=tf.constant([3, 2]), rate=tf.constant([0.5, 3, 40], t), seed=5, seed2=6)[0]
      s.run(y)
      s.run(y)
      s.static_shapes(y)


  with script('StatefulStandardNormal', 'float') as s:
    old_graph(28)
    handle = apply('VarHandleOp', dtype=tf.int64, shape=[4], shared_name='state')[0]
    s.run(targets=apply('AssignVariableOp', resource=handle, value=tf.constant([1, 7, 2**62, -5], tf.int64)).op)
    y = apply('StatefulStandardNormal', resource=handle, shape=tf.constant([3, 5], tf.int64), dtype=tf.float32)[0]
    s.run(y)
    s.run(y)


def readers():
  def reading(kind, files, **attrs):
    with script(kind, 'reads') as s:
      old_graph(25)
      names = tf.placeholder(tf.string, [None])
      queue = apply('FIFOQueue', component_types=[tf.string], shapes=[()], capacity=10)[0]
      move = apply('QueueEnqueueMany', handle=queue, components=[names]).op
      reader = apply(kind, **attrs)[0]
      read = apply('ReaderRead', reader_handle=reader, queue_handle=queue)
      counts = [apply('ReaderNumRecordsProduced', reader_handle=reader)[0], apply('ReaderNumWorkUnitsCompleted', reader_handle=reader)[0]]
      s.run(targets=move, feeds={names: np.array([s.file(n, d) for n, d in files], object)})
      s.run(targets=apply('QueueClose', handle=queue).op)
      for _ in range(3):
        s.run(read.outputs)
      s.run(counts)
      s.static_shapes(reader)
  two = [('a', b'first\nsecond\n'), ('b', b'third\n')]
  reading('TextLineReader', two)
  reading('TFRecordReader', [('a', tfrecord([b'x', b''])), ('b', tfrecord([b'yz']))])
  reading('IdentityReader', two + [('c', b'')])
  reading('WholeFileReader', two + [('c', b'')])


def values():
  x = np.array([[1.5, -2], [0, 1e4]])
  op('CheckNumericsV2', x, types='all', message='here')
  for label, bad in (('nan', [np.nan]), ('minus', [1, -np.inf]), ('plus', [np.inf]), ('all', [np.nan, np.inf, -np.inf]), ('two', [np.inf, np.nan])):
    op('CheckNumericsV2', np.float32(bad), label=label, message='here', error=True)
  for label, shape in (('known', [2, 3]), ('partly', [None, 3]), ('unknown', None)):
    with script('FakeParam', label) as s:
      y = apply('FakeParam', dtype=tf.float32, shape=tf.TensorShape(shape))[0]
      s.run(tf.shape(y))
      s.static_shapes(y)
  with script('FakeParam', 'empty') as s:
    s.run(apply('FakeParam', dtype=tf.int32, shape=tf.TensorShape([None, 3]))[0])
  with script('FakeParam', 'strings') as s:
    s.run(apply('FakeParam', dtype=tf.string, shape=tf.TensorShape([2]))[0])
  with script('Fact') as s:
    y = apply('Fact')[0]
    s.run(y)
    s.static_shapes(y)
  with script('ImmutableConst', 'no_file') as s:
    y = apply('ImmutableConst', dtype=tf.float32, shape=[2], memory_region_name='/does/not/exist')[0]
    s.run(y, error=True)
    s.static_shapes(y)
  with script('ImmutableConst', 'type') as s:
    s.run(apply('ImmutableConst', dtype=tf.variant, shape=[2], memory_region_name='/does/not/exist')[0], error=True)


def placeholders():
  """Of producers up to 21: the shape of a scalar says nothing."""
  for producer in (21, 22):
    with script('Placeholder', 'producer_%d' % producer, covers=['Placeholder']) as s:
      old_graph(producer)
      x = tf.placeholder(tf.float32, [])
      s.static_shapes(x, x * 2)
      if producer == 21:
        s.run(x * 2, {x: [[1.0, 2]]})
      s.run(x * 2, {x: 3.0})
  with script('PlaceholderV2') as s:
    old_graph(22)
    x = apply('PlaceholderV2', dtype=tf.float32, shape=[2])[0]
    s.run(x * 2, {x: [1.0, 2]})
    s.run(x * 2, error=True)
    s.static_shapes(x)


def reduced():
  """Producers before 21 had axes of any rank."""
  with script('Sum', 'axes_of_a_matrix') as s:
    old_graph(20)
    x = tf.constant(np.arange(24.0).reshape(2, 3, 4), tf.float32)
    y = apply('Sum', input=x, reduction_indices=tf.constant([[0], [2]]))[0]
    s.run(y)


def cases():
  for version in ('', 'V2'):
    arrays(version)
  array_loops()
  whole_arrays()
  matrices()
  cholesky_gradients()
  eigenvalues()
  diagonals()
  volumes()
  images()
  quantized()
  samples()
  readers()
  values()
  placeholders()
  reduced()
