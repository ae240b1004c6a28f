# SPDX-License-Identifier: Apache-2.0
"""Pools and convolutions at their edges; images that are moved, scaled, cropped and chosen from; what is refused."""
import numpy as np

from record import apply, op, rng, script, tf
from tensorflow.python.framework import test_util

I32, F32 = np.int32, np.float32
NAN = float('nan')
POOL = dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='VALID')


def values(name, *shape):
  return rng('windows', name).uniform(-2, 2, shape).round(3)


def pools():
  x = values('pool', 1, 4, 4, 4)
  deep = dict(ksize=[1, 1, 1, 2], strides=[1, 1, 1, 2], padding='SAME')
  op('MaxPool', x, label='deep_strided', grad=False, **dict(deep, strides=[1, 2, 2, 2]))
  op('MaxPool', x, label='deep_and_wide', error=True, **dict(deep, ksize=[1, 2, 2, 2]))
  op('MaxPool', x, label='deep_stride', error=True, **dict(deep, strides=[1, 1, 1, 1]))
  op('MaxPool', x, label='deep_uneven', error=True, **dict(deep, ksize=[1, 1, 1, 3], strides=[1, 1, 1, 3]))
  for sides in ([0, 2, 0, 0], [2, 0, 0, 0], [0, 0, 2, 0], [0, 0, 0, 2]):
    op('MaxPool', x, label='too_much_padding', error=True, **dict(POOL, padding='EXPLICIT'), explicit_paddings=[0, 0] + sides + [0, 0])
  op('MaxPoolWithArgmax', x, label='deep', grad=False, shapes=False, **deep)
  op('MaxPoolWithArgmax', x, label='deep_uneven', error=True, **dict(deep, ksize=[1, 1, 1, 3], strides=[1, 1, 1, 3]))
  op('AvgPool', x, label='deep', error=True, **deep)
  op('AvgPoolGrad', I32([1, 4, 4, 4]), np.ones([1, 4, 4, 2]), label='deep', error=True, **deep)
  op('AvgPoolGrad', I32([1, 4, 4, 4]), values('avg', 1, 2, 2, 4), label='stride_of_channels', grad=False, const=(0,),
     **dict(POOL, strides=[1, 2, 2, 3]))
  y = np.ones([1, 2, 2, 4])
  op('MaxPoolGrad', x, y, y, label='deep', error=True, **dict(POOL, strides=[1, 2, 2, 2]))
  holes = np.array([NAN, 1, 2, 3, 4, NAN, 6, 7, NAN, NAN, 8, 9, NAN, NAN, 10, NAN]).reshape(1, 4, 4, 1)
  dy = np.array([1.0, 2, 4, 8]).reshape(1, 2, 2, 1)
  with np.errstate(all='ignore'):
    top = np.array([NAN, 7, NAN, 10]).reshape(1, 2, 2, 1)
  op('MaxPoolGrad', holes, top, dy, label='nan', grad=False, **POOL)
  overlapping = dict(POOL, strides=[1, 1, 1, 1])
  op('MaxPoolGrad', np.full([1, 4, 4, 1], NAN), np.full([1, 3, 3, 1], NAN), np.arange(9.0).reshape(1, 3, 3, 1), label='only_nan', grad=False, **overlapping)
  v, w = values('volume', 1, 4, 4, 4, 2), values('volume dy', 1, 4, 4, 4, 2)
  cube = dict(ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding='VALID')
  most = v.reshape(1, 2, 2, 2, 2, 2, 2, 2).max(axis=(2, 4, 6))
  op('MaxPool3DGradGrad', v, most, w, label='cubes', fd=False, **cube)
  op('MaxPool3DGradGrad', v, most, most, label='shape', error=True, **cube)
  v = values('volume', 1, 2, 2, 2, 1)
  for t in (tf.bfloat16,):
    op('MaxPool3DGrad', v.astype(t.as_numpy_dtype), v.astype(t.as_numpy_dtype), F32(v), types=None, label='types', error=True,
       ksize=[1, 1, 1, 1, 1], strides=[1, 1, 1, 1, 1], padding='VALID')


