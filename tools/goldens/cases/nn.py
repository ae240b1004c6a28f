# SPDX-License-Identifier: Apache-2.0
"""Activations, losses, convolutions, pooling, normalization."""
import numpy as np

from record import apply, op, rng, script, tf

I32, I64 = np.int32, np.int64
SMOOTH = np.array([[-3.0, -1.5, -0.25], [0.75, 2.5, 7.0]])
SPECIAL = np.array([0.0, -0.0, 100, -100, np.inf, -np.inf, np.nan, 6.0])


def values(name, *shape):
  return rng(name).choice([-2.0, -1.25, -0.5, 0.25, 0.75, 1.5, 3.0], size=shape)


def distinct(name, *shape):
  """No two equal elements, so that the derivative of a maximum is plain."""
  n = int(np.prod(shape))
  return (rng(name).permutation(n) * 0.25 - n / 8.0).reshape(shape)


def activations():
  for name in ('Relu', 'Relu6', 'Elu', 'Selu', 'Softplus', 'Softsign'):
    op(name, SMOOTH, types='all')
    op(name, np.array(1.5), label='scalar')
    op(name, np.zeros([0, 2]), label='empty')
    op(name, SPECIAL, types=('float', 'double'), label='special', grad=False)
    op(name, np.resize(np.linspace(-9, 9, 257), [4099]), types=('float',), label='many', grad=False, tolerance=(2e-5, 1e-6))
  for name in ('ReluGrad', 'Relu6Grad', 'EluGrad', 'SoftplusGrad', 'SoftsignGrad'):
    op(name, np.array([[1.0, -2, 3], [4, 5, -6]]), SMOOTH / (8 if name == 'EluGrad' else 1), types='all')
    op(name, np.zeros([0]), np.zeros([0]), label='empty')
    op(name, np.ones([2]), np.ones([3]), label='mismatch', error=True)
    op(name, np.ones([4]), np.array([0.0, -0.0, 6, 1]), label='edges', grad=False)
    op(name, np.resize(np.linspace(-2, 2, 101), [4099]), np.resize(np.linspace(-0.9, 9, 257), [4099]), label='many', grad=False)
  logits = np.array([[1.0, 2, 3], [-1, 0, 100], [5, 5, 5]])
  for name in ('Softmax', 'LogSoftmax'):
    op(name, logits, types='all')
    op(name, logits[0], label='vector')
    op(name, np.resize(logits, [2, 2, 3]), label='rank3')
    op(name, np.zeros([0, 3]), label='empty')
    op(name, np.zeros([2, 0]), label='no_classes', grad=False)
    op(name, np.array([[1.0, np.inf], [np.nan, 1], [-np.inf, 0]]), label='special', grad=False)
    op(name, values(name, 37, 129), label='many', grad=False)
    op(name, np.array(1.0), label='scalar', error=True)


def losses():
  logits = np.array([[1.0, 2, 3], [-1, 0, 4], [5, 5, 5]])
  labels = np.array([[0.2, 0.3, 0.5], [0, 1, 0], [1.0, 0, 0]])
  name = 'SoftmaxCrossEntropyWithLogits'
  op(name, logits, labels, types='all', fd=False)
  op(name, logits, labels[:1], label='broadcast_labels', grad=False)
  op(name, logits[:1], labels, label='broadcast_logits', grad=False)
  op(name, np.zeros([0, 3]), np.zeros([0, 3]), label='empty', grad=False)
  op(name, values('xent', 41, 67), np.abs(values('xent labels', 41, 67)) / 40, label='many', grad=False, tolerance=(1e-4, 1e-5))
  op(name, logits, labels[:2], label='mismatch', error=True)
  op(name, logits[0], labels[0], label='vector', error=True)
  name = 'SparseSoftmaxCrossEntropyWithLogits'
  for index in (I32, I64):
    op(name, logits, index([2, 0, 1]), types='all', fd=False)
  op(name, values('sparse', 41, 67), I32(np.arange(41)), label='many', grad=False, tolerance=(1e-4, 1e-5))
  op(name, np.zeros([0, 3]), np.zeros([0], I32), label='empty', grad=False)
  op(name, logits, I32([2, 0, 3]), label='out_of_range', error=True)
  op(name, logits, I32([2, 0, -1]), label='negative', error=True)
  op(name, logits, I32([2, 0]), label='mismatch', error=True)
  op(name, logits, I32([[2, 0, 1]]), label='matrix_labels', error=True)
  op(name, np.zeros([2, 0]), I32([0, 0]), label='no_classes', error=True)
  op('L2Loss', SMOOTH, types='all')
  op('L2Loss', np.zeros([0]), label='empty')
  op('L2Loss', np.array(3.0), label='scalar')
  op('L2Loss', values('l2', 5000), label='many', grad=False, tolerance=(1e-4, 1e-4))
  predictions = np.float32([[0.1, 0.3, 0.2, 0.4], [0.4, 0.4, 0.1, 0.1], [0.1, np.nan, 0.8, 0]])
  for t in (I32, I64):
    for k in (1, 2, 3, 10):
      op('InTopK', predictions, t([3, 1, 2]), types=None, label='k', k=k)
      op('InTopKV2', predictions, t([0, 0, 0]), t(k), types=None, label='k')
  op('InTopK', predictions, I32([3, 9, -1]), types=None, label='out_of_range', k=2)
  op('InTopK', predictions, I32([3, 1]), types=None, label='mismatch', k=2, error=True)
  op('InTopKV2', predictions, I32([3, 1, 1]), I32([2, 1]), types=None, label='vector_k', error=True)
  op('InTopK', predictions[0], I32([3]), types=None, label='vector', k=1, error=True)


