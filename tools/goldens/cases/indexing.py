# SPDX-License-Identifier: Apache-2.0
"""Ops that find, place and rearrange elements: rolls, scatters, diagonals, searches, sums over named dimensions."""
import numpy as np

from cases.state import c
from record import apply, op, rng, script, tf

X = np.arange(24, dtype=float).reshape(2, 3, 4) - 7
I32, I64 = np.int32, np.int64
SOME = ('float', 'double', 'half', 'bfloat16', 'int8', 'int32', 'int64', 'uint16', 'complex64', 'complex128', 'bool', 'string')


def moved():
  op('ReverseSequence', X, I64([3, 2]), types=SOME, seq_dim=1)
  op('ReverseSequence', X, I32([0, 4, 3]), label='last', seq_dim=2, batch_dim=1)
  op('ReverseSequence', X, I32([2, 1, 0]), label='first', seq_dim=0, batch_dim=1)
  op('ReverseSequence', X, I64([2, 0, 1, 2]), label='time_major', seq_dim=0, batch_dim=2)
  for label, lengths, kw in (('short', [1], {}), ('negative', [1, -1], {}), ('too_long', [1, 4], {}), ('same', [1, 2], dict(batch_dim=1)),
                             ('bad_dim', [1, 2], dict(batch_dim=3))):
    op('ReverseSequence', X, I64(lengths), label=label, seq_dim=1, error=True, **kw)
  op('Roll', X, I32(1), I32(1), types=SOME)
  op('Roll', X, I64([1, -2, 3]), I32([0, 2, 2]), label='axes')
  op('Roll', X, I32([-7, 5]), I64([-3, 1]), label='beyond', const=(1, 2))
  op('Roll', np.zeros([0, 2]), I32(1), I32(0), label='empty')
  op('Roll', X, I32([1, 2]), I32([0]), label='lengths', error=True)
  op('Roll', X, I32(1), I32(3), label='bad_axis', error=True)
  op('Roll', np.array(1.0), I32(1), I32(0), label='scalar', error=True)


def found():
  op('ListDiff', np.array([1.0, 2, 3, 2, 5]), np.array([2.0, 7]), types='all')
  op('ListDiff', np.array([1.0, 2]), np.zeros([0]), label='int64', out_idx=np.int64)
  op('ListDiff', np.array([[1.0]]), np.zeros([0]), label='matrix', error=True)
  m = np.array([[1.0, 2, 1], [3, 4, 3], [1, 2, 1]])
  for name in ('UniqueV2', 'UniqueWithCountsV2'):
    op(name, np.array([4.0, 1, 4, 2, 1]), np.zeros([0], I64), types='all', const=(1,))
    op(name, m, I32([0]), types=('float', 'int64', 'string'), label='rows', const=(1,))
    op(name, m, I64([1]), label='columns', out_idx=np.int64)
    op(name, m, I64([-1]), label='negative')
    op(name, m, np.zeros([0], I64), label='matrix', error=True)
    op(name, m, I64([2]), label='bad_axis', error=True)
    op(name, m, I64([0, 1]), label='two_axes', error=True)
  s = np.array([[1.0, 3, 3, 5, 9], [0, 0, 2, 4, 4]])
  v = np.array([[3.0, 0, 10], [4, 0, 1]])
  for name in ('LowerBound', 'UpperBound'):
    op(name, s, v, types='all')
    op(name, s, v, label='int64', out_type=np.int64)
    op(name, s, v[:1], label='rows', error=True)
    op(name, s[0], v[0], label='vectors', error=True)
  for t in (I32, I64):
    op('UnravelIndex', t([22, 41, 37]), t([7, 6]), types=None, label=np.dtype(t).name)
  op('UnravelIndex', I32(1621), I32([6, 7, 8, 9]), types=None, label='scalar')
  op('UnravelIndex', I32([42]), I32([7, 6]), types=None, label='out_of_range', error=True)
  op('UnravelIndex', I32([1]), I32([0, 6]), types=None, label='zero', error=True)
  n = np.array([[5.0, 1, 3, 3], [2, 8, 0, 7]])
  op('NthElement', n, I32(1), types='all', const=(1,), fd=False)
  op('NthElement', n, I32(0), label='reverse', reverse=True)
  op('NthElement', n, I32(4), label='too_large', error=True)
  op('NthElement', n, I32(-1), label='negative', error=True)
  op('Bucketize', np.array([[-1.0, 0, 5], [10, 100, 150]]), types='all', boundaries=[0, 10, 100])
  op('Bucketize', np.array([1.0, 2]), label='none', boundaries=[])
  op('Bucketize', np.array([1.0, 2]), label='unsorted', boundaries=[2, 1], error=True)
  h = np.array([-1.0, 0, 1, 2, 2, 5, 15, 4.99])
  for t in ('float', 'double', 'int32', 'int64'):
    op('HistogramFixedWidth', h, np.array([0.0, 5]), I32(5), types=(t,), const=(2,))
  op('HistogramFixedWidth', h, np.array([0.0, 5]), I32(3), label='int64', dtype=np.int64)
  op('HistogramFixedWidth', h, np.array([5.0, 0]), I32(3), label='range', error=True)
  op('HistogramFixedWidth', h, np.array([0.0, 5]), I32(0), label='no_bins', error=True)


