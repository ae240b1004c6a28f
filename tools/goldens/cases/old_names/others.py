# SPDX-License-Identifier: Apache-2.0
"""First versions of all kinds of ops."""
import numpy as np

from cases.io import tfrecord
from cases.old_names.common import old_graph
from record import apply, op, rng, script, tf


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