def bias():
  for shape in ((2, 3), (2, 2, 3), (1, 2, 2, 3), (1, 2, 1, 2, 3)):
    op('BiasAdd', values('bias', *shape), np.array([1.0, -2, 0.5]), label='rank%d' % len(shape))
    op('BiasAddGrad', values('bias grad', *shape), label='rank%d' % len(shape))
  for shape in ((2, 3, 2), (2, 3, 2, 2), (1, 3, 2, 1, 2)):
    op('BiasAdd', values('bias', *shape), np.array([1.0, -2, 0.5]), label='nchw', data_format='NCHW')
    op('BiasAddGrad', values('bias grad', *shape), label='nchw', data_format='NCHW')
  op('BiasAdd', values('bias', 2, 3), np.array([1.0, -2, 0.5]), types='all')
  op('BiasAddGrad', values('bias grad', 4, 3), types='all')
  op('BiasAdd', np.zeros([0, 3]), np.ones([3]), label='empty')
  op('BiasAddGrad', np.zeros([0, 3]), label='empty')
  op('BiasAdd', values('bias many', 61, 53), values('bias row', 53), label='many', grad=False)
  op('BiasAddGrad', values('bias many', 211, 37), label='many', grad=False, tolerance=(1e-4, 1e-4))
  op('BiasAdd', np.ones([2, 3]), np.ones([2]), label='mismatch', error=True)
  op('BiasAdd', np.ones([2, 3]), np.ones([1, 3]), label='matrix_bias', error=True)
  op('BiasAdd', np.ones([3]), np.ones([3]), label='vector', error=True)
  op('BiasAddGrad', np.ones([3]), label='vector', error=True)


CONVOLUTIONS = [  # label, input, filter, attributes
    ('valid', (1, 4, 5, 2), (2, 3, 2, 3), dict(strides=[1, 1, 1, 1], padding='VALID')),
    ('same', (2, 4, 5, 2), (3, 3, 2, 2), dict(strides=[1, 1, 1, 1], padding='SAME')),
    ('same_even', (1, 5, 4, 1), (2, 4, 1, 2), dict(strides=[1, 1, 1, 1], padding='SAME')),
    ('strided', (1, 5, 6, 2), (3, 3, 2, 2), dict(strides=[1, 2, 2, 1], padding='SAME')),
    ('strided_valid', (2, 6, 5, 1), (2, 2, 1, 3), dict(strides=[1, 2, 3, 1], padding='VALID')),
    ('strides_beyond_filter', (1, 7, 7, 1), (1, 1, 1, 2), dict(strides=[1, 3, 3, 1], padding='VALID')),
    ('dilated', (1, 7, 6, 1), (3, 2, 1, 2), dict(strides=[1, 1, 1, 1], padding='VALID', dilations=[1, 2, 3, 1])),
    ('dilated_same', (1, 6, 6, 2), (3, 3, 2, 1), dict(strides=[1, 1, 1, 1], padding='SAME', dilations=[1, 2, 2, 1])),
    ('explicit', (1, 4, 4, 2), (3, 3, 2, 2), dict(strides=[1, 2, 1, 1], padding='EXPLICIT',
                                                   explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0])),
    ('pointwise', (2, 3, 3, 4), (1, 1, 4, 3), dict(strides=[1, 1, 1, 1], padding='VALID')),
    ('whole', (2, 3, 4, 2), (3, 4, 2, 3), dict(strides=[1, 1, 1, 1], padding='VALID')),
    ('grouped', (1, 4, 4, 4), (2, 2, 2, 6), dict(strides=[1, 1, 1, 1], padding='VALID')),
    ('mnist', (2, 14, 14, 3), (5, 5, 3, 8), dict(strides=[1, 1, 1, 1], padding='SAME')),
]


