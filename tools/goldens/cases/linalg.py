# SPDX-License-Identifier: Apache-2.0
"""Matrices and Fourier's transforms."""
import numpy as np

from record import apply, op, rng, script, tf

F = ('float', 'double', 'complex64', 'complex128')
TOL = dict(tolerance=(2e-4, 2e-4))


def square(*shape, t='float'):
  r = rng('linalg', shape)
  m = r.uniform(-1, 1, shape)
  if t.startswith('complex'):
    m = m + 1j * r.uniform(-1, 1, shape)
  return m + 3 * np.eye(shape[-1])


def hermitian(*shape, t='float'):
  m = square(*shape, t=t)
  return np.matmul(m, np.conj(np.swapaxes(m, -1, -2))) / 4


def factors():
  for t in F:
    grad = t in ('float', 'double')
    op('Cholesky', hermitian(2, 3, 3, t=t), types=(t,), grad=grad, fd=False, **TOL)
    op('Lu', square(2, 3, 3, t=t), types=(t,), grad=False, **TOL)
    for shape in ((2, 4, 3), (2, 3, 4), (3, 3)):
      m = square(5, 5, t=t)[:shape[-2], :shape[-1]] * np.ones(shape)
      for full in (False, True):
        if not full:
          op('Qr', m, types=(t,), label='shapes', full_matrices=full, grad=False, **TOL)
        with script('Svd', '%s_%d%d_%d' % (t, shape[-2], shape[-1], full)) as s:
          x = tf.constant(m.astype(tf.as_dtype(t).as_numpy_dtype))
          svd = apply('Svd', input=x, full_matrices=full)
          only = apply('Svd', input=x, compute_uv=False)
          k = min(shape[-2:])
          again = tf.matmul(svd[1][..., :k] * tf.expand_dims(svd[0], -2), svd[2][..., :k], adjoint_b=True)
          s.run([svd[0], again, tf.matmul(svd[1], svd[1], adjoint_a=True), tf.matmul(svd[2], svd[2], adjoint_a=True), only[0]])
    with script('SelfAdjointEigV2', t) as s:
      x = tf.constant(hermitian(2, 4, 4, t=t).astype(tf.as_dtype(t).as_numpy_dtype))
      eig = apply('SelfAdjointEigV2', input=x)
      s.run([eig[0], tf.matmul(eig[1] * tf.expand_dims(eig[0], -2), eig[1], adjoint_b=True), apply('SelfAdjointEigV2', input=x, compute_v=False)[0]])
  op('Qr', square(3, 3), label='full', full_matrices=True, grad=False, **TOL)
  op('Lu', square(3, 3), label='int64', output_idx_type=np.int64, grad=False, **TOL)
  op('Cholesky', np.ones([3, 4]), label='shape', error=True)
  op('Lu', np.zeros([2, 2]), label='singular', error=True)
  op('SelfAdjointEigV2', np.ones([3, 4]), label='shape', error=True)
  op('Qr', np.ones([3]), label='rank', error=True)


def solved():
  for t in F:
    grad = t != 'complex128'
    a, b = square(2, 3, 3, t=t), square(5, 5, t=t)[:3, :2] * np.ones([2, 3, 2])
    for adjoint in (False, True):
      op('MatrixInverse', a, types=(t,), adjoint=adjoint, grad=grad, fd=t == 'double', **TOL)
      op('MatrixSolve', a, b, types=(t,), adjoint=adjoint, grad=grad, fd=t == 'double', **TOL)
      for lower in (False, True):
        op('MatrixTriangularSolve', a, b, types=(t,), adjoint=adjoint, lower=lower, grad=grad, fd=t == 'double', **TOL)
    op('MatrixDeterminant', a, types=(t,), grad=grad, fd=t == 'double', **TOL)
    op('LogMatrixDeterminant', a * [[[1]], [[-1]]], types=(t,), grad=t in ('float', 'double'), fd=False, **TOL)
    for fast in (False, True):
      for m, y in ((square(5, 5, t=t)[:, :3], square(5, 5, t=t)[:, :2]), (square(5, 5, t=t)[:3], square(5, 5, t=t)[:3, :2])):
        op('MatrixSolveLs', m, y, np.float64(0.5 if fast else 0), types=(t,), fast=fast, grad=False, **TOL)
  a, b = square(3, 3), square(5, 5)[:3, :2]
  op('MatrixTriangularSolve', square(2, 3, 3), b, label='broadcast', fd=False, **TOL)
  op('MatrixTriangularSolve', a, b * np.ones([2, 1, 3, 2]), label='broadcast_rhs', fd=False, **TOL)
  for name in ('MatrixSolve', 'MatrixTriangularSolve'):
    op(name, a, b[:2], label='rows', error=True)
    if name == 'MatrixSolve':
      op(name, np.zeros([3, 3]), b, label='singular', error=True)
    else:
      op(name, np.eye(3) * [1, 0, 1], np.abs(b), label='singular', grad=False)
    op(name, np.ones([3, 4]), b, label='square', error=True)
  op('MatrixInverse', np.zeros([2, 2]), label='singular', error=True)
  op('MatrixInverse', np.zeros([2, 3]), label='square', error=True)
  op('MatrixDeterminant', np.zeros([2, 2]), label='zero', grad=False)
  op('MatrixDeterminant', np.zeros([2, 3]), label='square', error=True)
  op('MatrixInverse', np.zeros([0, 2, 2]), label='empty', grad=False)


