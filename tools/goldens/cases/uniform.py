# SPDX-License-Identifier: Apache-2.0
"""Uniformly quantized numbers: scales and zero points of tensors or of channels."""
import numpy as np

from cases.quantized import bits, codes
from record import apply, rng, script, tf

LIMITS = {'qint8': (-128, 127), 'quint8': (0, 255), 'qint32': (-2**31, 2**31 - 1)}
F, I32 = np.float32, np.int32


def later(value):
  """A constant whose shape is not known before the step."""
  return tf.placeholder_with_default(value, None)


def limits(prefix, kind, narrow=0):
  low, high = LIMITS[kind]
  return {prefix + 'quantization_min_val': low + narrow, prefix + 'quantization_max_val': high - narrow}


def show(s, out):
  y = bits(out) if out.dtype.is_quantized else out
  s.run(y)
  s.static_shapes(y)


def to_and_from_float():
  x = np.concatenate([np.linspace(-40, 40, 53), [0.25, -0.25, 0.125, 0.375, 1e-8, 63.5, -64.5]]).astype(F).reshape([3, 4, 5])
  channels = {-1: (F(0.25), I32(3)), 0: (F([0.5, 0.1, 3]), I32([0, -7, 20])), 1: (F([1, 0.3, 0.01, 2]), I32([1, 2, -3, 4])),
              2: (F([0.5, 0.25, 1, 4, 1e-3]), I32([0, 5, -5, 100, -100]))}
  for kind in LIMITS:
    for axis, (scales, zeros) in channels.items():
      with script('UniformQuantize', '%s_axis%d' % (kind, axis + 1)) as s:
        show(s, apply('UniformQuantize', input=x, scales=scales, zero_points=zeros, Tout=tf.as_dtype(kind), quantization_axis=axis, **limits('', kind))[0])
        show(s, apply('UniformQuantize', input=x, scales=scales, zero_points=zeros, Tout=tf.as_dtype(kind), quantization_axis=axis,
                      quantization_min_val=2, quantization_max_val=90)[0])
      with script('UniformDequantize', '%s_axis%d' % (kind, axis + 1)) as s:
        q = codes(rng(kind).randint(*LIMITS[kind], x.shape), kind)
        show(s, apply('UniformDequantize', input=q, scales=scales, zero_points=zeros, Tout=tf.float32, quantization_axis=axis, **limits('', kind))[0])
  with script('UniformQuantize', 'edges') as s:
    quantize = lambda x, scale, zero, low=-128, high=127, axis=-1: apply(
        'UniformQuantize', input=x, scales=scale, zero_points=zero, Tout=tf.qint8, quantization_axis=axis, quantization_min_val=low,
        quantization_max_val=high)[0]
    show(s, quantize(F(2), 0.5, 1))
    show(s, quantize(np.zeros([0, 2], F), F([1, 2]), I32([0, 0]), axis=1))
    show(s, quantize(F([1, 2, 3]), 1.0, 0, low=5, high=-5))
    show(s, quantize(F([1, 2, 3]), -0.5, 0))
  bad = [(F([1, 2]), I32([0, 0]), -1), (F(1), I32([0]), -1), (F([1, 2]), I32([0, 0]), 0), (F([1, 2, 3]), I32([0, 0]), 0), (F(1), I32(0), 0),
         (F([1, 2, 3]), I32([0, 0, 0]), 3), (F([[1, 2, 3]]), I32([[0, 0, 0]]), 0), (F([1, 2, 3]), I32([0, 0, 0]), -2)]
  for name in ('UniformQuantize', 'UniformDequantize'):
    with script(name, 'errors') as s:
      for scales, zeros, axis in bad:
        types = {'Tout': tf.qint8 if name == 'UniformQuantize' else tf.float32}
        x_in = tf.constant(x) if name == 'UniformQuantize' else codes(np.zeros(x.shape), 'qint8')
        s.run(targets=apply(name, input=x_in, scales=later(scales), zero_points=later(zeros), quantization_axis=axis, **types, **limits('', 'qint8')).op,
              error=True)
      if name == 'UniformDequantize':
        for scale in (0.0, -1.0):
          s.run(targets=apply(name, input=x_in, scales=later(scale), zero_points=0, **types, **limits('', 'qint8')).op, error=True)


