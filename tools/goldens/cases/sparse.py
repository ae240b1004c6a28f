# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors, sets, and reductions over rows that are named."""
import numpy as np

from record import apply, convert, op, rng, script, tf

I32, I64 = np.int32, np.int64
INDICES = I64([[0, 1], [0, 3], [2, 0], [2, 2], [3, 1]])
SHAPE = I64([4, 5])
VALUES = np.array([1.5, -2, 3, 0.5, 4])
SOME = ('float', 'double', 'half', 'int32', 'int64', 'complex64', 'bool', 'string')


def moved():
  shuffled = [3, 0, 4, 2, 1]
  op('SparseReorder', INDICES[shuffled], VALUES[shuffled], SHAPE, types=SOME)
  op('SparseReorder', INDICES[[1, 0, 1]], VALUES[:3], SHAPE, label='repeated')
  op('SparseReorder', np.zeros([0, 2], I64), np.zeros([0]), SHAPE, label='empty')
  op('SparseReorder', INDICES[:2], VALUES, SHAPE, label='lengths', error=True)
  op('SparseReorder', INDICES, VALUES, SHAPE[:1], label='ranks', error=True)
  for shape in ([5, 4], [2, -1], [20], [1, 4, 5], [-1, 2, 5]):
    op('SparseReshape', INDICES, SHAPE, I64(shape), types=None, label='shapes')
  op('SparseReshape', I64([[0, 1], [1, 7], [3, 0]]), I64([2, 5]), I64([5, 2]), types=None, label='outside')
  op('SparseReshape', I64([[0, 1], [1, 7], [3, 0]]), I64([2, 5]), I64([2, -1]), types=None, label='same')
  op('SparseReshape', INDICES, SHAPE, I64([3, 7]), types=None, label='size', error=True)
  for indices, shape, bad in (([[0, 1]], [0], True), ([[0, 1]], [-1], True), ([[0, 1]], [3, 0, 2], True), ([[0, 1]], [0, 3], False), ([[0, 1]], [-1, 3], False),
                              (np.zeros([0, 2]), [0], False)):
    op('SparseReshape', I64(indices), I64([0, 3]), I64(shape), types=None, label='of_nothing', error=bad)
  op('SparseReshape', INDICES, SHAPE, I64([-1, -1]), types=None, label='two', error=True)
  op('SparseReshape', INDICES, SHAPE, I64([-2, 10]), types=None, label='negative', error=True)
  for start, size in (([0, 1], [3, 2]), ([2, 0], [9, 9]), ([1, 0], [1, 5])):
    op('SparseSlice', INDICES, VALUES, SHAPE, I64(start), I64(size), types=('float', 'string'), label='blocks', fd=False)
  for start, size in (([-1, 0], [2, 5]), ([-1, -1], [3, 3]), ([-5, 0], [2, 5]), ([2**62, -1], [2**62, 2**62]), ([-3, 0], [20, 20]), ([5, 0], [1, 1]),
                      ([-2, -2], [2**62, 2**63 - 1])):
    op('SparseSlice', INDICES, VALUES, SHAPE, I64(start), I64(size), types=('float',), label='outside', fd=False, grad=False)
  op('SparseSlice', INDICES, VALUES, SHAPE, I64([0, 0]), I64([-1, 2]), label='negative_size', error=True)
  op('SparseSlice', INDICES[:2], VALUES, SHAPE, I64([0, 0]), I64([1, 2]), label='lengths', error=True)
  op('SparseSlice', INDICES, VALUES, SHAPE, I64([0]), I64([1]), label='rank', error=True)
  op('SparseSliceGrad', np.array([1.0, 2]), INDICES, I64([0, 1]), I64([[0, 0], [2, 1]]), types=('float', 'int32'), grad=False)
  for dim in (0, 1, -1):
    op('SparseSplit', I64(dim), INDICES, VALUES, SHAPE, types=('float', 'int64', 'string'), label='dims', num_split=2, grad=False)
  op('SparseSplit', I64(1), INDICES, VALUES, SHAPE, label='three', num_split=3, grad=False)
  op('SparseSplit', I64(2), INDICES, VALUES, SHAPE, label='bad_dim', num_split=2, error=True)
  op('SparseSplit', I64(0), INDICES, VALUES, SHAPE, label='too_many', num_split=5, error=True)
  other = I64([[1, 0], [3, 4]])
  for dim in (0, 1, -1):
    op('SparseConcat', [INDICES, other], [VALUES, VALUES[:2]], [SHAPE, SHAPE], types=('float', 'string'), label='dims', concat_dim=dim, grad=False)
  op('SparseConcat', [INDICES, other], [VALUES, VALUES[:2]], [SHAPE, I64([5, 5])], label='shapes', concat_dim=1, error=True)
  op('SparseConcat', [INDICES, other], [VALUES, VALUES[:2]], [SHAPE, SHAPE], label='bad_dim', concat_dim=2, error=True)


