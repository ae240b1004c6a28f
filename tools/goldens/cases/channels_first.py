# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pools over images and volumes whose channels come first. TensorFlow has them on the CPU with oneDNN only, in float."""
import numpy as np

from cases.layers import sizes
from cases.nn import CONVOLUTIONS, POOLS, distinct, output_shape, values
from record import op

I32 = np.int32
LOOSE = dict(tolerance=(2e-4, 2e-4))
NO_GRADIENT = ('grouped', 'dilated', 'dilated_same', 'explicit', 'mnist')


def first(items, each=1):
  """The items of each dimension, channels last, with those of the channels in the second place."""
  parts = [list(items[i:i + each]) for i in range(0, len(items), each)]
  return sum([parts[0], parts[-1]] + parts[1:-1], [])


def moved(attrs, data_format):
  out = {k: first(v, 2 if k == 'explicit_paddings' else 1) if isinstance(v, list) else v for k, v in attrs.items()}
  return dict(out, data_format=data_format)


def images():
  for label, x, f, attrs in CONVOLUTIONS:
    kw = dict(moved(attrs, 'NCHW'), label=label, **LOOSE)
    x, y = first(x), first(output_shape(x, f, attrs))
    grad = label not in NO_GRADIENT
    w, dy = values(label + 'f', *f), values(label + 'dy', *y)
    op('Conv2D', values(label, *x), w, grad=grad, **kw)
    if grad:
      op('Conv2DBackpropInput', I32(x), w, dy, const=(0,), **kw)
      op('Conv2DBackpropFilter', values(label, *x), I32(f), dy, const=(1,), **kw)
  for label, x, f, attrs in CONVOLUTIONS[:4]:
    f = f[:3] + (2,)
    kw = dict(moved(attrs, 'NCHW'), label=label, **LOOSE)
    y = first(output_shape(x, f[:3] + (2 * f[2],), attrs))
    x = first(x)
    w, dy = values(label + 'f', *f), values(label + 'dy', *y)
    op('DepthwiseConv2dNative', values(label, *x), w, **kw)
    op('DepthwiseConv2dNativeBackpropInput', I32(x), w, dy, const=(0,), **kw)
    op('DepthwiseConv2dNativeBackpropFilter', values(label, *x), I32(f), dy, const=(1,), **kw)
  for label, shape, attrs in POOLS:
    kw = dict(moved(attrs, 'NCHW'), label=label)
    y = first(output_shape(shape, attrs['ksize'][1:3] + [0, shape[3]], attrs))
    shape = first(shape)
    op('MaxPool', distinct(label, *shape), **kw)
    op('AvgPool', distinct(label, *shape), **kw)
    op('AvgPoolGrad', I32(shape), values(label + 'dy', *y), const=(0,), **kw)
  one = dict(strides=[1, 1, 1, 1], padding='SAME', data_format='NCHW')
  op('Conv2D', np.ones([1, 2, 4, 4]), np.ones([2, 2, 3, 1]), label='channels', error=True, **one)


def volumes():
  shape, f = (2, 4, 5, 3, 2), (2, 3, 2, 2, 3)
  x, w = values('volume', *first(shape)), values('volume f', *f)
  for padding in ('SAME', 'VALID'):
    for s in ([1, 1, 1], [2, 1, 3]):
      kw = moved(dict(strides=[1] + s + [1], padding=padding), 'NCDHW')
      label = '_'.join([padding.lower()] + [str(v) for v in s])
      dy = values('volume dy' + label, 2, 3, *sizes(shape[1:4], f[:3], s, padding))
      op('Conv3D', x, w, label=label, **kw, **LOOSE)
      op('Conv3DBackpropInputV2', I32(x.shape), w, dy, label=label, const=(0,), **kw, **LOOSE)
      op('Conv3DBackpropFilterV2', x, I32(f), dy, label=label, const=(1,), **kw, **LOOSE)
      pool = dict(kw, ksize=[1, 1, 2, 3, 1], label=label)
      g = values('volume pool' + label, 2, 2, *sizes(shape[1:4], [2, 3, 1], s, padding))
      op('MaxPool3D', x, fd=False, **pool, **LOOSE)
      op('AvgPool3D', x, fd=False, **pool, **LOOSE)
      op('AvgPool3DGrad', I32(x.shape), g, const=(0,), fd=False, **pool, **LOOSE)


def cases():
  images()
  volumes()