def requantize():
  r = rng('requantize')
  one, many = (F(0.3), I32(-20)), (F([0.5, 0.1, 3, 1e-9]), I32([0, -7, 20, 5]))
  other, others = (F(0.7), I32(4)), (F([2, 0.1, 1e-4, 40]), I32([3, 0, 0, -9]))
  for kind in ('qint8', 'qint32'):
    x = np.concatenate([r.randint(*LIMITS[kind], 40), r.randint(-300 if kind == 'qint32' else -128, 128, 20)]).reshape([3, 4, 5])
    forms = ((one, other, -1, -1), (many, other, 1, -1), (one, others, -1, 1), (many, others, 1, 1))
    for i, (a, b, from_axis, to_axis) in enumerate(forms):
      with script('UniformRequantize', '%s_%d' % (kind, i)) as s:
        for narrow in (0, 30):
          show(s, apply('UniformRequantize', input=codes(x, kind), input_scales=a[0], input_zero_points=a[1], output_scales=b[0], output_zero_points=b[1],
                        Tout=tf.qint8, input_quantization_axis=from_axis, output_quantization_axis=to_axis, **limits('input_', kind),
                        **limits('output_', 'qint8', narrow))[0])
  with script('UniformRequantize', 'factors') as s:
    x = codes([-2**31, 2**31 - 200, 1000, -1, 0, 1], 'qint32')  # TensorFlow 2.21 takes the last 64 numbers of int32 as its first
    for factor in (1e-12, 2.0**-31, 2.0**-32, 0.5, 1.0, 3.0, 2.0**29, 2.0**31, 1e20):
      show(s, apply('UniformRequantize', input=x, input_scales=factor, input_zero_points=0, output_scales=1.0, output_zero_points=0, Tout=tf.qint8,
                    **limits('input_', 'qint32'), **limits('output_', 'qint8'))[0])
  with script('UniformRequantize', 'errors') as s:
    x = codes(np.zeros([3, 4]), 'qint8')
    v3, z3, v4, z4 = F([1, 2, 3]), I32([0, 0, 0]), F([1, 2, 3, 4]), I32([0, 0, 0, 0])
    for a, az, a_axis, b, bz, b_axis in ((v3, z3, 0, v4, z4, 1), (v4, z4, 0, F(1), I32(0), -1), (F(1), I32(0), -1, v3, z4, 0), (F(0), I32(0), -1, F(1), I32(0), -1),
                                         (F(1), I32(0), -1, F(-1), I32(0), -1), (F(np.inf), I32(0), -1, F(1), I32(0), -1), (F(1), I32(0), -2, F(1), I32(0), -1)):
      s.run(targets=apply('UniformRequantize', input=x, input_scales=later(a), input_zero_points=later(az), output_scales=later(b),
                          output_zero_points=later(bz), Tout=tf.qint8, input_quantization_axis=a_axis, output_quantization_axis=b_axis,
                          **limits('input_', 'qint8'), **limits('output_', 'qint8')).op, error=True)


def add(x, y, x_scales, y_scales, out_scales, axes=(-1, -1, -1), narrow=0, wrap=lambda v: v):
  names = ('lhs', 'rhs', 'output')
  kw = {}
  for name, (scale, zero), axis in zip(names, (x_scales, y_scales, out_scales), axes):
    kw.update({name + '_scales': wrap(F(scale)), name + '_zero_points': wrap(I32(zero)), name + '_quantization_axis': axis})
    kw.update(limits(name + '_', 'qint32', narrow if name == 'output' else 0))
  return apply('UniformQuantizedAdd', lhs=wrap(codes(x, 'qint32')), rhs=wrap(codes(y, 'qint32')), **kw)[0]