def convolutions():
  tol = dict(tolerance=(1e-4, 1e-5))
  images, f = values('images', 2, 5, 6, 3), values('filter', 2, 3, 3, 4)
  op('Conv', images.round(), f.round(), types='all', grad=False, strides=[1, 1, 1, 1], padding='SAME', tolerance=(2e-2, 2e-2))
  for kw in (dict(strides=[1, 2, 1, 1], padding='VALID'), dict(strides=[1, 1, 1, 1], padding='SAME', dilations=[1, 2, 1, 1]),
             dict(strides=[1, 2, 2, 1], padding='EXPLICIT', explicit_paddings=[0, 0, 1, 0, 2, 1, 0, 0])):
    op('Conv', images, f, label='images', grad=False, **kw, **tol)
  op('Conv', images.reshape(2, 1, 5, 6, 3), f, label='two_batches', grad=False, shapes=False, strides=[1, 1, 1, 1], padding='SAME', batch_dims=2, **tol)
  op('Conv', images[0], f, label='no_batch', grad=False, shapes=False, strides=[1, 1, 1, 1], padding='SAME', batch_dims=0, **tol)
  volumes, g = values('volumes', 2, 4, 3, 5, 2), values('filter3', 2, 2, 3, 2, 3)
  for kw in (dict(strides=[1, 1, 1, 1, 1], padding='SAME'), dict(strides=[1, 2, 1, 2, 1], padding='VALID')):
    op('Conv', volumes, g, label='volumes', types=('float', 'double'), grad=False, **kw, **tol)
  one = dict(strides=[1, 1, 1, 1], padding='SAME')
  op('Conv', np.zeros([0, 5, 6, 3]), f, label='empty', grad=False, **one)
  op('Conv', images, f, label='batch_strides', error=True, **dict(one, strides=[2, 1, 1, 1]))
  op('Conv', images, f, label='channel_strides', error=True, **dict(one, strides=[1, 1, 1, 2]))
  op('Conv', images, f[:, :0], label='empty_filter', error=True, **one)
  op('Conv', images[..., :2], f, label='channels', error=True, **one)
  op('Conv', volumes, f, label='ranks', error=True, **one)
  op('Conv', images, f, label='groups', error=True, groups=3, **one)
  op('Conv', images.transpose(0, 3, 1, 2), f, label='channels_first', error=True, data_format='CHANNELS_FIRST', **one)


def moved():
  x = rng('moved').uniform(0, 9, [2, 4, 5, 2]).round(1)
  turn = F32([[0.8, -0.6, 1.5, 0.6, 0.8, -1.0, 0.01, 0.02], [1.5, 0, -2, 0, 0.5, 1, 0, 0]])
  for fill in ('CONSTANT', 'REFLECT', 'WRAP', 'NEAREST'):
    for how in ('NEAREST', 'BILINEAR'):
      for t in (turn, turn[:1] * 3, F32([[1, 0, -7, 0, 1, 9, 0, 0]])):
        op('ImageProjectiveTransformV3', x, t, I32([6, 5]), F32(-1), label='modes', attr='dtype', const=(2,), grad=False,
           interpolation=how, fill_mode=fill, tolerance=(1e-4, 1e-4))
  for how in ('NEAREST', 'BILINEAR'):
    op('ImageProjectiveTransformV2', x.round(), turn, I32([3, 7]), types='all', attr='dtype', grad=False, interpolation=how, tolerance=(1e-2, 1e-2))
    op('ImageProjectiveTransformV2', x, F32([[1, 0, 0, 0, 1, 0, -1, 0]]), I32([2, 3]), label='horizon', attr='dtype', grad=False, interpolation=how)
  op('ImageProjectiveTransformV2', x, turn[:, :7], I32([3, 7]), label='seven', attr='dtype', error=True, interpolation='NEAREST')
  op('ImageProjectiveTransformV2', x[0], turn, I32([3, 7]), label='rank', attr='dtype', error=True, interpolation='NEAREST')
  op('ImageProjectiveTransformV2', x, turn, I32([3, 0]), label='empty', attr='dtype', error=True, interpolation='NEAREST')
  op('ImageProjectiveTransformV3', x, turn, I32([3, 7]), F32([0]), label='fill', attr='dtype', error=True, interpolation='NEAREST')
  for filter_ in ('lanczos1', 'lanczos3', 'lanczos5', 'gaussian', 'box', 'triangle', 'keyscubic', 'mitchellcubic'):
    for antialias in (True, False):
      for size, scale, translation in (([6, 8], [1.5, 1.6], [0, 0]), ([3, 2], [0.4, 0.5], [0.3, -0.2]), ([5, 5], [1, 2], [-3, 30])):
        op('ScaleAndTranslate', x, I32(size), F32(scale), F32(translation), label=filter_, const=(1,), kernel_type=filter_, antialias=antialias,
           fd=False, tolerance=(1e-4, 1e-4))
  op('ScaleAndTranslate', x.round(), I32([3, 3]), F32([0.7, 0.7]), F32([0.5, 0]), types='all', grad=False, tolerance=(1e-3, 1e-3))
  two = F32([1, 1])
  op('ScaleAndTranslate', x, I32([3, 3]), F32([0, 1]), two, label='no_scale', error=True)
  op('ScaleAndTranslate', x, I32([3, 3]), F32([1]), two, label='one_scale', error=True)
  op('ScaleAndTranslate', x, I32([3, 0]), two, two, label='empty', error=True)
  op('ScaleAndTranslate', x, I32([3, 3]), two, two, label='filter', kernel_type='none', error=True)
  op('ScaleAndTranslateGrad', F32(rng('moved', 'dy').uniform(-1, 1, [2, 3, 3, 2])), F32(x), F32([0.7, 0.6]), F32([0.5, 0]), grad=False, tolerance=(1e-4, 1e-4))