def output_shape(x, f, attrs):
  dilations = attrs.get('dilations', [1, 1, 1, 1])
  out = []
  for i in (1, 2):
    size, window, stride = x[i], (f[i - 1] - 1) * dilations[i] + 1, attrs['strides'][i]
    if attrs['padding'] == 'EXPLICIT':
      size += sum(attrs['explicit_paddings'][2 * i:2 * i + 2])
    out.append(-(-size // stride) if attrs['padding'] == 'SAME' else -(-(size - window + 1) // stride))
  return (x[0], out[0], out[1], f[3])


def convolutions():
  loose = dict(tolerance=(1e-4, 1e-5))
  for label, x, f, attrs in CONVOLUTIONS:
    small = label not in ('mnist', 'grouped', 'dilated', 'dilated_same')
    types = ('float', 'double') if label in ('same', 'strided', 'explicit') else ('float',)
    op('Conv2D', values(label, *x), values(label + 'f', *f), types=types, label=label, grad=small, **attrs, **loose)
    if label in ('grouped', 'dilated', 'dilated_same'):  # TensorFlow has no CPU kernels for their gradients
      continue
    dy = values(label + 'dy', *output_shape(x, f, attrs))
    op('Conv2DBackpropInput', I32(x), values(label + 'f', *f), dy, types=types, label=label, const=(0,), grad=small, **attrs, **loose)
    op('Conv2DBackpropFilter', values(label, *x), I32(f), dy, types=types, label=label, const=(1,), grad=small, **attrs, **loose)
  label, x, f, attrs = CONVOLUTIONS[1]
  dy = values(label + 'dy', *output_shape(x, f, attrs))
  op('Conv2D', values(label, *x), values(label + 'f', *f), types='all', **attrs)
  op('Conv2DBackpropInput', I32(x), values(label + 'f', *f), dy, types=('float', 'double', 'half', 'bfloat16'), const=(0,), **attrs)
  op('Conv2DBackpropFilter', values(label, *x), I32(f), dy, types='all', const=(1,), **attrs)
  one = dict(strides=[1, 1, 1, 1], padding='SAME')
  op('Conv2D', np.zeros([0, 4, 4, 1]), np.ones([2, 2, 1, 1]), label='empty_batch', grad=False, **one)
  op('Conv2D', np.ones([1, 4, 4, 2]), np.ones([2, 2, 3, 1]), label='channels', error=True, **one)
  op('Conv2D', np.ones([4, 4, 2]), np.ones([2, 2, 2, 1]), label='rank3', error=True, **one)
  op('Conv2D', np.ones([1, 4, 4, 2]), np.ones([2, 2, 2]), label='filter_rank3', error=True, **one)
  op('Conv2D', np.ones([1, 2, 2, 1]), np.ones([3, 3, 1, 1]), label='filter_too_big', unknown=True, grad=False,
     strides=[1, 1, 1, 1], padding='VALID')
  op('Conv2DBackpropInput', I32([1, 4, 4, 1]), np.ones([2, 2, 1, 1]), np.ones([1, 3, 3, 1]), label='mismatch', error=True, **one)
  op('Conv2DBackpropInput', I32([1, 4, 4]), np.ones([2, 2, 1, 1]), np.ones([1, 4, 4, 1]), label='sizes_length', error=True, **one)
  op('Conv2DBackpropFilter', np.ones([1, 4, 4, 1]), I32([2, 2, 1, 1]), np.ones([1, 3, 3, 1]), label='mismatch', error=True, **one)
  op('Conv2DBackpropFilter', np.ones([1, 4, 4, 1]), I32([2, 2, 1]), np.ones([1, 4, 4, 1]), label='sizes_length', error=True, **one)


POOLS = [  # label, input, attributes
    ('valid', (1, 4, 5, 2), dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='VALID')),
    ('same', (2, 5, 5, 1), dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='SAME')),
    ('overlapping', (1, 5, 6, 2), dict(ksize=[1, 3, 3, 1], strides=[1, 2, 1, 1], padding='SAME')),
    ('gaps', (1, 7, 7, 1), dict(ksize=[1, 2, 2, 1], strides=[1, 3, 3, 1], padding='VALID')),
    ('whole', (2, 3, 4, 2), dict(ksize=[1, 3, 4, 1], strides=[1, 1, 1, 1], padding='VALID')),
    ('mnist', (2, 14, 14, 4), dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='SAME')),
]


