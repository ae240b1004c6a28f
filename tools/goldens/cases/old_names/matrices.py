# SPDX-License-Identifier: Apache-2.0
"""Ops on matrices."""
import numpy as np

from cases.old_names.common import old_graph
from record import apply, op, rng, script, tf


def random_matrices(*shape):
  return rng('old_names', shape).uniform(-1, 1, shape) + (3 * np.eye(*shape[-2:]))


def symmetric(*shape):
  m = random_matrices(*shape)
  return np.matmul(m, np.swapaxes(m, -1, -2)) / 4


def matrices():
  kw = dict(producer=10, tolerance=(2e-4, 2e-4))
  both = ('float', 'double')
  a, b = random_matrices(2, 3, 3), random_matrices(2, 3, 5)[..., 3:]
  op('BatchCholesky', symmetric(2, 3, 3), types=both, **kw)
  op('BatchMatrixDeterminant', a, types=both + ('complex64', 'complex128'), **kw)
  op('BatchMatrixInverse', a, types=both, **kw)
  op('BatchMatrixInverse', a, label='adjoint', adjoint=True, **kw)
  for name in ('BatchMatrixSolve', 'BatchMatrixTriangularSolve'):
    op(name, a, b, types=both, **kw)
    op(name, a, b, label='adjoint', adjoint=True, **kw)
    op(name, a, b[:, :2], label='rows', error=True, **kw)
  op('BatchMatrixTriangularSolve', a, b, label='upper', lower=False, **kw)
  for fast in (True, False):
    op('BatchMatrixSolveLs', random_matrices(2, 4, 3), random_matrices(2, 4, 2), np.float64(0.5 if fast else 0), types=both, const=(2,), fast=fast, **kw)
  op('BatchMatrixSolveLs', a, b, np.float64(-1), label='negative', error=True, **kw)
  op('BatchMatrixInverse', np.zeros([2, 2, 2]), label='singular', error=True, **kw)
  op('BatchMatrixInverse', np.zeros([2, 2, 3]), label='square', error=True, **kw)
  op('BatchCholesky', np.zeros([2, 3]), label='square', error=True, **kw)
  op('BatchMatrixDeterminant', np.zeros([3]), label='rank', error=True, **kw)
  exponential = dict(producer=26, tolerance=(1e-4, 1e-4))
  op('MatrixExponential', a, types='all', **exponential)
  op('MatrixExponential', a * [[[-9]], [[0.01]]], types=('double',), label='sizes', **exponential)
  op('MatrixExponential', np.zeros([2, 0, 0]), label='empty', **exponential)
  op('MatrixExponential', np.zeros([2, 3]), label='square', error=True, **exponential)


def cholesky_gradients():
  for name, producer in (('CholeskyGrad', None), ('BatchCholeskyGrad', 10)):
    kw = dict(producer=producer, tolerance=(2e-4, 2e-4))
    grad = random_matrices(2, 3, 3)
    full = np.linalg.cholesky(symmetric(2, 3, 3)) + np.triu(np.ones([3, 3]), 1)  # what is above the diagonal does not count
    op(name, full, grad, types=('float', 'double'), **kw)
    op(name, np.linalg.cholesky(symmetric(40, 40)), random_matrices(40, 40), label='blocks', types=('double',), shapes=False, producer=producer)
    op(name, np.zeros([0, 0]), np.zeros([0, 0]), label='empty', **kw)
    op(name, np.eye(2), np.eye(3), label='sizes', error=True, **kw)
    op(name, np.ones([2, 3]), np.ones([2, 3]), label='square', error=True, **kw)
    op(name, full, grad[0], label='batch', error=True, **kw)


def eigenvalues():
  for t in (tf.float32, tf.float64):
    x = symmetric(2, 4, 4)
    again = lambda e, v: tf.matmul(v * tf.expand_dims(e, -2), v, adjoint_b=True)
    for name in ('SelfAdjointEig', 'BatchSelfAdjointEig'):
      with script(name, t.name, covers=[name], tolerance=(2e-4, 2e-4)) as s:
        old_graph(10)
        out = tf.ensure_shape(apply(name, input=tf.constant(x, t))[0], [2, 5, 4])
        s.run([out[:, 0, :], again(out[:, 0, :], out[:, 1:, :])])
    with script('BatchSelfAdjointEigV2', t.name, covers=['BatchSelfAdjointEigV2'], tolerance=(2e-4, 2e-4)) as s:
      old_graph(10)
      e, v = apply('BatchSelfAdjointEigV2', input=tf.constant(x, t)).outputs
      s.run([e, again(e, v), apply('BatchSelfAdjointEigV2', input=tf.constant(x, t), compute_v=False)[0]])
    with script('BatchSvd', t.name, covers=['BatchSvd'], tolerance=(2e-4, 2e-4)) as s:
      old_graph(10)
      u = tf.constant(random_matrices(2, 4, 3), t)
      svd, only = apply('BatchSvd', input=u), apply('BatchSvd', input=u, compute_uv=False)
      s.run([svd[0], tf.matmul(svd[1] * tf.expand_dims(svd[0], -2), svd[2], adjoint_b=True), only[0]])
  one = np.float32([[4.0]])
  for name in ('SelfAdjointEig', 'BatchSelfAdjointEig'):
    op(name, np.zeros([2, 0, 0]), label='empty', producer=10)
    op(name, one, label='one', producer=10)
    op(name, np.ones([2, 3]), label='square', error=True, producer=10)
  op('BatchSelfAdjointEigV2', np.ones([2, 3]), label='square', error=True, producer=10)
  op('BatchSvd', np.ones([2]), label='rank', error=True, producer=10)


def diagonals():
  kw = dict(producer=13)
  x = rng('old_names', 'diagonals').uniform(-9, 9, [2, 3, 4]).round(2)
  op('BatchMatrixDiag', x[0], types='all', **kw)
  op('BatchMatrixDiagPart', x, types='all', **kw)
  op('BatchMatrixSetDiag', x, x[:, 0, :3], types='all', **kw)
  op('BatchMatrixBandPart', x, np.int64(1), np.int64(0), types='all', const=(1, 2), **kw)
  op('BatchMatrixBandPart', x, np.int64(-1), np.int64(2), label='upper', const=(1, 2), **kw)
  op('BatchMatrixDiag', np.float32(1), label='scalar', error=True, **kw)
  op('BatchMatrixDiagPart', x[0, 0], label='vector', error=True, **kw)
  op('BatchMatrixSetDiag', x, x[:, 0], label='length', error=True, **kw)
  op('BatchMatrixBandPart', x, np.int64(4), np.int64(0), label='lower', error=True, **kw)