def chosen():
  r = rng('chosen')
  corner = r.uniform(0, 0.8, [2, 7, 1, 2])
  boxes = F32(np.concatenate([corner, corner + r.uniform(0.1, 0.4, [2, 7, 1, 2])], 3))
  many = F32(np.concatenate([boxes, boxes[:, ::-1] + 0.05, boxes - 0.2], 2))
  scores = F32(r.permutation(42).reshape(2, 7, 3) / 42.0)
  for b in (boxes, many):
    for kw in ({}, dict(pad_per_class=True), dict(clip_boxes=False)):
      for limit, total, overlap, score in ((3, 8, 0.5, 0.0), (2, 5, 0.1, 0.3), (9, 40, 1.0, 0.9)):
        op('CombinedNonMaxSuppression', b, scores, I32(limit), I32(total), F32(overlap), F32(score), types=None, label='limits', const=(2, 3), grad=False, **kw)
  op('CombinedNonMaxSuppression', boxes, scores[..., :0], I32(1), I32(2), F32(0.5), F32(0), types=None, label='no_classes', grad=False)
  bad = lambda label, *inputs: op('CombinedNonMaxSuppression', *inputs, types=None, label=label, error=True)
  bad('batch', boxes[:1], scores, I32(1), I32(2), F32(0.5), F32(0))
  bad('per_class', boxes, scores, I32(0), I32(2), F32(0.5), F32(0))
  bad('total', boxes, scores, I32(1), I32(0), F32(0.5), F32(0))
  bad('overlap', boxes, scores, I32(1), I32(2), F32(1.5), F32(0))
  bad('vector', boxes, scores, I32([1]), I32(2), F32(0.5), F32(0))
  bad('classes', many[:, :, :2], scores, I32(1), I32(2), F32(0.5), F32(0))


def cropped():
  boxes = F32([[[0.1, 0.2, 0.6, 0.7], [0.5, 0.5, 0.9, 0.8]]])
  for seed in range(8):
    kw = dict(aspect_ratio_range=[0.5, 2.0], area_range=[0.05 + seed * 0.1, 1.0])
    op('SampleDistortedBoundingBoxV2', I32([50 + 13 * seed, 80, 3]), boxes, F32(0.1 * seed), label='seeds', types=None, grad=False,
       seed=seed + 1, seed2=7 * seed, **kw)
    op('StatelessSampleDistortedBoundingBox', I32([50, 40 + 17 * seed, 3]), boxes, F32(0.1 * seed), I32([seed, 5]), label='seeds', types=None,
       grad=False, **kw)
  op('SampleDistortedBoundingBox', np.array([40, 60, 3]), boxes, types='all', grad=False, seed=3, seed2=4)
  op('SampleDistortedBoundingBox', I32([40, 60, 3]), boxes[:, :0], label='whole', types=None, grad=False, seed=3, use_image_if_no_bounding_boxes=True)
  op('SampleDistortedBoundingBox', I32([4, 6, 3]), boxes, label='impossible', types=None, grad=False, seed=3, min_object_covered=1.0, area_range=[0.001, 0.01])
  bad = lambda label, *inputs, **kw: op('SampleDistortedBoundingBoxV2', *inputs, types=None, label=label, error=True, **kw)
  size, part = I32([40, 60, 3]), F32(0.1)
  bad('no_boxes', size, boxes[:, :0], part)
  bad('coordinates', size, boxes * 2, part)
  bad('size', size[:2], boxes, part)
  bad('boxes', size, boxes[0], part)
  bad('covered', size, boxes, F32(-1))
  bad('covered_vector', size, boxes, F32([1]))
  bad('area', size, boxes, part, area_range=[0.5, 1.5])
  bad('aspect', size, boxes, part, aspect_ratio_range=[0.0, 1.0])
  bad('attempts', size, boxes, part, max_attempts=0)