def scattered():
  r = rng('scatter_nd').uniform(-1, 1, [2, 4])
  for name in ('TensorScatterUpdate', 'TensorScatterAdd', 'TensorScatterSub', 'TensorScatterMin', 'TensorScatterMax', 'ScatterNdNonAliasingAdd'):
    op(name, X, I32([[0, 2], [1, 1]]), 5 * r, types='all')
    op(name, X, I64([[1, 2, 3], [0, 0, 0]]), np.array([1.0, -20]), label='elements')
    if name != 'TensorScatterUpdate':
      op(name, X[0], I32([[1], [1]]), r, label='twice', fd='M' not in name)
    op(name, X, np.zeros([0, 1], I32), np.zeros([0, 3, 4]), label='none')
    op(name, X, I32([[0, 3]]), r[:1], label='out_of_range', error=True)
    op(name, X, I32([[0, 3], [1, 0]]), r, label='ignored', bad_indices_policy='IGNORE', grad=False)
    op(name, X, I32([[0, 1]]), r[:, :2], label='shape', error=True)
  for name in ('Update', 'Add', 'Sub', 'Min', 'Max'):
    types = ('float', 'double', 'half', 'int32', 'int64') + (() if name in ('Min', 'Max') else ('complex64',))
    for t in types:
      with script('ScatterNd' + name, t) as s:
        v = tf.Variable(c(X, t), use_resource=False, name='v')
        i = tf.placeholder(tf.int32, [2, 2])
        out = apply('ScatterNd' + name, ref=v._ref(), indices=i, updates=c(3 * r, t))[0]
        s.run(targets=v.initializer)
        s.run(out, {i: [[0, 2], [1, 1]]})
        s.run(tf.identity(v), {i: [[0, 2], [1, 1]]})
        s.run(out, {i: [[0, 2], [2, 1]]}, error=True)
      with script('ResourceScatterNd' + name, t) as s:
        v = tf.Variable(c(X, t), use_resource=True, name='v')
        i = tf.placeholder(tf.int64, [2, 2])
        out = apply('ResourceScatterNd' + name, ref=v.handle, indices=i, updates=c(3 * r, t)).op
        s.run(targets=out, feeds={i: [[0, 2], [1, 1]]}, error=True)
        s.run(targets=v.initializer)
        s.run(targets=out, feeds={i: [[0, 2], [1, 1]]})
        s.run(v.read_value())
        s.run(targets=out, feeds={i: [[0, -1], [1, 1]]}, error=True)
  with script('ScatterNdUpdate', 'string') as s:
    v = tf.Variable(tf.constant(['a', 'b', 'c']), use_resource=False, name='v')
    out = apply('ScatterNdUpdate', ref=v._ref(), indices=tf.constant([[2], [0]]), updates=tf.constant(['x', 'y']))[0]
    s.run(targets=v.initializer)
    s.run(out)
  with script('ResourceGatherNd', '') as s:
    v = tf.Variable(c(X, 'float'), use_resource=True, name='v')
    i = tf.placeholder(tf.int32, [2, 2])
    out = apply('ResourceGatherNd', resource=v.handle, indices=i, dtype=tf.float32)[0]
    s.run(targets=v.initializer)
    s.run(out, {i: [[0, 2], [1, 1]]})
    s.run(out, {i: [[0, 3], [1, 1]]}, error=True)
  op('InplaceUpdate', X, I32([1]), X[:1], types=('float', 'int32', 'string'))
  op('InplaceAdd', X, I32([1, -1]), X, types=('float', 'int64'))
  op('InplaceSub', X, I32([1, 1]), X, types=('float', 'int64'))
  op('InplaceAdd', X, I32([1]), X, label='shape', error=True)
  op('DeepCopy', X, types=('float', 'int32'))
  op('Empty', I32([2, 3]), types=('float', 'int32', 'string', 'bool'), attr='dtype', init=True, const=(0,))
  op('Empty', I32([2, -3]), types=('float',), attr='dtype', label='negative', error=True)
  op('GuaranteeConst', X, types=('float', 'string'))
  with script('ParallelConcat', '') as s:
    rows = [tf.placeholder(tf.float32, [1, 2]) for _ in range(3)]
    s.run(apply('ParallelConcat', values=rows, shape=[3, 2])[0], {r: [[i, i + .5]] for i, r in enumerate(rows)})