def combined():
  b, bv = I64([[0, 1], [1, 1], [2, 2], [3, 4]]), np.array([2.0, 1, -0.5, 3])
  for t in ('float', 'double', 'int32', 'int64'):
    d = tf.as_dtype(t).as_numpy_dtype
    op('SparseAdd', INDICES, VALUES.astype(d), SHAPE, b, bv.astype(d), SHAPE, d(0), types=None, label=t)
    op('SparseAdd', INDICES, VALUES.astype(d), SHAPE, b, bv.astype(d), SHAPE, d(1), types=None, label=t + '_threshold')
  op('SparseAdd', INDICES, VALUES, SHAPE, b, bv, SHAPE, np.float32(0), label='grad', fd=False)
  op('SparseAdd', INDICES, VALUES, SHAPE, b, bv, SHAPE, np.float32(0), types=('complex64',), label='complex', fd=False)
  op('SparseAdd', INDICES, VALUES, SHAPE, b, bv, I64([4, 6]), np.float32(0), label='shapes', error=True)
  op('SparseAddGrad', np.array([1.0, 2, 3]), INDICES, b, I64([[0, 1], [1, 1], [3, 1]]), types=('float', 'int32'), grad=False)
  dense = np.arange(20.0).reshape(4, 5) / 4
  for name in ('SparseSparseMaximum', 'SparseSparseMinimum'):
    op(name, INDICES, VALUES, SHAPE, b, bv, SHAPE, types=('float', 'double', 'half', 'int32', 'int64'), grad=False)
    op(name, INDICES, VALUES, SHAPE, b, bv, I64([4, 6]), label='shapes', error=True)
  op('SparseTensorDenseAdd', INDICES, VALUES, SHAPE, dense, types=('float', 'double', 'half', 'int32', 'complex64'))
  op('SparseTensorDenseAdd', INDICES.astype(I32), VALUES, SHAPE.astype(I32), dense, label='int32')
  op('SparseTensorDenseAdd', INDICES, VALUES, SHAPE, dense[:3], label='shapes', error=True)
  op('SparseTensorDenseAdd', INDICES + 1, VALUES, SHAPE, dense, label='outside', error=True)
  for name in ('SparseDenseCwiseAdd', 'SparseDenseCwiseMul', 'SparseDenseCwiseDiv'):
    grad = name != 'SparseDenseCwiseAdd'
    op(name, INDICES, VALUES, SHAPE, dense + 1, types=('float', 'double', 'half', 'int32', 'int64'), grad=grad)
    op(name, INDICES, VALUES, SHAPE, dense[:1] + 1, label='row', grad=grad)
    op(name, INDICES, VALUES, SHAPE, dense[0] + 1, label='vector', grad=grad)
    op(name, INDICES, VALUES, SHAPE, dense[:, :1] + 1, label='column', grad=grad)
    op(name, INDICES, VALUES, SHAPE, dense[:2], label='shapes', error=True)
  m = rng('spmm').uniform(-1, 1, [5, 3])
  for t in ('float', 'double', 'half', 'bfloat16', 'int32', 'complex64', 'complex128'):
    op('SparseTensorDenseMatMul', INDICES, VALUES, SHAPE, 3 * m, types=(t,), const=(2,))
  for kw, y in ((dict(adjoint_a=True), m[:4]), (dict(adjoint_b=True), m.T), (dict(adjoint_a=True, adjoint_b=True), m[:4].T)):
    op('SparseTensorDenseMatMul', INDICES.astype(I32), VALUES, SHAPE, y, types=('float', 'complex64'), label='adjoint', **kw)
  op('SparseTensorDenseMatMul', INDICES, VALUES, SHAPE, m[:4], label='shapes', error=True)
  op('SparseTensorDenseMatMul', INDICES + 1, VALUES, SHAPE, m, label='outside', error=True)