def pooling():
  for label, shape, attrs in POOLS:
    x, grad = distinct(label, *shape), label != 'mnist'
    types = ('float', 'double') if grad else ('float',)
    op('MaxPool', x, types=types, label=label, grad=grad, **attrs)
    op('AvgPool', x, types=types, label=label, grad=grad, **attrs)
    y_shape = output_shape(shape, attrs['ksize'][1:3] + [0, shape[3]], attrs)
    y = pooled(x, attrs, y_shape)
    dy = values(label + 'dy', *y_shape)
    op('MaxPoolGrad', x, y, dy, types=types, label=label, fd=False, **attrs)
    op('MaxPoolGradGrad', x, y, values(label + 'ddy', *shape), types=types, label=label, fd=False, **attrs)
    op('AvgPoolGrad', I32(shape), dy, types=types, label=label, const=(0,), grad=grad, **attrs)
  label, shape, attrs = POOLS[0]
  x = distinct(label, *shape)
  y_shape = output_shape(shape, attrs['ksize'][1:3] + [0, shape[3]], attrs)
  y = pooled(x, attrs, y_shape)
  op('MaxPool', np.round(x), types='all', fd=False, **attrs)
  op('AvgPool', x, types='all', **attrs)
  whole = np.arange(x.size).reshape(shape)
  op('MaxPoolGrad', whole, pooled(whole, attrs, y_shape), values('int', *y_shape), types='all', fd=False, grad=False, **attrs)
  op('MaxPoolGradGrad', whole, pooled(whole, attrs, y_shape), values('int', *shape), types='all', fd=False, grad=False, **attrs)
  op('AvgPoolGrad', I32(shape), values('avg', *y_shape), types='all', const=(0,), **attrs)
  ties = np.array([[1.0, 1, 2, 2], [1, 1, 0, 2]]).reshape(1, 2, 4, 1)
  op('MaxPool', ties, label='ties', fd=False, **attrs)
  op('MaxPool', np.array([1.0, np.nan, -np.inf, 2]).reshape(1, 2, 2, 1), label='special', grad=False, **attrs)
  op('MaxPool', np.ones([1, 4, 4, 1]), label='explicit', grad=False, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='EXPLICIT',
     explicit_paddings=[0, 0, 1, 0, 0, 1, 0, 0])
  op('MaxPool', distinct('depth', 1, 2, 2, 4), label='depth', fd=False, grad=False, ksize=[1, 1, 1, 2], strides=[1, 1, 1, 2], padding='VALID')
  for name in ('MaxPool', 'AvgPool'):
    op(name, np.zeros([0, 4, 4, 1]), label='empty_batch', grad=False, **attrs)
    op(name, np.ones([4, 4, 2]), label='rank3', error=True, **attrs)
    op(name, np.ones([1, 1, 1, 2]), label='window_too_big', unknown=True, grad=False, **attrs)
  op('MaxPoolGrad', x, y, np.ones([1, 1, 1, 2]), label='mismatch', error=True, **attrs)
  op('AvgPoolGrad', I32([1, 4, 4]), np.ones(y_shape), label='sizes_length', error=True, **attrs)


def pooled(x, attrs, y_shape):
  """Maximum over windows, in numpy."""
  y = np.full(y_shape, -np.inf)
  pad = [0, 0]
  for d in (0, 1):
    if attrs['padding'] == 'SAME':
      pad[d] = max(0, (y_shape[d + 1] - 1) * attrs['strides'][d + 1] + attrs['ksize'][d + 1] - x.shape[d + 1]) // 2
  for i in range(y_shape[1]):
    for j in range(y_shape[2]):
      rows = slice(max(0, i * attrs['strides'][1] - pad[0]), i * attrs['strides'][1] - pad[0] + attrs['ksize'][1])
      columns = slice(max(0, j * attrs['strides'][2] - pad[1]), j * attrs['strides'][2] - pad[1] + attrs['ksize'][2])
      y[:, i, j, :] = x[:, rows, columns, :].max(axis=(1, 2))
  return y


