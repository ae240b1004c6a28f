# SPDX-License-Identifier: Apache-2.0
"""Quantized numbers: casts, and arithmetic on them."""
import numpy as np

from record import apply, rng, script, tf

KINDS = {'qint8': tf.int8, 'quint8': tf.uint8, 'qint16': tf.int16, 'quint16': tf.uint16, 'qint32': tf.int32}
OTHERS = ('bool', 'uint8', 'uint16', 'uint32', 'uint64', 'int8', 'int16', 'int32', 'int64', 'float16', 'float32', 'float64', 'complex64', 'complex128')


def codes(values, kind):
  """A tensor of `kind` from integers."""
  return tf.bitcast(tf.constant(np.asarray(values), KINDS[kind]), tf.as_dtype(kind))


def bits(tensor):
  return tf.bitcast(tensor, KINDS[tensor.dtype.name])


def random_bytes(name, *shape):
  return rng(name).randint(0, 256, shape)


def run(s, out):
  """Runs the outputs of an op: quantized numbers as integers, ranges as they are."""
  s.run([bits(t) if t.dtype.name in KINDS else t for t in out])
  s.static_shapes(*[t for t in out if t.dtype.name not in KINDS])


def casts():
  for kind in KINDS:
    numbers = [-300.6, -129.5, -1.5, 0, 1.5, 127.9, 128.2, 255.9, 300, 70000]
    with script('Cast', 'to_' + kind) as s:
      for other in OTHERS:
        positive = other.startswith('u')
        x = np.abs(numbers) if positive else np.array(numbers)
        limit = {'float16': 6e4, 'uint8': 255, 'int8': 127, 'uint16': 65535, 'int16': 32767}.get(other, 1e9)
        x = np.clip(x, -limit, limit)
        s.run(bits(apply('Cast', x=tf.constant(x.astype(tf.as_dtype(other).as_numpy_dtype)), DstT=tf.as_dtype(kind))[0]))
      for other in KINDS:
        s.run(bits(apply('Cast', x=codes([0, 1, 100, 127], other), DstT=tf.as_dtype(kind))[0]))
    with script('Cast', 'from_' + kind) as s:
      for other in OTHERS:
        s.run(apply('Cast', x=codes([0, 1, 100, 127] if kind[1] == 'u' else [0, 1, -100, 127], kind), DstT=tf.as_dtype(other))[0])
      s.run(apply('Cast', x=codes([1], kind), DstT=tf.string)[0], error=True)


def quantizing():
  r = rng('quantizing')
  modes = [(mode, 'HALF_AWAY_FROM_ZERO', False) for mode in ('MIN_COMBINED', 'MIN_FIRST', 'SCALED')]
  modes += [('SCALED', 'HALF_TO_EVEN', False), ('SCALED', 'HALF_AWAY_FROM_ZERO', True), ('SCALED', 'HALF_TO_EVEN', True)]
  for kind in ('qint8', 'quint8', 'qint16', 'quint16', 'qint32'):
    for mode, rounding, narrow in modes:
      with script('QuantizeV2', 'random_%s_%s_%s_%d' % (kind, mode, rounding, narrow)) as s:
        x, low, high = (tf.placeholder(tf.float32, shape) for shape in ([200], [], []))
        out = apply('QuantizeV2', input=x, min_range=low, max_range=high, T=tf.as_dtype(kind), mode=mode, round_mode=rounding,
                    narrow_range=narrow)
        back = apply('Dequantize', input=out[0], min_range=out[1], max_range=out[2], mode=mode,
                     narrow_range=narrow)[0]
        for a, b in ((0, 1), (-1, 1), (-0.7, 2.3), (0, 255), (-3e-3, 5e-3), (-1000, 1), (0.5, 2)):
          values = np.concatenate([r.uniform(a - 0.1 * (b - a), b + 0.1 * (b - a), 100), a + (b - a) * np.arange(100) / 100])
          s.run([bits(out[0]), out[1], out[2], back], {x: values, low: a, high: b})
  with script('QuantizeV2', 'one_slice') as s:
    out = apply('QuantizeV2', input=tf.constant([[0.9, 0.1]]), min_range=tf.constant([0.0]), max_range=tf.constant([1.0]), T=tf.quint8, axis=0)
    s.run([bits(out[0]), out[1], out[2]])
  with script('QuantizeV2', 'first_of_slices') as s:
    out = apply('QuantizeV2', input=tf.constant([[0.9], [0.1]]), min_range=tf.constant([0.0, 0]), max_range=tf.constant([1.0, 1]), T=tf.quint8,
                mode='MIN_FIRST', axis=0)
    s.run(out[1], error=True)