def sums():
  r = rng('sums')
  numbers = lambda *shape: r.randint(-10000, 10000, shape)
  one, other, third = (0.3, 5), (0.01, -90), (0.2, 17)
  for i, (a, b) in enumerate((([4], [4]), ([2, 3, 4], [2, 3, 4]), ([], [4]), ([3, 4], []), ([4], [3, 4]), ([2, 1, 4], [3, 1]), ([0, 4], [4]), ([], []))):
    with script('UniformQuantizedAdd', 'shapes%d' % i) as s:
      show(s, add(numbers(*a), numbers(*b), one, other, third))
      show(s, add(numbers(*a), numbers(*b), other, one, third, narrow=2**31 - 1000))
  four = ([0.5, 0.1, 3, 0.25], [0, -7, 20, 1])
  fours = ([1.5, 0.2, 1, 0.125], [4, 5, -60, 2])
  to = ([2, 0.1, 0.3, 4], [3, 0, 8, -9])
  with script('UniformQuantizedAdd', 'channels') as s:
    show(s, add(numbers(3, 4), numbers(3, 4), four, fours, to, (1, 1, 1)))
    show(s, add(numbers(2, 3, 4), numbers(4), four, fours, to, (2, 0, 2)))
    show(s, add(numbers(4), numbers(3, 4), four, fours, third, (0, 1, -1)))
    show(s, add(numbers(3, 4), numbers(3, 4), four, other, third, (1, -1, -1)))
    show(s, add(numbers(3, 4), numbers(3, 4), four, other, to, (1, -1, 1)))
    show(s, add(numbers(4, 3), numbers(4, 3), four, fours, to, (0, 0, 0)))
  with script('UniformQuantizedAdd', 'errors') as s:
    three = ([1, 2, 3], [0, 0, 0])
    fails = lambda *args, **kw: s.run(targets=add(*args, wrap=later, **kw).op, error=True)
    fails(numbers(3), numbers(4), one, other, third)
    fails(numbers(3, 4), numbers(3, 4), three, four, to, axes=(0, 1, 1))
    fails(numbers(3, 4), numbers(3, 4), four, three, to, axes=(1, 0, 1))
    fails(numbers(3, 4), numbers(3, 4), one, other, three, axes=(-1, -1, 1))
    fails(numbers(3, 4), numbers(3, 4), (0, 0), other, third)
    fails(numbers(3, 4), numbers(3, 4), one, (-1, 0), third)
    fails(numbers(3, 4), numbers(3, 4), one, other, (0, 0))
    fails(numbers(3, 4), numbers(3, 4), one, other, third, axes=(-2, -1, -1))
    fails(numbers(3, 4), numbers(3, 4), one, other, third, axes=(-1, 2, -1))


def clips():
  x = rng('clips').randint(-50, 50, [3, 4, 2])
  clip = lambda low, high, scale, zero, axis, wrap=lambda v: v: apply(
      'UniformQuantizedClipByValue', operand=codes(x, 'qint32'), min=wrap(codes(low, 'qint32')), max=wrap(codes(high, 'qint32')), scales=wrap(F(scale)),
      zero_points=wrap(I32(zero)), quantization_axis=axis, **limits('', 'qint32'))[0]
  with script('UniformQuantizedClipByValue', 'forms') as s:
    show(s, clip(-10, 20, 0.5, 1, -1))
    show(s, clip(10, -20, 0.0, 1, -1))
    show(s, clip([-1, 0, 3], [20, 30, 4], [1, 2, 3], [0, 0, 0], 0))
    show(s, clip([-1, 0, 3, -40], [20, 30, 4, -30], [1, 2, 3, 4], [0, 0, 0, 1], 1))
    show(s, clip([-1, 0], [20, 30], [1, 2], [0, 0], 2))
  with script('UniformQuantizedClipByValue', 'errors') as s:
    for low, high, scale, zero, axis in (([1], [2], 1, 0, -1), (1, [2], 1, 0, -1), ([1, 2], [3, 4], [1, 2, 3], [0, 0, 0], 0), ([1, 2], [3, 4], [1, 2], [0, 0], 0),
                                         ([1, 2, 3], [4, 5], [1, 2, 3], [0, 0, 0], 0), (1, 2, 1, 0, 3), (1, 2, 1, 0, -2)):
      s.run(targets=clip(low, high, scale, zero, axis, later).op, error=True)


def dot(a, b, b_scales, out_scales, a_scales=(0.5, 3), axes=(-1, -1, -1), narrow=0, wrap=lambda v: v):
  kw = {}
  for name, (scale, zero), axis, kind in zip(('lhs', 'rhs', 'output'), (a_scales, b_scales, out_scales), axes, ('qint8', 'qint8', 'qint32')):
    kw.update({name + '_scales': wrap(F(scale)), name + '_zero_points': wrap(I32(zero)), name + '_quantization_axis': axis})
    kw.update(limits(name + '_', kind, narrow if name == 'output' else 0))
  return apply('UniformQuantizedDot', lhs=wrap(codes(a, 'qint8')), rhs=wrap(codes(b, 'qint8')), Tout=tf.qint32, **kw)[0]