def normalization():
  x = values('lrn', 2, 2, 3, 7)
  for kw in ({}, dict(depth_radius=1), dict(depth_radius=2, bias=0.5, alpha=0.25, beta=0.75), dict(depth_radius=3, beta=1.0)):
    op('LRN', x, types=('float', 'half'), label='forms', tolerance=(1e-4, 1e-5), **kw)
    y = x / 2
    dy = values('lrn dy', 2, 2, 3, 7)
    op('LRNGrad', dy, x, y, types=('float',), label='forms', grad=False, tolerance=(1e-4, 1e-4), **kw)
    # TensorFlow rounds every product and sum to half.
    op('LRNGrad', dy, x, y, types=('half',), label='forms', grad=False, tolerance=(1e-3, 1e-3), **kw)
  op('LRN', np.zeros([0, 2, 2, 3]), label='empty', grad=False)
  op('LRN', np.ones([2, 2, 3]), label='rank3', error=True)
  op('LRNGrad', x, x[:1], x, label='mismatch', error=True)


def more_activations():
  op('LeakyRelu', SMOOTH, types='all')
  op('LeakyRelu', SMOOTH, label='alpha', alpha=0.5)
  op('LeakyRelu', SPECIAL, label='special', grad=False)
  op('LeakyRelu', np.zeros([0, 2]), label='empty')
  dy = np.array([[1.0, -2, 3], [4, 5, -6]])
  op('LeakyReluGrad', dy, SMOOTH, types='all', alpha=0.25)
  op('SeluGrad', dy, SMOOTH / 8, types='all')
  for name in ('LeakyReluGrad', 'SeluGrad'):
    op(name, np.ones([2]), np.ones([3]), label='mismatch', error=True)
  op('BiasAddV1', values('bias', 2, 3), np.array([1.0, -2, 0.5]), types='all')
  op('BiasAddV1', values('bias', 2, 2, 3), np.array([1.0, -2, 0.5]), label='rank3')
  op('BiasAddV1', np.ones([2, 3]), np.ones([2]), label='mismatch', error=True)


DEPTHWISE = [  # label, input, filter, attributes
    ('valid', (1, 4, 5, 2), (2, 3, 2, 3), dict(strides=[1, 1, 1, 1], padding='VALID')),
    ('same', (2, 4, 5, 3), (3, 3, 3, 1), dict(strides=[1, 1, 1, 1], padding='SAME')),
    ('strided', (1, 5, 6, 2), (3, 3, 2, 2), dict(strides=[1, 2, 2, 1], padding='SAME')),
    ('explicit', (1, 4, 4, 2), (3, 3, 2, 2), dict(strides=[1, 2, 2, 1], padding='EXPLICIT',
                                                   explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0])),
]


def depthwise():
  for label, x, f, attrs in DEPTHWISE:
    images, filters = values(label, *x), values(label + 'f', *f)
    dy = values(label + 'dy', *output_shape(x, f[:3] + (f[2] * f[3],), attrs))
    types = 'all' if label == 'same' else ('float',)
    op('DepthwiseConv2dNative', images, filters, types=types, label=label, **attrs)
    op('DepthwiseConv2dNativeBackpropInput', I32(x), filters, dy, types=types, label=label, const=(0,), **attrs)
    op('DepthwiseConv2dNativeBackpropFilter', images, I32(f), dy, types=types, label=label, const=(1,), **attrs)
  one = dict(strides=[1, 1, 1, 1], padding='SAME')
  op('DepthwiseConv2dNative', np.zeros([0, 4, 4, 1]), np.ones([2, 2, 1, 1]), label='empty_batch', grad=False, **one)
  op('DepthwiseConv2dNative', np.ones([1, 4, 4, 2]), np.ones([2, 2, 3, 1]), label='channels', error=True, **one)
  op('DepthwiseConv2dNative', np.ones([4, 4, 2]), np.ones([2, 2, 2, 1]), label='rank3', error=True, **one)


