# SPDX-License-Identifier: Apache-2.0
"""Blocks, dilations, pools, quantization, beams."""
import numpy as np

from cases.uncommon.common import I32, I64, distinct
from record import op, rng


def blocks():
  x = np.arange(2 * 4 * 2 * 3).reshape([2, 4, 2, 3]).astype(np.float32)
  op('SpaceToBatch', x, I32([[0, 0], [1, 1]]), types='all', block_size=2, const=(1,))
  op('SpaceToBatch', x, I32([[0, 1], [0, 0]]), block_size=2, label='indivisible', error=True)
  op('BatchToSpace', np.resize(x, [8, 2, 3, 1]), I32([[1, 0], [0, 2]]), types='all', block_size=2, const=(1,))
  op('BatchToSpace', np.resize(x, [6, 2, 3, 1]), I32([[1, 0], [0, 2]]), block_size=2, label='indivisible', error=True)
  op('BatchToSpace', np.resize(x, [4, 2, 3, 1]), I32([[3, 2], [0, 2]]), block_size=2, label='crops', error=True)


def dilations():
  for padding in ('SAME', 'VALID'):
    for strides, rates in (([1, 1, 1, 1], [1, 1, 1, 1]), ([1, 2, 1, 1], [1, 1, 2, 1])):
      label = '%s_%d%d' % (padding.lower(), strides[1], rates[2])
      op('Dilation2D', distinct(label, 2, 5, 6, 2), distinct(label + 'f', 2, 3, 2) * 0.37, types='all', label=label, strides=strides, rates=rates,
         padding=padding)
  one = dict(strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding='VALID')
  op('Dilation2D', np.zeros([1, 3, 3, 2]), np.zeros([2, 2, 3]), label='depth', error=True, **one)
  op('Dilation2D', np.zeros([1, 1, 3, 2]), np.zeros([2, 2, 2]), label='too_small', grad=False, **one)
  op('Dilation2DBackpropInput', distinct('i', 1, 4, 4, 1), distinct('f', 2, 2, 1), distinct('o', 1, 3, 3, 1), types=('float', 'int32', 'half'), grad=False, **one)
  op('Dilation2DBackpropFilter', distinct('i', 1, 4, 4, 1), distinct('f', 2, 2, 1), distinct('o', 1, 3, 3, 1), types=('float', 'int32', 'half'), grad=False, **one)
  op('Dilation2DBackpropFilter', distinct('i', 1, 4, 4, 1), distinct('f', 2, 2, 1), distinct('o', 1, 3, 2, 1), label='size', error=True, **one)


def quantized():
  x = np.array([[-1.7, -0.5, 0.1], [0.26, 0.9, 2.4]])
  name = 'QuantizeAndDequantizeV2'
  for signed in (True, False):
    for bits in (3, 8):
      op(name, x, -1.0, 2.0, types=('float', 'double'), label='s%d_%d' % (signed, bits), signed_input=signed, num_bits=bits, fd=False)
      op(name, x, -1.0, 2.0, label='range_s%d_%d' % (signed, bits), signed_input=signed, num_bits=bits, range_given=True, fd=False)
      op(name, x, -1.0, 2.0, label='up_s%d_%d' % (signed, bits), signed_input=signed, num_bits=bits, round_mode='HALF_UP', narrow_range=True, fd=False)
  op(name, x, np.zeros(3), np.zeros(3), label='axis', axis=1, num_bits=4, fd=False)
  op(name, x, 3.0, 2.0, label='reversed', range_given=True, error=True)
  op(name, x, -1.0, 2.0, label='bits', num_bits=63, error=True)
  op('QuantizeAndDequantizeV3', x, -1.0, 2.0, I32(5), types=('float', 'double'), fd=False)
  op('QuantizeAndDequantizeV3', x, [-1.0, -2, 0], [1.0, 2, 3], I32(5), label='axis', axis=1, fd=False)
  op('QuantizeAndDequantizeV3', x, -1.0, 2.0, I32(0), label='bits', error=True)
  op('QuantizeAndDequantizeV4', x, -1.0, 2.0, range_given=True, types=('float', 'double'), fd=False)
  op('QuantizeAndDequantizeV4Grad', x + 1, x, -1.0, 2.0, types=('float', 'double'), grad=False)
  op('QuantizeAndDequantizeV4Grad', x + 1, x, [-1.0, 0, 0.5], [2.0, 1, 1], label='axis', axis=1, grad=False)


def fractional():
  x = distinct('fractional', 2, 7, 8, 2)
  for name in ('FractionalMaxPool', 'FractionalAvgPool'):
    for pseudo in (False, True):
      for overlapping in (False, True):
        op(name, x, types=('float', 'double', 'int32', 'int64'), label='p%d_o%d' % (pseudo, overlapping), pooling_ratio=[1.0, 1.4, 1.7, 1.0],
           pseudo_random=pseudo, overlapping=overlapping, deterministic=True, seed=3, seed2=9, fd=False)
    op(name, x, label='even', pooling_ratio=[1.0, 7.0, 2.0, 1.0], deterministic=True, seed=1, fd=False)
    op(name, x, label='batch', pooling_ratio=[1.5, 1.0, 1.0, 1.0], error=True)
    op(name, x, label='small', pooling_ratio=[1.0, 8.0, 1.0, 1.0], error=True)
    op(name, x, label='seeds', pooling_ratio=[1.0, 1.5, 1.5, 1.0], seed=3, error=True)
    op(name, x[0], label='rank', pooling_ratio=[1.0, 1.5, 1.5, 1.0], deterministic=True, error=True)
  image, grad = distinct('image', 1, 4, 4, 1), distinct('grad', 1, 2, 2, 1)
  at = I64([0, 1, 4])
  for overlapping in (False, True):
    op('FractionalAvgPoolGrad', I64([1, 4, 4, 1]), grad, at, at, types=('float', 'int32'), label='o%d' % overlapping, overlapping=overlapping, grad=False)
  pooled = np.array([image[0, :1, :1].max(), image[0, :1, 1:].max(), image[0, 1:, :1].max(), image[0, 1:, 1:].max()]).reshape([1, 2, 2, 1])
  op('FractionalMaxPoolGrad', image, pooled, grad, at, at, types=('float', 'double'), grad=False)
  op('FractionalMaxPoolGrad', image, pooled + 1, grad, at, at, label='wrong', error=True)


def beams():
  logits = rng('beams').uniform(-2, 2, [6, 3, 5])
  for width, paths, merge in ((1, 1, True), (4, 1, False), (10, 3, True), (10, 2, False)):
    # TensorFlow computes doubles as floats here.
    op('CTCBeamSearchDecoder', np.float32(logits), I32([6, 0 if paths == 1 else 5, 3]), types=None, label='%d_%d_%d' % (width, paths, merge),
       beam_width=width, top_paths=paths, merge_repeated=merge)
  op('CTCBeamSearchDecoder', logits, I32([7, 1, 1]), beam_width=3, top_paths=1, label='too_long', error=True)
  op('CTCBeamSearchDecoder', logits, I32([1, 1, 1]), beam_width=3, top_paths=4, label='paths', error=True)
  op('CTCBeamSearchDecoder', logits, I32([1, 1, 0]), beam_width=3, top_paths=3, label='few', error=True)
  op('CTCBeamSearchDecoder', logits, I32([1, 1]), beam_width=3, top_paths=1, label='batch', error=True)