def diagonals():
  m = np.arange(24.0).reshape(2, 3, 4) + 1
  aligns = ('LEFT_LEFT', 'LEFT_RIGHT', 'RIGHT_LEFT', 'RIGHT_RIGHT')
  zero = np.array(0.0)
  # Gradients of V2 with several diagonals are wrong in TensorFlow: they take the alignment of V3.
  for k in (I32(0), I32(1), I32(-2), I32([-1, 2]), I32([0, 1]), I32([-2, -1]), I32([1])):
    op('MatrixDiagPartV2', m, k, zero, label='k', const=(1, 2), grad=k.size < 2)
    for align in aligns[:4 if k.size == 2 else 1]:
      op('MatrixDiagPartV3', m, k, np.array(9.0), label='k', const=(1,), align=align)
    n = m[..., :3] if k.size == 2 and k[0] != k[1] else m[:, 0, :3]
    if k.size == 2:
      n = np.resize(m, [2, k[1] - k[0] + 1, 3])
    op('MatrixDiagV2', n, k, I32(-1), I32(-1), np.array(9.0), label='k', const=(1, 2, 3), grad=k.size < 2)
    for align in aligns[:4 if k.size == 2 else 1]:
      op('MatrixDiagV3', n, k, I32(-1), I32(-1), zero, label='k', const=(1, 2, 3), align=align)
    lower, upper = (int(k.ravel()[0]), int(k.ravel()[-1]))
    length = min(3 + min(upper, 0), 4 - max(lower, 0))
    d = -np.resize(m, [2] + ([upper - lower + 1] if upper > lower else []) + [length])
    op('MatrixSetDiagV2', m, d, k, label='k', const=(2,), grad=k.size < 2)
    for align in aligns[:4 if k.size == 2 else 1]:
      op('MatrixSetDiagV3', m, d, k, label='k', const=(2,), align=align)
  for v in ('V2', 'V3'):
    op('MatrixDiagPart' + v, m, I32([-1, 0]), zero, types='all')
    op('MatrixDiag' + v, m[:, 0], I32(1), I32(-1), I32(-1), zero, types='all')
    op('MatrixSetDiag' + v, m, m[:, :2, :3], I32([0, 1]), types='all')
    op('MatrixDiagPart' + v, m, I32(4), zero, label='out_of_range', error=True)
    op('MatrixDiagPart' + v, m, I32([1, 0]), zero, label='order', error=True)
    op('MatrixDiagPart' + v, m, I32([0, 1, 2]), zero, label='three', error=True)
    op('MatrixDiag' + v, m[:, 0], I32(0), I32(3), I32(-1), zero, label='rows', error=True)
    op('MatrixDiag' + v, m[:, 0], I32(0), I32(5), I32(5), zero, label='both', error=True)
    op('MatrixDiag' + v, m[:, 0], I32(0), I32(4), I32(6), zero, label='sizes', const=(1, 2, 3))
    op('MatrixDiag' + v, m[:, 0], I32([0, 2]), I32(4), I32(6), zero, label='lines', error=True)
    op('MatrixSetDiag' + v, m, m[:, :2, :2], I32([0, 1]), label='shape', error=True)