def more_pooling():
  label, shape, attrs = POOLS[2]
  x = distinct(label, *shape)
  y_shape = output_shape(shape, attrs['ksize'][1:3] + [0, shape[3]], attrs)
  y, dy, ddy = pooled(x, attrs, y_shape), values(label + 'dy', *y_shape), values(label + 'ddy', *shape)
  sizes = I32(attrs['ksize']), I32(attrs['strides'])
  whole = np.arange(x.size).reshape(shape)
  op('MaxPoolV2', np.round(x), *sizes, types='all', const=(1, 2), fd=False, padding='SAME')
  op('MaxPoolGradV2', whole, pooled(whole, attrs, y_shape), dy, *sizes, types='all', const=(3, 4), fd=False, padding='SAME')
  op('MaxPoolGradGradV2', x, y, ddy, *sizes, const=(3, 4), grad=False, padding='SAME')
  op('MaxPoolV2', x, I32([1, 2]), sizes[1], label='sizes', error=True, padding='SAME')
  for batch in (False, True):
    images = distinct('argmax', 2, 5, 4, 3)
    window = dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='SAME', include_batch_in_index=batch)
    op('MaxPoolWithArgmax', np.round(images), types='all', label='batch' if batch else '', fd=False, grad=False, **window)
    op('MaxPoolWithArgmax', images, label='narrow', fd=False, grad=False, Targmax=tf.int32, **window)
    op('MaxPoolWithArgmax', images, label='gradient', fd=False, **window)
    places = I64(np.arange(2 * 3 * 2 * 3).reshape(2, 3, 2, 3) // 2)
    op('MaxPoolGradWithArgmax', images, values('argmax', 2, 3, 2, 3), places, types='all', grad=False, **window)


def batch_normalization():
  x, scale, offset = values('bn', 2, 3, 2, 4) + distinct('bn', 2, 3, 2, 4) / 16, np.arange(1.0, 5), np.array([0.5, -1, 0, 2])
  mean, variance, none = np.full(4, 0.25), np.array([0.5, 1, 2, 4]), np.zeros([0])
  dy = values('bn dy', 2, 3, 2, 4)
  loose = dict(tolerance=(1e-4, 1e-4), fd=False)
  for suffix, types in (('', ('float',)), ('V2', ('float', 'half', 'bfloat16')), ('V3', ('float', 'half', 'bfloat16'))):
    f32 = lambda *arrays: [np.float32(a) for a in arrays]
    name, grad = 'FusedBatchNorm' + suffix, 'FusedBatchNormGrad' + suffix
    op(name, x, *f32(scale, offset, none, none), types=types, label='batch', epsilon=0.001, **loose)
    op(name, x.transpose(0, 3, 1, 2), *f32(scale, offset, none, none), label='nchw', data_format='NCHW', grad=False, **loose)
    op(name, x, *f32(scale, offset, mean, variance), label='average', exponential_avg_factor=0.25, grad=False, **loose)
    op(name, x, *f32(scale[:3], offset, none, none), label='mismatch', error=True)
    op(name, x[0], *f32(scale, offset, none, none), label='rank3', error=True)
    with script(name, 'given', tolerance=(1e-4, 1e-4)) as s:
      names = ('x', 'scale', 'offset', 'mean', 'variance')
      inputs = {n: tf.constant(v, tf.float32) for n, v in zip(names, (x, scale, offset, mean, variance))}
      made = apply(name, is_training=False, epsilon=0.01, **inputs)
      s.run([made[i] for i in range(3)])
    rest = [np.float32(0)] if suffix == 'V3' else []
    for training in (True, False):
      op(grad, dy, x, *f32(scale, mean, variance), *rest, types=types, label='batch' if training else 'given',
         is_training=training, grad=False, **loose)
    op(grad, dy.transpose(0, 3, 1, 2), x.transpose(0, 3, 1, 2), *f32(scale, mean, variance), *rest, label='nchw',
       data_format='NCHW', grad=False, **loose)
    op(grad, dy[:1], x, *f32(scale, mean, variance), *rest, label='mismatch', error=True)
    unknown = np.full(4, np.nan)  # mean and variance of nothing
    op(grad, dy[:0], x[:0], *f32(scale, unknown, unknown), *rest, label='empty', grad=False, **loose)


def cases():
  activations()
  losses()
  bias()
  convolutions()
  pooling()
  normalization()
  more_activations()
  depthwise()
  more_pooling()
  batch_normalization()