def requantizing():
  r = rng('requantizing')
  for i, (low, high) in enumerate(((-1.0, 1.0), (-256.0, 256.0), (-1e6, 1e6), (-20.0, 30.0), (0.0, 5.0))):
    span = 10.0**r.randint(3, 9, 50)
    values = np.clip(r.uniform(-1, 1, 50) * span, -2**31, 2**31 - 1).astype(np.int64)
    ends = lambda values=values, low=low, high=high: dict(input=codes(values, 'qint32'), input_min=low, input_max=high)
    with script('RequantizationRange', str(i)) as s:
      run(s, apply('RequantizationRange', **ends()))
    with script('QuantizeDownAndShrinkRange', str(i)) as s:
      run(s, apply('QuantizeDownAndShrinkRange', out_type=tf.quint8, **ends()))
    for kind in ('quint8', 'qint8'):
      with script('Requantize', '%s%d' % (kind, i)) as s:
        for a, b in ((-1.0, 1.0), (0.0, 6.0), (low / 3, high / 2), (0.0, 0.0), (-0.01, 0.3)):
          run(s, apply('Requantize', out_type=tf.as_dtype(kind), requested_output_min=a, requested_output_max=b, **ends()))
  with script('Requantize', 'errors') as s:
    x = codes([1, 2], 'qint32')
    for a, b in ((0.5, 1.0), (-1.0, -2.0)):
      s.run(apply('Requantize', input=x, input_min=-1.0, input_max=1.0, requested_output_min=a, requested_output_max=b, out_type=tf.quint8)[1],
            error=True)
    s.run(apply('Requantize', input=x, input_min=tf.placeholder_with_default([1.0], None), input_max=1.0, requested_output_min=0.0,
                requested_output_max=1.0, out_type=tf.quint8)[1], error=True)
    s.run(apply('QuantizeDownAndShrinkRange', input=x, input_min=tf.placeholder_with_default([1.0], None), input_max=1.0, out_type=tf.quint8)[1],
          error=True)


def activations():
  for name in ('QuantizedRelu', 'QuantizedRelu6'):
    for kind in ('quint8', 'qint32'):
      values = random_bytes(name, 40) if kind == 'quint8' else rng(name, 1).randint(-2**31, 2**31, 40)
      with script(name, kind) as s:
        for low, high in ((-128.0, 127.0), (-1.0, 1.0), (0.0, 8.0), (-3.0, 20.0), (2.0, 3.0)):
          run(s, apply(name, features=codes(values, kind), min_features=low, max_features=high, out_type=tf.as_dtype(kind)))


RANGES = ((-1.0, 1.0, 0.0, 3.0), (0.0, 255.0, -127.0, 128.0), (-0.3, 12.5, -100.0, 0.25), (2.0, 3.0, -1.0, 5.0))


def arithmetic():
  shapes = (([5], [5]), ([2, 3, 4], [2, 3, 4]), ([], [4]), ([3, 4], []), ([4], [3, 4]), ([2, 3, 4], [3, 4]), ([2, 3], [3]), ([1], [1]), ([0], [0]))
  for name in ('QuantizedAdd', 'QuantizedMul'):
    for i, (a, b) in enumerate(shapes):
      with script(name, 'shapes%d' % i) as s:
        for low_x, high_x, low_y, high_y in RANGES:
          run(s, apply(name, x=codes(random_bytes(name + 'x', *a), 'quint8'), y=codes(random_bytes(name + 'y', *b), 'quint8'), min_x=low_x,
                       max_x=high_x, min_y=low_y, max_y=high_y))
    with script(name, 'errors') as s:
      x = codes([1, 2], 'quint8')
      s.run(apply(name, x=x, y=x, min_x=1.0, max_x=1.0, min_y=0.0, max_y=1.0)[1], error=True)
      s.run(apply(name, x=x, y=x, min_x=0.0, max_x=1.0, min_y=2.0, max_y=1.0)[1], error=True)
      s.run(apply(name, x=x, y=tf.placeholder_with_default(codes([1, 2, 3], 'quint8'), None), min_x=0.0, max_x=1.0, min_y=0.0, max_y=1.0)[1],
            error=True)
      s.run(apply(name, x=x, y=x, min_x=tf.placeholder_with_default([0.0], None), max_x=1.0, min_y=0.0, max_y=1.0)[1], error=True)
  for kind in ('quint8', 'qint8'):
    shift = 0 if kind == 'quint8' else 128
    with script('QuantizedBiasAdd', kind) as s:
      for low, high, low_bias, high_bias in RANGES:
        for shape in ([2, 3], [1, 2, 2, 3], [0, 3]):
          run(s, apply('QuantizedBiasAdd', input=codes(random_bytes('in', *shape) - shift, kind), bias=codes(random_bytes('bias', 3) - shift, kind),
                       min_input=low, max_input=high, min_bias=low_bias, max_bias=high_bias, out_type=tf.qint32))
  with script('QuantizedBiasAdd', 'errors') as s:
    later = lambda v: tf.placeholder_with_default(codes(v, 'quint8'), None)
    for x, bias in (([[1, 2]], [1]), ([1, 2], [1, 2]), ([[1, 2]], [[1, 2]]), ([[]], [])):
      s.run(apply('QuantizedBiasAdd', input=later(x), bias=later(bias), min_input=0.0, max_input=1.0, min_bias=0.0, max_bias=1.0, out_type=tf.qint32)[1],
            error=True)