def regressions():
  x = np.array([[3, 1, 2, 2, -5, 8], [1, 2, 3, 4, 5, 6], [6, 5, 4, 4, 2, 1]])
  for t, out in (('float', 'float'), ('double', 'double'), ('half', 'half'), ('bfloat16', 'bfloat16'), ('int8', 'float'), ('int16', 'float'), ('int32', 'double'),
                 ('int64', 'double')):
    op('IsotonicRegression', x, types=(t,), label='types', grad=False, output_dtype=tf.as_dtype(out))
  op('IsotonicRegression', values('rows', 3, 2, 17), types=('double',), label='many', grad=False, output_dtype=tf.float64)
  op('IsotonicRegression', np.zeros([2, 0]), label='empty', grad=False)


def raw():
  data = np.array([b'', b'a', b'abcdefgh', b'0123456789abcdefghi'], object)
  for t in ('float', 'double', 'int32', 'uint16', 'uint8', 'int16', 'int8', 'int64'):
    for little in (True, False):
      op('DecodePaddedRaw', data, I32(16), types=None, label=t + ('' if little else '_big'), const=(1,), out_type=tf.as_dtype(t), little_endian=little)
  op('DecodePaddedRaw', data[:0], I32(8), types=None, label='empty', out_type=tf.int32)
  op('DecodePaddedRaw', data, I32(6), types=None, label='not_whole', out_type=tf.int32, error=True)
  op('DecodePaddedRaw', data, I32(0), types=None, label='nothing', out_type=tf.int32, error=True)
  op('DecodePaddedRaw', data, I32([4]), types=None, label='vector', out_type=tf.int32, error=True)


def infinite():
  inf = float('inf')
  big = np.array([[inf, 3, 4, 5, 6], [3, 4, 9, 2, 0], [2, 5, 8, 3, 8], [1, 6, 7, 4, 7], [2, 3, 4, 5, 6]])
  for name in ('MatrixDeterminant', 'LogMatrixDeterminant'):
    for m in ([[inf, 1], [1, 1]], [[1, inf], [1, 1]], [[inf, inf], [1, 1]], [[inf, -inf], [1, 1]], [[NAN, 1], [1, 1]], [[-inf]]):
      op(name, np.array(m), label='infinite', types=('float', 'double'), grad=False)
    op(name, big, label='large', types=('float', 'double'), grad=False)
    op(name, np.diag([1.7e308, 1.7e308]), label='beyond', types=('double',), grad=False)