def hybrid(a, b, scales, axis=-1, wrap=lambda v: v):
  return apply('UniformQuantizedDotHybrid', lhs=wrap(F(a)), rhs=wrap(codes(b, 'qint8')), rhs_scales=wrap(F(scales[0])), rhs_zero_points=wrap(I32(scales[1])),
               Tout=tf.float32, rhs_quantization_axis=axis, **limits('rhs_', 'qint8'))[0]


def products():
  r = rng('products')
  numbers = lambda *shape: r.randint(-128, 128, shape)
  five, to = ([0.5, 0.1, 3, 0.25, 1], [0, -7, 20, 1, 2]), ([2, 0.1, 0.3, 4, 1], [3, 0, 8, -9, 1])
  for m, k in ((3, 7), (1, 1), (0, 4), (2, 0), (17, 33)):
    with script('UniformQuantizedDot', '%d_%d' % (m, k)) as s:
      a, b = numbers(m, k), numbers(k, 5)
      show(s, dot(a, b, (0.3, -2), (1.5, 10)))
      show(s, dot(a, b, (0.3, -2), (0.01, 10), narrow=2**31 - 2000))
      show(s, dot(a, b, five, (1.5, 10), axes=(-1, 1, -1)))
      show(s, dot(a, b, five, to, axes=(-1, 1, 1)))
    with script('UniformQuantizedDotHybrid', '%d_%d' % (m, k), tolerance=(1e-6, 1e-6)) as s:
      for low, high in ((-3, 5), (0, 2), (-7, -1), (0, 0), (-1e-6, 1e-6), (100, 101)):
        show(s, hybrid(r.uniform(low, high, (m, k)), b, (0.3, -2)))
        show(s, hybrid(r.uniform(low, high, (m, k)), b, five, axis=1))
  with script('UniformQuantizedDot', 'errors') as s:
    fails = lambda *args, **kw: s.run(targets=dot(*args, wrap=later, **kw).op, error=True)
    one = (1, 0)
    fails(numbers(3, 7), numbers(5, 5), one, one)
    fails(numbers(7), numbers(7, 5), one, one)
    fails(numbers(3, 7), numbers(7), one, one)
    fails(numbers(3, 7), numbers(7, 5), one, one, a_scales=([1], [0]))
    fails(numbers(3, 7), numbers(7, 5), one, one, a_scales=(0, 0))
    fails(numbers(3, 7), numbers(7, 5), (-1, 0), one)
    fails(numbers(3, 7), numbers(7, 5), one, (0, 0))
    fails(numbers(3, 7), numbers(7, 5), one, to, axes=(-1, -1, 1))
    fails(numbers(3, 7), numbers(7, 5), ([1, 2], [0, 0]), one, axes=(-1, 1, -1))
    fails(numbers(3, 7), numbers(7, 5), (five[0], [0]), one, axes=(-1, 1, -1))
    fails(numbers(3, 7), numbers(7, 5), one, one, axes=(0, -1, -1))
    fails(numbers(3, 7), numbers(7, 5), one, one, axes=(-1, 0, -1))
    fails(numbers(3, 7), numbers(7, 5), one, one, axes=(-1, -1, 0))
  with script('UniformQuantizedDotHybrid', 'errors') as s:
    for a, b, scales, axis in ((numbers(3, 7), numbers(5, 5), one, -1), (numbers(7), numbers(7, 5), one, -1), (numbers(3, 7), numbers(7), one, -1),
                               (numbers(3, 7), numbers(7, 5), (0, 0), -1), (numbers(3, 7), numbers(7, 5), ([1, 2], [0, 0]), 1),
                               (numbers(3, 7), numbers(7, 5), one, 0)):
      s.run(targets=hybrid(a, b, scales, axis, later).op, error=True)
  with script('UniformQuantizedDot', 'partial_shapes') as s:
    placeholder = lambda t, shape: tf.placeholder(tf.as_dtype(t), shape)
    for a, b, scales in (([None, 3], [3, None], [None]), (None, [3, 5], None), ([2, None], None, []), (None, None, [5])):
      out = apply('UniformQuantizedDotHybrid', lhs=placeholder('float', a), rhs=placeholder('qint8', b), rhs_scales=placeholder('float', scales),
                  rhs_zero_points=placeholder('int32', scales), Tout=tf.float32, **limits('rhs_', 'qint8'))[0]
      s.static_shapes(out)
    s.run(bits(dot(numbers(2, 2), numbers(2, 2), one, one)))


def cases():
  to_and_from_float()
  requantize()
  sums()
  clips()
  products()
