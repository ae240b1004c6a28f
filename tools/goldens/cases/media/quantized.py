# SPDX-License-Identifier: Apache-2.0
"""Quantized images in other sizes."""
import numpy as np

from cases.quantized import bits, codes, run
from record import apply, rng, script, tf

I32 = np.int32
MODES = ({}, dict(align_corners=True), dict(half_pixel_centers=True), dict(align_corners=True, half_pixel_centers=True))
SIZES = ((5, 7), (2, 2), (3, 4), (1, 1), (6, 17), (3, 9))


def images(kind, channels):
  r = rng('quantized', kind, channels)
  if kind == 'float':
    return tf.constant(r.uniform(-1, 1, [2, 3, 4, channels]).astype(np.float32))
  if kind == 'quint8':
    return codes(r.randint(0, 256, [2, 3, 4, channels]), kind)
  return codes(r.randint(-2**31, 2**31, [2, 3, 4, channels]), kind)


def resize(x, size, low=-1.0, high=1.0, **attrs):
  return apply('QuantizedResizeBilinear', images=x, size=size, min=low, max=high, **attrs)


def cases():
  for kind in ('quint8', 'qint32', 'float'):
    for channels in (1, 2, 3):
      with script('QuantizedResizeBilinear', '%s_%d' % (kind, channels)) as s:
        for attrs in MODES:
          for size in SIZES:
            run(s, resize(images(kind, channels), I32(size), **attrs))
  with script('QuantizedResizeBilinear', 'errors') as s:
    feed = lambda v: tf.placeholder_with_default(v, None)
    x = images('quint8', 1)
    for size in ([0, 1], [1, -1], [2], [[1, 2]]):
      s.run(bits(resize(x, feed(I32(size)))[0]), error=True)
    s.run(bits(resize(x, I32([2, 2]), feed(np.float32([0])))[0]), error=True)
    s.run(bits(resize(x, I32([2, 2]), 0.0, feed(np.float32([0])))[0]), error=True)
    s.run(resize(feed(np.zeros([3, 4, 1], np.float32)), I32([2, 2]))[0], error=True)