def reduced():
  for name in ('SparseReduceSum', 'SparseReduceMax', 'SparseReduceSumSparse', 'SparseReduceMaxSparse'):
    grad = name == 'SparseReduceSum'
    for axes in ([0], [1], [-1], [0, 1], [], [1, 0]):
      for keep in (False, True):
        op(name, INDICES, VALUES, SHAPE, np.array(axes, I32), label='axes', keep_dims=keep, const=(2, 3), grad=grad and bool(axes))
    op(name, INDICES, VALUES, SHAPE, I32(0), types=('float', 'double', 'half', 'int32', 'int64', 'uint8'), grad=False)
    op(name, INDICES, VALUES, SHAPE, I32([2]), label='bad_axis', error=True)
  op('SparseReduceSum', INDICES, VALUES, SHAPE, I32(0), types=('complex64',), label='complex', grad=False)
  op('SparseSoftmax', INDICES, VALUES, SHAPE, types='all')
  op('SparseSoftmax', INDICES[:, :1], VALUES, SHAPE[:1], label='vector', error=True)
  op('SparseFillEmptyRows', INDICES, VALUES, SHAPE, np.array(9.0), types=SOME, fd=False)
  op('SparseFillEmptyRows', INDICES[[4, 0, 2]], VALUES[:3], SHAPE, np.array(9.0), label='unordered', grad=False)
  op('SparseFillEmptyRows', np.zeros([0, 2], I64), np.zeros([0]), I64([2, 3]), np.array(9.0), label='empty', grad=False)
  op('SparseFillEmptyRows', INDICES + 1, VALUES, SHAPE, np.array(9.0), label='outside', error=True)
  op('SparseFillEmptyRows', INDICES, VALUES, SHAPE, np.array([9.0]), label='vector', error=True)
  op('SparseFillEmptyRowsGrad', I64([0, 2, 4]), np.array([1.0, 2, 3, 4, 5]), types=('float', 'int32', 'complex64'), grad=False)
  op('SparseFillEmptyRowsGrad', I64([0, 5]), np.array([1.0, 2, 3]), label='outside', error=True)


def segments():
  data = rng('segment').uniform(-4, 4, [4, 3])
  for name in ('Sum', 'Mean', 'SqrtN'):
    full = 'SparseSegment' + name
    op(full, data, I32([0, 2, 2, 3]), I32([0, 0, 1, 3]), types='all')
    op(full, data, I64([0, 2]), I64([0, 1]), label='int64')
    op(full, data, np.zeros([0], I32), np.zeros([0], I32), label='none', grad=False)
    op(full, data, I32([0, 4]), I32([0, 1]), label='outside', error=True)
    op(full, data, I32([0, 1]), I32([1, 0]), label='order', error=True)
    op(full, data, I32([0, 1]), I32([1]), label='lengths', error=True)
    op(full + 'WithNumSegments', data, I32([0, 2, 2, 3]), I32([0, 0, 1, 3]), I32(6), types=('float', 'double', 'half'), const=(3,))
    op(full + 'WithNumSegments', data, I32([0, 2]), I32([0, 3]), I64(3), label='few', error=True)
    op(full + 'Grad', data[:3], I32([0, 2, 2, 3]), I32([0, 0, 1, 2]), I32(5), types='all', const=(3,), grad=False)
    op(full + 'Grad', data[:3], I32([0, 5]), I32([0, 1]), I32(5), label='outside', error=True)
    op(full + 'GradV2', data[:3], I32([3, 2, 2, 0]), I32([0, 0, 1, 2]), I32(5), types='all', grad=False)


def sets():
  a, b = np.array([[1, 2, 2, 9], [5, 3, 5, 5]]), np.array([[2, 7, 9, 9], [1, 1, 1, 4]])
  ai, bi = I64([[0, 0], [0, 2], [1, 0], [1, 1]]), I64([[0, 1], [0, 3], [1, 0]])
  av, bv, shape = np.array([4, 1, 3, 3]), np.array([1, 7, 3]), I64([2, 4])
  for how in ('a-b', 'b-a', 'intersection', 'union'):
    op('DenseToDenseSetOperation', a, b, types=('int64', 'int8', 'string') if how == 'union' else ('int32',), label=how.replace('-', ''), set_operation=how)
    op('DenseToSparseSetOperation', a, bi, bv, shape, types=('int32', 'string'), label=how.replace('-', ''), set_operation=how)
    op('SparseToSparseSetOperation', ai, av, shape, bi, bv, shape, types=('int64', 'string'), label=how.replace('-', ''), set_operation=how)
  op('DenseToDenseSetOperation', a, b[:1], types=('int32',), label='groups', set_operation='union', error=True)
  op('DenseToDenseSetOperation', a, b, types=('int32',), label='name', set_operation='xor', error=True)
  op('SparseToSparseSetOperation', ai[::-1], av, shape, bi, bv, shape, types=('int32',), label='order', set_operation='union', error=True)
  op('SetSize', ai, av, shape, types='all')
  op('SetSize', ai, av, I64([2, 1]), types=('int32',), label='outside', error=True)
  hi, ti = I64([[0, 0], [0, 1], [0, 2], [2, 0]]), I64([[0, 0], [0, 1], [1, 0], [2, 0]])
  for norm in (True, False):
    op('EditDistance', hi, np.array([1, 2, 3, 4]), I64([3, 3]), ti, np.array([1, 3, 5, 4]), I64([3, 2]), types=('int32', 'int64', 'string'), label='',
       normalize=norm, const=(2, 5))
  op('EditDistance', hi, np.array([1, 2, 3, 4]), I64([3, 3]), I64([[0, 0, 0]]), np.array([1]), I64([1, 1, 1]), types=('int32',), label='ranks', error=True)