def sums():
  a, b = rng('einsum').uniform(-1, 1, [2, 3, 4]), rng('einsum', 2).uniform(-1, 1, [2, 4, 5])
  for types, eq, args in [
      ('all', 'bij,bjk->bik', [a, b]), (None, 'bij,bjk->bki', [a, b]), (None, 'ij,jk->ik', [a[0], b[0]]), (None, 'ij,jk->', [a[0], b[0]]),
      (None, 'bij,bjk->ik', [a, b]), (None, 'bij,ckj->bick', [a, np.swapaxes(b, 1, 2)]), (None, 'ij,kl->ijkl', [a[0], b[0]]),
      (None, '...ij,...jk->...ik', [a, b[0]]), (None, '...ij,...jk->...ik', [a[:1], b]), (None, 'ij,...jk->...ik', [a[0], b]),
      (None, 'i...,j...->ij...', [a[0, :2], a[0, 1:]]), (None, 'ij->ji', [a[0]]), (None, 'ijk->k', [a]), (None, 'ijk->kj', [a]),
      (None, 'ii->i', [a[0, :, :3]]), (None, 'ii->', [a[0, :, :3]]), (None, 'i->ii', [a[0, 0]]), (None, '...ij->...ji', [a]),
      (None, 'iij,jk->ik', [np.resize(a, [3, 3, 4]), b[0]]), (None, 'ij,jk->iik', [a[0], b[0]]), (None, 'abc,ad->bd', [a, b[:, 0]]),
      (None, 'ij,ij->ij', [a[0], a[1]]), (None, 'ij,ij->', [a[0], a[1]]), (None, 'i,i->', [a[0, 0], a[1, 1]]), (None, 'aij,ik->jk', [a, np.resize(b, [3, 2])]),
      (None, '->', [np.array(2.0)]), (None, ',i->i', [np.array(2.0), a[0, 0]]), (None, 'i...->...', [a])]:
    op('Einsum', args, types=types or ('float',), label='forms' if types is None else '', equation=eq,
       tolerance=(1e-4, 1e-5) if types is None else (3e-4, 3e-4))
  op('Einsum', [a, b], types=('complex64',), label='complex', equation='bij,bjk->bki', tolerance=(1e-4, 1e-5))
  op('Einsum', [np.zeros([2, 0]), np.zeros([0, 3])], label='empty', equation='ij,jk->ik')
  for eq, args in [('ij,jk->ik', [a[0], b[0, :3]]), ('ij->ij', [a]), ('ii->i', [a[0]]), ('...ij->ij', [a])]:
    op('Einsum', args, label='wrong', equation=eq, error=True)
  op('Cross', X[:, :, :3], X[:, :, 1:] * [1, -1, 2], types='all')
  op('Cross', X, X, label='four', error=True)
  op('Cross', X[0, :, :3], X[1, 0, :3], label='shape', error=True)
  x = rng('cumlog').uniform(-2, 2, [2, 3, 2])
  for kw in ({}, dict(exclusive=True), dict(reverse=True), dict(exclusive=True, reverse=True)):
    op('CumulativeLogsumexp', x, I32(1), label='kinds', const=(1,), fd=not kw.get('exclusive'), tolerance=(1e-5, 1e-5), **kw)
  op('CumulativeLogsumexp', x, I64(0), types='all')
  op('CumulativeLogsumexp', x, I32(3), label='bad_axis', error=True)
  for t in ('float', 'double', 'int32', 'int64', 'complex64'):
    d = tf.as_dtype(t).as_numpy_dtype
    op('BatchMatMulV3', (3 * a).astype(d), (3 * b).astype(d), types=None, label=t, Tout=tf.as_dtype(t))
  op('BatchMatMulV3', (3 * a).astype(np.float32), (3 * b).astype(np.float32), types=('float',), attr='Tout', label='grad', adj_x=False)
  op('BatchMatMulV3', (9 * a).astype(np.int8), (9 * b).astype(np.int8), types=None, label='int8', Tout=tf.int32)
  op('BatchMatMulV3', np.abs(9 * a).astype(np.uint8), (9 * b).astype(np.int8), types=None, label='mixed', Tout=tf.int32)


def elements():
  op('Erfinv', np.array([-0.999, -0.7, -0.3, 0, 1e-3, 0.5, 0.9, 0.99999]), types='all', fd=False)
  op('Erfinv', np.array([-1.0, 1, 2, np.nan]), label='edges', grad=False)
  op('Ndtri', np.array([1e-30, 1e-5, 0.02, 0.3, 0.5, 0.77, 0.99, 0.99999]), types='all', fd=False, tolerance=(1e-5, 1e-6))
  op('Ndtri', np.array([0.0, 1, -1, np.nan]), label='edges', grad=False)
  op('NextAfter', np.array([0.0, 1, -1, 5]), np.array([1.0, 0, 3, 5]), types='all', fd=False)
  op('NextAfter', np.array([[0.0], [1]]), np.array([1.0, 0, 3]), label='broadcast', fd=False)
  op('PopulationCount', np.array([0.0, 1, 3, 127, 64]), types='all')
  with script('Timestamp', '') as s:
    s.run(tf.greater(apply('Timestamp')[0], 1e9))
  op('PopulationCount', np.array([-1, 5]), types=('int8', 'int32', 'int64'), label='negative')


def cases():
  moved()
  found()
  scattered()
  diagonals()
  sums()
  elements()
