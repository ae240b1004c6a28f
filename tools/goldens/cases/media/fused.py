# SPDX-License-Identifier: Apache-2.0
"""Convolutions of resized and mirrored images. Batches hold one image: TensorFlow 2.21 gives all of them the result of the first."""
import numpy as np

from record import apply, op, rng, script, tf

I32 = np.int32
NEAR = (1e-4, 1e-4)
ROUNDED = (1e-3, 1e-3)  # TensorFlow adds halves as such
MODES = ('REFLECT', 'SYMMETRIC')


def image(height, width, channels=2):
  return rng('fused', height, width).uniform(-2, 2, [1, height, width, channels]).round(2)


def window(height, width, channels=2, filters=3):
  return rng('window', height, width).uniform(-1, 1, [height, width, channels, filters]).round(2)


def borders(top, bottom, left, right):
  return I32([[0, 0], [top, bottom], [left, right], [0, 0]])


def refused(name, label, x, paddings, f, size=None, **attrs):
  """An error when it runs. TensorFlow wants to know the shape of the paddings before."""
  with script(name, label) as s:
    feeds = {tf.placeholder(tf.float32): x, tf.placeholder(tf.int32, [4, 2]): paddings, tf.placeholder(tf.float32): f}
    images, borders_, filters = feeds
    inputs = dict(input=images, paddings=borders_, filter=filters)
    if size is not None:
      inputs['size'] = tf.placeholder(tf.int32)
      feeds[inputs['size']] = size
    kw = dict(dict(mode='REFLECT', padding='SAME', strides=[1, 1, 1, 1]), **attrs)
    s.run(apply(name, **inputs, **kw)[0], feeds, error=True)


def padded():
  x = image(5, 7)
  for mode in MODES:
    for padding in ('SAME', 'VALID'):
      for size, strides in (((3, 3), (1, 1)), ((3, 2), (2, 3)), ((1, 1), (4, 5)), ((5, 1), (7, 4)), ((2, 4), (6, 6))):
        op('FusedPadConv2D', x, borders(2, 3, 1, 4), window(*size), label='windows', const=(1,), tolerance=NEAR, mode=mode, padding=padding,
           strides=[1, *strides, 1])
    op('FusedPadConv2D', x, borders(0, 0, 0, 0), window(3, 3), label='none', tolerance=NEAR, mode=mode, padding='SAME', strides=[1, 1, 1, 1])
    op('FusedPadConv2D', x, borders(1, 0, 0, 2), window(2, 2), types='all', label='types', tolerance=ROUNDED, grad=False, mode=mode, padding='VALID',
       strides=[1, 2, 2, 1])
  op('FusedPadConv2D', x, borders(5, 5, 7, 7), window(3, 3), label='all', tolerance=NEAR, mode='SYMMETRIC', padding='VALID', strides=[1, 1, 1, 1])
  f = window(3, 3)
  refused('FusedPadConv2D', 'too_wide', x, borders(5, 0, 0, 0), f)
  refused('FusedPadConv2D', 'too_wide_too', x, borders(0, 0, 0, 8), f, mode='SYMMETRIC')
  refused('FusedPadConv2D', 'negative', x, borders(-1, 0, 0, 0), f)
  refused('FusedPadConv2D', 'batch', np.concatenate([x, x]), I32([[1, 0], [0, 0], [0, 0], [0, 0]]), f)
  refused('FusedPadConv2D', 'channels', x, I32([[0, 0], [0, 0], [0, 0], [1, 0]]), f)
  refused('FusedPadConv2D', 'depth', x, borders(0, 0, 0, 0), window(3, 3, 1))
  refused('FusedPadConv2D', 'filter', x, borders(0, 0, 0, 0), f[0])
  refused('FusedPadConv2D', 'empty', x[:0], borders(0, 0, 0, 0), f)
  refused('FusedPadConv2D', 'no_filters', x, borders(0, 0, 0, 0), f[..., :0])
  refused('FusedPadConv2D', 'large', x, borders(0, 0, 0, 0), window(6, 3), padding='VALID')
  refused('FusedPadConv2D', 'stride_of_batch', x, borders(0, 0, 0, 0), f, strides=[2, 1, 1, 1])


def resized():
  x = image(4, 5)
  for mode in MODES:
    for padding in ('SAME', 'VALID'):
      for align in (False, True):
        for size, strides in (((7, 9), (1, 1)), ((3, 3), (1, 2)), ((4, 5), (2, 2)), ((13, 6), (5, 4)), ((5, 1), (1, 1))):
          right = 0 if size[1] == 1 else 2
          op('FusedResizeAndPadConv2D', x, I32(size), borders(2, 1, 0, right), window(2, 1), label='sizes', const=(1, 2), tolerance=NEAR, mode=mode,
             padding=padding, strides=[1, *strides, 1], resize_align_corners=align)
  op('FusedResizeAndPadConv2D', x, I32([6, 8]), borders(1, 1, 2, 2), window(3, 3), types='all', label='types', tolerance=(4e-3, 4e-3), grad=False,
     mode='REFLECT', padding='SAME', strides=[1, 1, 1, 1])
  f = window(2, 2)
  refused('FusedResizeAndPadConv2D', 'no_size', x, borders(0, 0, 0, 0), f, I32([6, 0]))
  refused('FusedResizeAndPadConv2D', 'negative', x, borders(0, 0, 0, 0), f, I32([-6, 4]))
  refused('FusedResizeAndPadConv2D', 'one_size', x, borders(0, 0, 0, 0), f, I32([6]))
  refused('FusedResizeAndPadConv2D', 'too_wide', x, borders(2, 0, 0, 0), f, I32([2, 2]))
  refused('FusedResizeAndPadConv2D', 'rank', x[0], borders(0, 0, 0, 0), f, I32([2, 2]))


def cases():
  padded()
  resized()