def packed():
  for t in ('float', 'int64', 'string'):
    with script('SerializeSparse', t) as s:
      parts = parts_of(t)
      one = apply('SerializeSparse', **parts)[0]
      many = apply('SerializeManySparse', **parts)[0]
      s.run(apply('DeserializeSparse', serialized_sparse=one, dtype=tf.as_dtype(t)).outputs)
      both = tf.stack([one, one])
      s.run(apply('DeserializeSparse', serialized_sparse=both, dtype=tf.as_dtype(t)).outputs)
      s.run(apply('DeserializeManySparse', serialized_sparse=both, dtype=tf.as_dtype(t)).outputs)
      s.run(apply('DeserializeManySparse', serialized_sparse=many, dtype=tf.as_dtype(t)).outputs)
      s.run(apply('DeserializeManySparse', serialized_sparse=many, dtype=tf.float64).outputs, error=True)
      variant = apply('SerializeSparse', out_type=tf.variant, **parts)[0]
      s.run(apply('DeserializeSparse', serialized_sparse=variant, dtype=tf.as_dtype(t)).outputs)
    with script('AddSparseToTensorsMap', t) as s:
      handle = apply('AddSparseToTensorsMap', shared_name='m', **parts_of(t))[0]
      h = tf.placeholder(tf.int64, [None])
      s.run(apply('TakeManySparseFromTensorsMap', sparse_handles=tf.stack([handle]), dtype=tf.as_dtype(t), shared_name='m').outputs)
      many = apply('AddManySparseToTensorsMap', shared_name='n', **parts_of(t))[0]
      s.run(apply('TakeManySparseFromTensorsMap', sparse_handles=many, dtype=tf.as_dtype(t), shared_name='n').outputs)
      s.run(apply('TakeManySparseFromTensorsMap', sparse_handles=h, dtype=tf.as_dtype(t), shared_name='n').outputs, {h: [77]}, error=True)


def messages():
  for t in SOME:
    with script('SerializeTensor', t) as s:
      value = tf.constant(convert(np.array([[1.0, -2, 3], [4, 5, 0]]), t), tf.as_dtype(t))
      message = apply('SerializeTensor', tensor=value)[0]
      s.run(apply('ParseTensor', serialized=message, out_type=tf.as_dtype(t))[0])
  good = tf.make_tensor_proto(np.float32([[1, 2], [3, 4]])).SerializeToString()
  op('ParseTensor', np.array(good, object), types=None, out_type=tf.float32)
  op('ParseTensor', np.array(good, object), types=None, label='type', out_type=tf.int32, error=True)
  op('ParseTensor', np.array(b'\xff\xff', object), types=None, label='rubbish', out_type=tf.float32, error=True)
  op('ParseTensor', np.array([good], object), types=None, label='vector', out_type=tf.float32, error=True)


def parts_of(t):
  values = tf.constant(['s%d' % i for i in range(5)] if t == 'string' else VALUES.astype(tf.as_dtype(t).as_numpy_dtype))
  return dict(sparse_indices=tf.constant(INDICES), sparse_values=values, sparse_shape=tf.constant(SHAPE))


def products():
  a, b = rng('smm').uniform(-1, 1, [3, 4]) * ([[1, 0, 1, 0]] * 3), rng('smm', 2).uniform(-1, 1, [4, 5])
  for kw, x, y in (({}, a, b), (dict(transpose_a=True), a.T, b), (dict(transpose_b=True), a, b.T), (dict(transpose_a=True, transpose_b=True), a.T, b.T)):
    op('SparseMatMul', x.astype(np.float32), y.astype(np.float32), types=None, label='kinds', a_is_sparse=True, **kw)
  bf = tf.bfloat16.as_numpy_dtype
  op('SparseMatMul', a.astype(bf), b.astype(np.float32), types=None, label='mixed', tolerance=(1e-2, 1e-2))
  op('SparseMatMul', a.astype(np.float32), b[:3].astype(np.float32), types=None, label='shapes', error=True)


def cases():
  moved()
  combined()
  reduced()
  segments()
  sets()
  packed()
  messages()
  products()
