# SPDX-License-Identifier: Apache-2.0
"""Images: sizes, colors, boxes, patches."""
import numpy as np

from record import op, rng, tf

I32 = np.int32
X = rng('image').uniform(0, 9, [2, 3, 4, 2]).round(2)
MODES = ({}, dict(align_corners=True), dict(half_pixel_centers=True))


def resized():
  for name in ('ResizeBilinear', 'ResizeBicubic', 'ResizeArea', 'ResizeNearestNeighbor'):
    for kw in MODES[:2 if name == 'ResizeArea' else 3]:
      for size in ([5, 7], [2, 2], [3, 4], [1, 1], [6, 8]):
        op(name, X, I32(size), label='sizes', const=(1,), tolerance=(1e-4, 1e-4), **kw)
    op(name, X, I32([4, 3]), types=('float', 'double', 'half', 'bfloat16', 'uint8', 'int8', 'int32', 'int64'), tolerance=(1e-4, 1e-4), fd=False)
    op(name, X[0], I32([2, 2]), label='rank', error=True)
    op(name, X, I32([2, 0]), label='empty', error=True)
    op(name, X, I32([2]), label='one', error=True)
  op('ResizeBilinear', X, I32([2, 2]), label='both', align_corners=True, half_pixel_centers=True, error=True)
  dy = rng('resize', 'dy').uniform(-1, 1, [2, 5, 3, 2])
  for kw in MODES:
    op('ResizeBilinearGrad', dy.astype(np.float32), X, types=('float', 'double', 'half'), grad=False, tolerance=(1e-4, 1e-4), **kw)
    op('ResizeBicubicGrad', dy.astype(np.float32), X, types=('float', 'double'), grad=False, tolerance=(1e-4, 1e-4), **kw)
    op('ResizeNearestNeighborGrad', dy, I32([3, 4]), types=('float', 'double', 'half', 'int32'), grad=False, const=(1,), tolerance=(1e-4, 1e-4), **kw)
  boxes = np.float32([[0, 0, 1, 1], [0.1, 0.2, 0.7, 0.6], [0.8, 0.9, 0.2, 0.1], [-0.5, 0, 0.5, 1.5]])
  for method in ('bilinear', 'nearest'):
    for size in ([3, 3], [1, 1], [2, 5]):
      op('CropAndResize', X, boxes, I32([0, 1, 1, 0]), I32(size), label='sizes', method=method, const=(3,), fd=False, extrapolation_value=-1.0,
         tolerance=(1e-4, 1e-4), grad=method == 'bilinear' or size != [1, 1])
  op('CropAndResize', X, boxes[:1], I32([1]), I32([2, 2]), types=('float', 'double', 'half', 'uint8', 'int32'), fd=False)
  op('CropAndResize', X, boxes[:1], I32([2]), I32([2, 2]), label='outside', error=True)
  op('CropAndResize', X, boxes[:1], I32([0, 1]), I32([2, 2]), label='lengths', error=True)
  g = np.float32(dy[:, :3, :2])
  op('CropAndResizeGradImage', g, boxes[:2], I32([0, 1]), I32([2, 3, 4, 2]), types=('float', 'double', 'half'), attr='T', grad=False)
  op('CropAndResizeGradBoxes', g, X, boxes[:2], I32([0, 1]), types=('float', 'uint8'), grad=False, tolerance=(1e-4, 1e-4))


def colored():
  c = rng('color').uniform(0, 1, [2, 3, 2, 3])
  c[0, 0, 0], c[0, 0, 1], c[0, 1, 0], c[0, 1, 1] = 0, 1, [.5, .5, .2], [.2, .7, .7]
  for name in ('RGBToHSV', 'HSVToRGB'):
    op(name, c, types='all', grad=False)
    op(name, c[0, 0, 0], label='pixel', grad=False)
    op(name, c[..., :2], label='channels', error=True)
  for delta in (0.0, 0.3, -0.4, 1.7):
    op('AdjustHue', c, np.float32(delta), label='deltas', grad=False, tolerance=(1e-4, 1e-5))
  for scale in (0.0, 0.5, 3.0):
    op('AdjustSaturation', c, np.float32(scale), label='scales', grad=False, tolerance=(1e-4, 1e-5))
    op('AdjustContrastv2', c, np.float32(scale), label='scales', grad=False, tolerance=(1e-4, 1e-5))
  op('AdjustContrastv2', X, np.float32(2), label='two_channels', grad=False, tolerance=(1e-4, 1e-4))
  for name in ('AdjustHue', 'AdjustSaturation', 'AdjustContrastv2'):
    op(name, c, np.float32([1]), label='vector', error=True)
    op(name, c[0, 0], np.float32(1), label='rank', error=True)