def products():
  for i, (ta, tb) in enumerate(((False, False), (True, False), (False, True), (True, True))):
    with script('QuantizedMatMul', 'forms%d' % i) as s:
      for low_a, high_a, low_b, high_b in RANGES:
        a = random_bytes('a', *([7, 3] if ta else [3, 7]))
        b = random_bytes('b', *([5, 7] if tb else [7, 5]))
        run(s, apply('QuantizedMatMul', a=codes(a, 'quint8'), b=codes(b, 'quint8'), min_a=low_a, max_a=high_a, min_b=low_b, max_b=high_b,
                     transpose_a=ta, transpose_b=tb))
  with script('QuantizedMatMul', 'errors') as s:
    later = lambda *shape: tf.placeholder_with_default(codes(np.zeros(shape), 'quint8'), None)
    for a, b, high in ((later(2, 3), later(2, 3), 1.0), (later(3), later(3, 1), 1.0), (later(1, 3), later(3), 1.0), (later(1, 3), later(3, 1), 0.0)):
      s.run(apply('QuantizedMatMul', a=a, b=b, min_a=0.0, max_a=high, min_b=0.0, max_b=1.0)[1], error=True)
  sizes = ((5, 2, 1), (5, 3, 2), (6, 1, 3), (7, 2, 3), (4, 4, 1), (8, 3, 4), (3, 5, 1))
  for padding in ('SAME', 'VALID'):
    for size, window, stride in sizes:
      if padding == 'VALID' and window > size:
        continue
      with script('QuantizedConv2D', '%s_%d_%d_%d' % (padding.lower(), size, window, stride)) as s:
        for low, high, low_filter, high_filter in ((0.0, 255.0, -1.0, 1.0), (-1.0, 3.0, 0.0, 2.0), (-0.3, 12.5, -100.0, 0.25)):
          run(s, apply('QuantizedConv2D', input=codes(random_bytes('image', 2, size, size + 1, 3), 'quint8'),
                       filter=codes(random_bytes('filter', window, window, 3, 2), 'quint8'), min_input=low, max_input=high, min_filter=low_filter,
                       max_filter=high_filter, strides=[1, stride, stride, 1], padding=padding))
  for k, (low, high) in enumerate(((-5.0, -1.0), (2.0, 1.0), (1.0, 2.0), (3.0, 5.0), (-500.0, -1.0), (5.0, 4.9))):  # without a code for zero
    with script('QuantizedConv2D', 'without_zero%d' % k) as s:
      run(s, apply('QuantizedConv2D', input=codes(random_bytes('image', 2, 4, 5, 3), 'quint8'), filter=codes(random_bytes('filter', 3, 3, 3, 2), 'quint8'),
                   min_input=low, max_input=high, min_filter=-1.0, max_filter=3.0, strides=[1, 1, 1, 1], padding='SAME'))
  with script('QuantizedConv2D', 'errors') as s:
    later = lambda *shape: tf.placeholder_with_default(codes(np.zeros(shape), 'quint8'), None)
    ranges = dict(min_input=0.0, max_input=1.0, min_filter=0.0, max_filter=1.0, padding='VALID')
    for image, weights in ((later(1, 3, 3, 2), later(2, 2, 3, 1)), (later(3, 3, 2), later(2, 2, 2, 1)), (later(1, 3, 3, 2), later(2, 2, 2)),
                           (later(0, 3, 3, 2), later(2, 2, 2, 1))):  # of outputs without pixels or channels TensorFlow 2.21 dies
      s.run(apply('QuantizedConv2D', input=image, filter=weights, strides=[1, 1, 1, 1], **ranges)[1], error=True)
    for strides, dilations in (([1, 1, 2, 1], [1, 1, 1, 1]), ([2, 1, 1, 1], [1, 1, 1, 1]), ([1, 1, 1, 1], [1, 2, 2, 1])):
      s.run(apply('QuantizedConv2D', input=later(1, 3, 3, 2), filter=later(2, 2, 2, 1), strides=strides, dilations=dilations, **ranges)[1], error=True)


