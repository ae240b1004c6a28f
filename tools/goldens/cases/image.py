# SPDX-License-Identifier: Apache-2.0
"""Images: sizes, colors, boxes, patches."""
import numpy as np

from record import apply, op, rng, script, tf

I32 = np.int32
X = rng('image').uniform(0, 9, [2, 3, 4, 2]).round(2)
MODES = ({}, dict(align_corners=True), dict(half_pixel_centers=True))


def resized():
  for name in ('ResizeBilinear', 'ResizeBicubic', 'ResizeArea', 'ResizeNearestNeighbor'):
    for kw in MODES[:2 if name == 'ResizeArea' else 3]:
      for size in ([5, 7], [2, 2], [3, 4], [1, 1], [6, 8]):
        op(name, X, I32(size), label='sizes', const=(1,), tolerance=(1e-4, 1e-4), **kw)
    op(name, X, I32([4, 3]), types=('float', 'half', 'bfloat16', 'uint8', 'int8', 'int32', 'int64'), tolerance=(1e-4, 1e-4), fd=False)
    op(name, X, I32([4, 3]), types=('double',), label='wide', tolerance=(1e-4, 1e-4), grad=False)
    op(name, X[0], I32([2, 2]), label='rank', error=True)
    op(name, X, I32([2, 0]), label='empty', error=True)
    op(name, X, I32([2]), label='one', error=True)
  op('ResizeBilinear', X, I32([2, 2]), label='both', align_corners=True, half_pixel_centers=True, error=True)
  dy = rng('resize', 'dy').uniform(-1, 1, [2, 5, 3, 2])
  for kw in MODES:
    op('ResizeBilinearGrad', dy.astype(np.float32), X, types=('float', 'half'), grad=False, tolerance=(1e-4, 1e-4), **kw)
    op('ResizeBicubicGrad', dy.astype(np.float32), X, types=('float',), grad=False, tolerance=(1e-4, 1e-4), **kw)
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
  op('CropAndResizeGradImage', g, boxes[:2], I32([0, 1]), I32([2, 3, 4, 2]), types=('float', 'half'), attr='T', grad=False, tolerance=(1e-3, 1e-3))
  op('CropAndResizeGradBoxes', g, X, boxes[:2], I32([0, 1]), types=('float', 'uint8'), grad=False, tolerance=(1e-4, 1e-4))


def colored():
  c = rng('color').uniform(0, 1, [2, 3, 2, 3])
  c[0, 0, 0], c[0, 0, 1], c[0, 1, 0], c[0, 1, 1] = 0, 1, [.5, .5, .2], [.2, .7, .7]
  for name in ('RGBToHSV', 'HSVToRGB'):
    op(name, c, types='all', grad=False, tolerance=(1e-4, 1e-3))
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


def smooth(height, width, channels, top=255):
  """Without sharp edges, of which encoders make different things."""
  y, x, c = np.mgrid[0:height, 0:width, 0:channels]
  return (top * (0.5 + 0.4 * np.sin(x / 9 + c) * np.cos(y / 7 - c))).astype(np.uint8 if top < 256 else np.uint16)


def encoded(name, image, **kw):
  with tf.Graph().as_default(), tf.Session() as session:
    return np.array(session.run(apply(name, image=tf.constant(image), **kw)[0]), object)