def boxed():
  boxes = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [1, 101, 0, 100]])
  scores = np.array([0.9, 0.75, 0.6, 0.95, 0.5, 0.3])
  n = I32(4)
  f = np.float32
  op('NonMaxSuppression', f(boxes), f(scores), n, types=None)
  op('NonMaxSuppression', f(boxes), f(scores), n, types=None, label='strict', iou_threshold=0.1)
  op('NonMaxSuppression', f(boxes), f(scores), n, types=None, label='threshold', iou_threshold=2.0, error=True)
  for t in (np.float32, np.float16):
    half = t == np.float16
    label = np.dtype(t).name
    op('NonMaxSuppressionV2', t(boxes), t(scores), n, t(0.5), types=None, label=label)
    op('NonMaxSuppressionV3', t(boxes), t(scores), n, t(0.5), t(0.4), types=None, label=label)
    op('NonMaxSuppressionV4', t(boxes), t(scores), n, t(0.5), t(0.4), types=None, label=label)
    op('NonMaxSuppressionV4', t(boxes), t(scores), n, t(0.5), t(0.7), types=None, label=label + '_pad', pad_to_max_output_size=True, const=(2,))
    op('NonMaxSuppressionV5', t(boxes), t(scores), n, t(0.5), t(0.0), t(0), types=None, label=label)
    if not half:
      op('NonMaxSuppressionV5', t(boxes), t(scores), I32(6), t(1.0), t(0.0), t(0.5), types=None, label='soft', pad_to_max_output_size=True)
      op('NonMaxSuppressionV5', t(boxes), t(scores), I32(6), t(0.5), t(0.3), t(0.1), types=None, label='soft2')
  op('NonMaxSuppressionV2', f(boxes), f(scores[:3]), n, f(0.5), types=None, label='lengths', error=True)
  op('NonMaxSuppressionV2', f(boxes[:, :3]), f(scores), n, f(0.5), types=None, label='columns', error=True)
  overlaps = np.clip(rng('overlap').uniform(0, 1, [6, 6]), 0, 1)
  op('NonMaxSuppressionWithOverlaps', f(overlaps), f(scores), n, f(0.6), f(0.4), types=None)
  b = f([[[0, 0, 0.9, 0.9], [0.3, 0.3, 1.5, 0.8]], [[0.5, 0.1, 0.6, 0.2], [0.9, 0.9, 0.1, 0.1]]])
  for depth in (1, 3, 4):
    images = np.zeros([2, 6, 5, depth])
    op('DrawBoundingBoxes', images, b, types=('float', 'half'), label='depth%d' % depth, grad=False)
    op('DrawBoundingBoxesV2', images, b, f([[.1, .2, .3, .4]]), types=('float', 'half'), label='depth%d' % depth, grad=False)
  op('DrawBoundingBoxes', np.zeros([2, 6, 5, 2]), b, label='depth2', error=True)
  op('DrawBoundingBoxes', np.zeros([1, 6, 5, 3]), b, label='batch', error=True)


def patches():
  x = np.arange(2 * 5 * 6 * 2, dtype=float).reshape(2, 5, 6, 2)
  for padding in ('SAME', 'VALID'):
    for k, s, r in (([2, 3], [1, 1], [1, 1]), ([3, 3], [2, 3], [1, 1]), ([2, 2], [1, 2], [2, 2]), ([1, 1], [2, 2], [1, 1])):
      op('ExtractImagePatches', x, label='forms', ksizes=[1] + k + [1], strides=[1] + s + [1], rates=[1] + r + [1], padding=padding)
  op('ExtractImagePatches', x, types='all', ksizes=[1, 2, 2, 1], strides=[1, 2, 2, 1], rates=[1, 1, 1, 1], padding='VALID', grad=False)


def cases():
  resized()
  colored()
  boxed()
  patches()