def transformed():
  r = rng('fft')
  for rank, suffix in ((1, ''), (2, '2D'), (3, '3D')):
    for n in ((4,), (6,), (5,)):
      x = r.uniform(-1, 1, (2,) + (3, 4)[:rank - 1] + n)
      z = x + 1j * r.uniform(-1, 1, x.shape)
      for t in ('complex64', 'complex128'):
        op('FFT' + suffix, z, types=(t,), attr='Tcomplex', label='n%d' % n, fd=False, **TOL)
        op('IFFT' + suffix, z, types=(t,), attr='Tcomplex', label='n%d' % n, fd=False, **TOL)
      lengths = np.array(x.shape[-rank:], np.int32)
      for t in ('float', 'double'):
        wide = tf.complex64 if t == 'float' else tf.complex128
        op('RFFT' + suffix, x, lengths, types=(t,), attr='Treal', label='n%d' % n, Tcomplex=wide, const=(1,), fd=False, grad=rank < 3, **TOL)
      half = z[..., :z.shape[-1] // 2 + 1]
      op('IRFFT' + suffix, half.astype(np.complex64), lengths, types=('complex64',), attr='Tcomplex', label='n%d' % n, const=(1,), fd=False, grad=rank < 3, Treal=tf.float32, **TOL)
      op('IRFFT' + suffix, half.astype(np.complex128), lengths, types=('complex128',), attr='Tcomplex', label='n%d' % n, const=(1,), grad=False, Treal=tf.float64, **TOL)
  x = r.uniform(-1, 1, [2, 5])
  for n in (3, 4, 8):
    op('RFFT', x, np.int32([n]), attr='Treal', label='length%d' % n, grad=False, error=n > 5, **TOL)
    op('IRFFT', x + 0.5j * x[:, ::-1], np.int32([n]), types=('complex64',), attr='Tcomplex', label='length', grad=False, **TOL)
  op('IRFFT', x + 0.5j, np.int32([10]), types=('complex64',), attr='Tcomplex', label='too_long', error=True)
  op('RFFT', x, np.int32([3, 3]), attr='Treal', label='lengths', error=True)
  op('FFT2D', np.ones([3]), types=('complex64',), attr='Tcomplex', label='rank', error=True)


def sizes(x):
  """Squares of absolute values: the same whatever signs or phases vectors have."""
  return tf.math.real(x * tf.math.conj(x))


def gradients_of_factors():
  for t in ('double', 'complex128'):
    for m, n in ((4, 3), (3, 4), (3, 3)):
      value = (square(5, 5, t=t)[:m, :n] * np.array([1, 1.3]).reshape([2, 1, 1])).astype(tf.as_dtype(t).as_numpy_dtype)
      label = '%s_gradient_%d%d' % (t, m, n)
      with script('Svd', label, covers=['Svd'], tolerance=(2e-4, 2e-4)) as s:
        x = tf.placeholder(t, value.shape)
        values, u, v = apply('Svd', input=x)
        only = apply('Svd', input=x, compute_uv=False)[0]
        ys = [tf.math.real(values * only), sizes(u), sizes(v), sizes(tf.matmul(u, v, adjoint_b=True))]
        s.run(ys, {x: value})
        s.gradients(ys, [x], {x: value})
      with script('Qr', label, covers=['Qr'], tolerance=(2e-4, 2e-4)) as s:
        x = tf.placeholder(t, value.shape)
        q, r = apply('Qr', input=x)
        ys = [tf.math.real(q), tf.math.imag(r) + tf.math.real(r) if t == 'complex128' else r]
        s.run(ys, {x: value})
        s.gradients(ys, [x], {x: value})
    with script('Eig', t + '_gradient', covers=['Eig'], tolerance=(2e-4, 2e-4)) as s:
      value = (square(3, 3, t=t) + np.diag([0, 2, 5])).astype(tf.as_dtype(t).as_numpy_dtype)
      x = tf.placeholder(t, value.shape)
      e, v = apply('Eig', input=x, Tout=tf.complex128)
      only = apply('Eig', input=x, Tout=tf.complex128, compute_v=False)[0]
      ys = [tf.math.real(e * only), tf.math.imag(e), sizes(v)]
      s.run(ys, {x: value})
      s.gradients(ys, [x], {x: value})
  for m, n in ((5, 3), (3, 5)):
    for l2 in (0.0, 0.3):
      with script('MatrixSolveLs', 'gradient_%d%d_%d' % (m, n, l2 * 10), covers=['MatrixSolveLs'], tolerance=(2e-4, 2e-4)) as s:
        a, b = square(2, 5, 5)[:, :m, :n], square(2, 5, 5)[:, 5 - m:, :2]
        x, y = tf.placeholder('double', a.shape), tf.placeholder('double', b.shape)
        z = apply('MatrixSolveLs', matrix=x, rhs=y, l2_regularizer=tf.constant(l2, tf.float64))[0]
        s.run([z], {x: a, y: b})
        s.gradients([z], [x, y], {x: a, y: b})


def cases():
  factors()
  solved()
  gradients_of_factors()
  transformed()