def refused():
  op('SparseBincount', np.array([[0, 0], [-2, 0]]), I32([1, 2]), np.array([3, 2]), I32(4), F32([]), types=None, label='below', error=True)
  op('SparseBincount', np.array([[0, 0], [1, 2]]), I32([1, 2]), np.array([3, 2]), I32(4), F32([]), types=None, label='beyond', error=True)
  op('RaggedBincount', np.array([0, 0, 1]), I32([1]), I32([1, 1]), F32([0, 0, 0]), types=None, label='sizes', error=True)
  for ids in ([0, 1, 2, 0], [0, 0, 0, -1], [0, 0, -1, 0], [-1, 0, 0, 1], [0, 2, 1, 1]):
    op('SegmentSum', np.ones([4, 2]), I32(ids), label='ids', error=True)
    op('SparseSegmentSum', np.ones([9, 2]), I32([8, 3, 0, 1]), I32(ids), label='ids', error=True)
    op('SparseSegmentSumWithNumSegments', np.ones([9, 2]), I32([8, 3, 0, 1]), I32(ids), I32(4), label='ids', error=True)
  op('SparseSegmentSum', np.ones([9, 2]), I32([8, 9]), I32([0, 1]), label='index', error=True)
  op('SparseSegmentSum', np.ones([9, 4]), np.array([1]), np.array([2**62 - 1]), label='huge', error=True)
  op('SparseSegmentMeanWithNumSegments', np.ones([9, 2]), I32([8, 1]), I32([0, 2]), I32(2), label='beyond', error=True)
  op('UnsortedSegmentSum', np.ones([2, 2]), I32([[1, 0], [1, 7]]), I32(2), label='matrix', error=True)
  op('UnsortedSegmentSum', np.array(5.0), I32(7), I32(2), label='scalar', error=True)
  for rows, columns in (([-10, 1, 2, 3], [1, 2, 3, 4]), ([10, 1, 2, 3], [1, 2, -3, 4])):
    op('FractionalAvgPoolGrad', np.array([2, 2, 2, 2]), np.arange(12.0).reshape(1, 2, 3, 2), np.array(rows), np.array(columns), label='negative', error=True)
  one = np.ones([1, 2, 2], np.int8)
  op('BatchMatMulV3', one, one, types=None, label='no_product', Tout=tf.float32, error=True)
  half = lambda *shape: np.zeros(shape, np.float16)
  op('LSTMBlockCell', half(2, 16), half(2, 0), half(2, 0), half(16, 0), half(0), half(0), half(0), half(0), types=None, label='nothing', error=True)
  at, v, shape = np.array([[0, 7], [1, 1]]), np.array([1, 1]), np.array([2, 2])
  op('SetSize', at, v, shape, types=None, label='beyond', validate_indices=False, error=True)
  op('SetSize', at, v, np.array(2), types=None, label='no_shape', error=True)
  op('SparseToSparseSetOperation', at, v, shape, at, v, shape, types=None, label='beyond', set_operation='union', validate_indices=False, error=True)


def sums():
  for equation in ('->...', '...->', '...->...'):
    op('Einsum', [np.array(3.0)], label='nothing', equation=equation, shapes=False)
  op('Einsum', [values('sum', 2)], label='nothing_in_dots', equation='i...->i', shapes=False)
  op('Einsum', [values('sum', 2)], label='nothing_summed', equation='i...->', shapes=False)
  op('Einsum', [values('sum', 2, 3)], label='no_dimensions', equation='ab->...b')


def normalized():
  v = lambda name, *shape: tf.constant(rng('normalized', name).uniform(0.1, 2, shape).round(3), tf.float32)
  for scale in (True, False):
    with script('BatchNormWithGlobalNormalization', 'scaled' if scale else 'plain', tolerance=(1e-4, 1e-5)) as s:
      test_util.set_producer_version(tf.get_default_graph(), 8)  # such graphs only
      x, m, var, beta, gamma, dy = v('x', 2, 3, 2, 4), v('m', 4), v('v', 4), v('beta', 4), v('gamma', 4), v('dy', 2, 3, 2, 4)
      kw = dict(variance_epsilon=0.001, scale_after_normalization=scale)
      y = tf.raw_ops.BatchNormWithGlobalNormalization(t=x, m=m, v=var, beta=beta, gamma=gamma, **kw)
      s.run([y] + list(tf.raw_ops.BatchNormWithGlobalNormalizationGrad(t=x, m=m, v=var, gamma=gamma, backprop=dy, **kw)))


def conjugated():
  for t in (tf.float32, tf.complex64):
    with script('Conj', t.name + '_matrix') as s:
      x = tf.constant([[0, 1 + 2j, 0], [3 - 1j, 0, 4]] if t.is_complex else [[0, 1, 0], [3, 0, 4.0]], t)
      csr = apply('DenseToCSRSparseMatrix', dense_input=x, indices=tf.where(tf.not_equal(x, tf.zeros_like(x))))[0]
      s.run(apply('CSRSparseMatrixToDense', sparse_input=apply('Conj', input=csr)[0], type=t)[0])


def cases():
  pools()
  convolutions()
  moved()
  chosen()
  cropped()
  regressions()
  raw()
  infinite()
  refused()
  normalized()
  sums()
  conjugated()