def pools():
  for name in ('QuantizedMaxPool', 'QuantizedAvgPool'):
    for kind in ('quint8', 'qint8'):
      with script(name, kind) as s:
        for padding in ('SAME', 'VALID'):
          for window, stride in ((2, 2), (3, 1), (2, 3), (3, 2)):
            x = codes(random_bytes(name, 2, 5, 6, 3) - (128 if kind == 'qint8' else 0), kind)
            run(s, apply(name, input=x, min_input=-1.0, max_input=2.0, ksize=[1, window, window, 1], strides=[1, stride, stride, 1], padding=padding))
  for kind in ('quint8', 'qint8'):
    with script('QuantizedMaxPool', 'depth_' + kind) as s:
      x = codes(random_bytes('depth', 2, 3, 2, 6) - (128 if kind == 'qint8' else 0), kind)
      for padding in ('SAME', 'VALID'):
        for depth in (2, 3, 6):
          run(s, apply('QuantizedMaxPool', input=x, min_input=-1.0, max_input=2.0, ksize=[1, 1, 1, depth], strides=[1, 1, 1, depth], padding=padding))
      for name, ksize, strides in (('QuantizedMaxPool', [1, 1, 1, 4], [1, 1, 1, 4]), ('QuantizedMaxPool', [1, 1, 1, 2], [1, 1, 1, 1]),
                                   ('QuantizedMaxPool', [1, 2, 1, 2], [1, 2, 1, 2]), ('QuantizedAvgPool', [1, 1, 1, 2], [1, 1, 1, 2])):
        s.run(apply(name, input=x, min_input=-1.0, max_input=2.0, ksize=ksize, strides=strides, padding='VALID')[1], error=True)


def norms():
  r = rng('norms')
  for scale in (False, True):
    with script('QuantizedBatchNormWithGlobalNormalization', 'scaled' if scale else 'plain') as s:
      vector = lambda: codes(r.randint(30, 256, 4), 'quint8')
      run(s, apply('QuantizedBatchNormWithGlobalNormalization', t=codes(r.randint(0, 256, [2, 3, 3, 4]), 'quint8'), t_min=-3.0, t_max=5.0,
                   m=vector(), m_min=-1.0, m_max=1.0, v=vector(), v_min=0.0, v_max=2.0, beta=vector(), beta_min=-1.0, beta_max=0.5,
                   gamma=vector(), gamma_min=0.0, gamma_max=3.0, out_type=tf.qint32, variance_epsilon=0.001, scale_after_normalization=scale))
  for label, options in (('free', {}), ('given', dict(output_range_given=True, given_y_min=-1.5, given_y_max=2.0)), ('apart', dict(min_separation=100.0))):
    with script('QuantizedInstanceNorm', label, tolerance=1e-5) as s:
      run(s, apply('QuantizedInstanceNorm', x=codes(random_bytes('norm', 2, 4, 5, 3), 'quint8'), x_min=-2.0, x_max=6.0, **options))
  with script('QuantizedInstanceNorm', 'errors') as s:
    s.run(apply('QuantizedInstanceNorm', x=codes(random_bytes('norm', 1, 2, 2, 3), 'quint8'), x_min=1.0, x_max=1.0)[1], error=True)


def arrays():
  for kind in ('quint8', 'qint32'):
    r = rng('arrays', kind)
    part = lambda *shape: codes(r.randint(0, 256, shape) if kind == 'quint8' else r.randint(-2**31, 2**31, shape), kind)
    with script('QuantizedConcat', kind) as s:
      for axis, shapes in ((0, ([2, 3], [1, 3])), (1, ([2, 3], [2, 1], [2, 2])), (2, ([1, 2, 3], [1, 2, 0]))):
        for ranges in ([(0.0, 255.0)] * 3, [(-1.0, 3.0), (0.0, 2.0), (-4.0, 1.0)], [(1.0, 2.0), (0.5, 6.0), (1.0, 2.0)]):
          ranges = ranges[:len(shapes)]
          run(s, apply('QuantizedConcat', concat_dim=axis, values=[part(*shape) for shape in shapes], input_mins=[tf.constant(a) for a, _ in ranges],
                       input_maxes=[tf.constant(b) for _, b in ranges]))
    with script('QuantizedReshape', kind) as s:
      for shape in ([6], [3, 2], [-1, 1]):
        run(s, apply('QuantizedReshape', tensor=part(2, 3), shape=shape, input_min=-1.0, input_max=2.0))
      s.run(apply('QuantizedReshape', tensor=part(2, 3), shape=tf.placeholder_with_default([5], None), input_min=-1.0, input_max=2.0)[1], error=True)


def cases():
  casts()
  quantizing()
  requantizing()
  activations()
  arithmetic()
  products()
  pools()
  norms()
  arrays()