def gif(frames):
  """Palette of 4 greys, one code of 3 bits per pixel with resets: no compression."""
  height, width = frames[0].shape
  out = b'GIF89a' + bytes([width, 0, height, 0, 0x81, 0, 0]) + bytes([0, 0, 0, 80, 80, 80, 160, 160, 160, 255, 0, 128])
  for f in frames:
    bits, n = 0, 0
    for v in f.ravel():
      for code in (4, int(v)):
        bits |= code << n
        n += 3
    bits |= 5 << n
    data = bits.to_bytes((n + 10) // 8, 'little')
    out += bytes([0x2c, 0, 0, 0, 0, width, 0, height, 0, 0, 2])
    for i in range(0, len(data), 255):
      out += bytes([len(data[i:i + 255])]) + data[i:i + 255]
    out += b'\0'
  return np.array(out + b';', object)


def bmp(image):
  height, width, channels = image.shape
  rows = b''.join(image[y, :, ::-1].tobytes() + b'\0' * (-width * channels % 4) for y in range(height - 1, -1, -1))
  header = b'BM' + (54 + len(rows)).to_bytes(4, 'little') + b'\0' * 4 + (54).to_bytes(4, 'little')
  header += (40).to_bytes(4, 'little') + width.to_bytes(4, 'little') + height.to_bytes(4, 'little') + b'\1\0' + (8 * channels).to_bytes(2, 'little')
  return np.array(header + b'\0' * 24 + rows, object)


def files():
  for channels in (1, 2, 3, 4):
    for deep in (False, True):
      image = smooth(5, 7, channels, 65535 if deep else 255)
      png = encoded('EncodePng', image)
      for wanted in (0, 1, 3, 4):
        op('DecodePng', png, types=None, label='%d_%d_%d' % (channels, deep, wanted), channels=wanted, dtype=tf.uint16 if deep else tf.uint8)
      with script('EncodePng', '%d_%d' % (channels, deep)) as s:
        s.run(apply('DecodePng', contents=apply('EncodePng', image=tf.constant(image))[0], dtype=tf.as_dtype(image.dtype))[0])
  for channels in (1, 3):
    image = smooth(21, 30, channels)
    jpeg = encoded('EncodeJpeg', image)
    for wanted in (0, 1, 3):
      op('DecodeJpeg', jpeg, types=None, label='%d_%d' % (channels, wanted), channels=wanted)
    op('DecodeJpeg', jpeg, types=None, label='ratio_%d' % channels, ratio=2)
    op('DecodeJpeg', jpeg, types=None, label='accurate_%d' % channels, dct_method='INTEGER_ACCURATE')
    op('ExtractJpegShape', jpeg, types=None, label='channels%d' % channels)
    op('DecodeImage', jpeg, types=None, label='jpeg_%d' % channels)
    with script('EncodeJpeg', 'channels%d' % channels) as s:
      for kw in ({}, dict(quality=80), dict(progressive=True), dict(chroma_downsampling=False)):
        s.run(apply('DecodeJpeg', contents=apply('EncodeJpeg', image=tf.constant(image), **kw)[0])[0])
  cut = np.array(encoded('EncodeJpeg', smooth(21, 30, 3)).item()[:300], object)
  op('DecodeJpeg', cut, types=None, label='cut', error=True)
  op('DecodeJpeg', cut, types=None, label='bad_ratio', ratio=3, error=True)
  op('DecodePng', np.array(encoded('EncodePng', smooth(5, 7, 3)).item()[:60], object), types=None, label='cut', error=True)
  for name in ('DecodePng', 'DecodeJpeg', 'DecodeGif', 'DecodeBmp', 'DecodeImage'):
    op(name, np.array(b'rubbish', object), types=None, label='rubbish', error=True)
  f = [np.arange(12).reshape(3, 4) % 4, np.arange(12).reshape(3, 4) // 3 % 4]
  op('DecodeGif', gif(f), types=None, label='two')
  op('DecodeGif', gif(f[:1]), types=None, label='one')
  op('DecodeImage', gif(f), types=None, label='gif')
  op('DecodeImage', gif(f), types=None, label='gif_first', expand_animations=False)
  b = bmp(smooth(4, 5, 3))
  op('DecodeBmp', b, types=None, channels=3)
  op('DecodeBmp', b, types=None, label='wrong', channels=1, error=True)
  op('DecodeImage', b, types=None, label='bmp')
  op('DecodeImage', encoded('EncodePng', smooth(5, 7, 3)), types=None, label='png', dtype=tf.uint8)
  op('DecodeImage', encoded('EncodePng', smooth(5, 7, 3, 65535)), types=None, label='float', dtype=tf.float32)
  op('EncodePng', smooth(5, 7, 3)[0], types=None, label='rank', error=True)
  op('EncodeJpeg', smooth(5, 7, 3)[0], types=None, label='rank', error=True)


def cases():
  files()
  resized()
  colored()
  boxed()
  patches()
