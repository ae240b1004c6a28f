# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pools over volumes; sequences without alignment (CTC)."""
import numpy as np

from record import op, rng

X = rng('volume').uniform(-2, 2, [2, 4, 5, 3, 2])
F = rng('volume', 'filter').uniform(-1, 1, [2, 3, 2, 2, 3])
FLOATS = ('float', 'double', 'half', 'bfloat16')
TOL = dict(tolerance=(2e-4, 2e-4), fd=False)
I32 = np.int32


def sizes(n, k, s, padding):
  return [-(-a // c) if padding == 'SAME' else (a - b) // c + 1 for a, b, c in zip(n, k, s)]


def volumes():
  for padding in ('SAME', 'VALID'):
    for s in ([1, 1, 1], [2, 1, 1], [2, 2, 2], [3, 3, 3]):
      kw = dict(strides=[1] + s + [1], padding=padding)
      out = sizes(X.shape[1:4], F.shape[:3], s, padding)
      dy = rng('volume', 'dy', padding, s).uniform(-1, 1, [2] + out + [3])
      op('Conv3D', X, F, label='strides', **kw, **TOL)
      op('Conv3DBackpropInputV2', I32(X.shape), F, dy, label='strides', const=(0,), **kw, **TOL)
      op('Conv3DBackpropFilterV2', X, I32(F.shape), dy, label='strides', const=(1,), **kw, **TOL)
      for k in ([2, 2, 2], [1, 3, 2]):
        pool = dict(kw, ksize=[1] + k + [1])
        result = sizes(X.shape[1:4], k, s, padding)
        g = rng('pool', 'dy', padding, s, k).uniform(-1, 1, [2] + result + [2])
        op('MaxPool3D', X, label='windows', **pool, **TOL)
        op('AvgPool3D', X, label='windows', **pool, **TOL)
        op('AvgPool3DGrad', I32(X.shape), g, label='windows', const=(0,), **pool, **TOL)
  kw = dict(strides=[1] * 5, padding='VALID')
  op('Conv3D', X, F, types=FLOATS[:2], **kw, grad=False)
  op('Conv3D', X, F, types=FLOATS[2:], **kw, label='narrow', tolerance=(0.03, 0.03), grad=False)
  op('MaxPool3D', X, types=('float', 'bfloat16'), ksize=[1, 2, 2, 2, 1], grad=False, **kw)
  op('AvgPool3D', X, types=('float', 'bfloat16'), ksize=[1, 2, 2, 2, 1], grad=False, tolerance=(1e-5, 1e-2), **kw)
  best = X[:, :3, :4, :2]
  op('MaxPool3DGrad', *[best.astype(np.float32)] * 3, types=None, ksize=[1] * 5, **kw)
  op('Conv3D', X, F[:, :, :, :1], label='channels', error=True, **kw)
  op('Conv3D', X[0], F, label='rank', error=True, **kw)
  op('MaxPool3D', X, label='channels', ksize=[1, 1, 1, 1, 2], error=True, **kw)
  op('AvgPool3DGrad', I32([2, 4, 5, 3]), X, label='shape', ksize=[1, 2, 2, 2, 1], error=True, **kw)


def sequences():
  x = rng('ctc').uniform(-2, 2, [6, 3, 5])
  indices, values = np.int64([[0, 0], [0, 1], [1, 0], [1, 1], [1, 2], [2, 0]]), I32([1, 2, 0, 0, 3, 2])
  lengths = I32([6, 5, 3])
  for kw in ({}, dict(preprocess_collapse_repeated=True), dict(ctc_merge_repeated=False)):
    op('CTCLoss', x, indices, values, lengths, types=('float',), label='kinds', fd=False, **kw)
    op('CTCLoss', x, indices, values, lengths, types=('double',), label='wide', fd=False, tolerance=(0.05, 0.1), **kw)  # logarithms are floats
  short = I32([6, 2, 3])
  op('CTCLoss', x, indices, values, short, label='short', error=True)
  op('CTCLoss', x, indices, values, short, label='ignored', ignore_longer_outputs_than_inputs=True, fd=False)
  op('CTCLoss', x, indices, values, I32([6, 7, 3]), label='too_long', error=True)
  op('CTCLoss', x, indices, values[:4], lengths, label='lengths', error=True)
  for kw in ({}, dict(merge_repeated=True), dict(blank_index=0)):
    op('CTCGreedyDecoder', x, lengths, types=('float', 'double'), label='kinds', grad=False, **kw)
  op('CTCGreedyDecoder', x, I32([6, 7, 3]), label='too_long', error=True)
  op('CTCGreedyDecoder', x, lengths[:2], label='batch', error=True)


def cases():
  volumes()
  sequences()
