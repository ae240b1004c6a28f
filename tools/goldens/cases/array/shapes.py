# SPDX-License-Identifier: Apache-2.0
"""Shapes, and ops that keep the order of elements."""
import numpy as np

from cases.array.common import ALL, I32, I64, NUMBERS, X
from record import op, rng, tf


def shapes_of_things():
  for name in ('Shape', 'Size'):
    op(name, X, types=ALL)
    op(name, X, label='int64', out_type=np.int64)
    op(name, np.array(1.0), label='scalar')
    op(name, np.zeros([2, 0]), label='empty')
  op('ShapeN', [X, np.array(1.0), np.zeros([0, 2])], types=('float', 'int32'))
  op('ShapeN', [X, np.array(1.0)], label='int64', out_type=np.int64)
  op('Rank', X, types=ALL)
  op('Rank', np.array(1.0), label='scalar')
  for dtype in (I32, I64):
    for a, b in [([2, 3], [3]), ([], [4]), ([5, 1, 4], [3, 1]), ([0], [1]), ([1], [1, 1])]:
      op('BroadcastArgs', np.array(a, dtype), np.array(b, dtype), types=None, label='pairs', const=(0, 1))
      op('BroadcastGradientArgs', np.array(a, dtype), np.array(b, dtype), types=None, label='pairs')
  op('BroadcastGradientArgs', I32([2, 3]), I32([2, 3]), types=None, label='same')
  op('BroadcastArgs', I32([2, 3]), I32([4]), types=None, label='mismatch', error=True)
  op('BroadcastGradientArgs', I32([2, 3]), I32([4]), types=None, label='mismatch', error=True)
  op('BroadcastArgs', I32([[2, 3]]), I32([4]), types=None, label='matrix', error=True)
  op('BroadcastTo', np.array([[1.0], [2]]), I32([3, 2, 2]), types='all', const=(1,))
  op('BroadcastTo', np.array(5.0), I64([2, 3]), label='scalar')
  op('BroadcastTo', np.array([1.0, 2]), I32([2]), label='same', const=(1,))
  op('BroadcastTo', np.array([1.0, 2]), I32([0, 2]), label='empty', const=(1,))
  op('BroadcastTo', np.array([1.0, 2]), I32([3]), label='mismatch', error=True)
  op('BroadcastTo', np.array([[1.0, 2]]), I32([2]), label='fewer_dimensions', error=True)
  op('BroadcastTo', np.array([1.0, 2]), I32([-1, 2]), label='negative', error=True)
  op('ConcatOffset', I32(1), [I32([2, 3, 4]), I32([2, 7, 4]), I32([2, 1, 4])], types=None, const=(0, 1))
  op('ConcatOffset', I32(-1), [I64([2, 3]), I64([2, 5])], types=None, label='int64')
  op('ConcatOffset', I32(3), [I32([2, 3, 4]), I32([2, 7, 4])], types=None, label='bad_axis', error=True)
  op('ConcatOffset', I32(1), [I32([2, 3, 4]), I32([2, 7])], types=None, label='ranks', error=True)
  op('ConcatOffset', I32(1), [I32([2, 3, 4]), I32([3, 7, 4])], types=None, label='mismatch', error=True)


def same_elements():
  for name in ('Identity', 'StopGradient', 'PreventGradient'):
    op(name, X, types=ALL, grad=name == 'Identity')
    op(name, np.zeros([0, 2]), label='empty', grad=name == 'Identity')
  op('StopGradient', X, label='grad')
  op('IdentityN', [np.float32([1, 2]), np.array(['a'], object), np.int64(7)], types=None)
  op('IdentityN', [np.array([1.0, 2]), np.array(3.0)], types=None, label='doubles')
  op('PlaceholderWithDefault', X, types=ALL, attr='dtype', shape=[2, None, 4])
  for name in ('ZerosLike', 'OnesLike'):
    op(name, X, types='all')
    op(name, np.zeros([0, 2]), label='empty')
    op(name, np.array(3.0), label='scalar')
  for shape in ([6, 4], [-1], [2, -1, 2], [24], [1, 24, 1], [2, 3, 2, 2]):
    op('Reshape', X, np.array(shape, I32), label='shapes', const=(1,))
  op('Reshape', X, I64([4, -1]), types=ALL)
  op('Reshape', np.array([3.0]), np.zeros([0], I32), label='to_scalar', const=(1,))
  op('Reshape', np.zeros([0, 3]), I32([3, 0]), label='empty', const=(1,))
  op('Reshape', np.zeros([2, 0]), I32([-1, 2]), label='empty_unknown', const=(1,))
  op('Reshape', X, I32([5, 5]), label='wrong_size', error=True)
  op('Reshape', X, I32([5, -1]), label='not_divisible', error=True)
  op('Reshape', X, I32([-1, -1]), label='two_unknown', error=True)
  op('Reshape', X, I32([-2, 12]), label='negative', error=True)
  op('Reshape', X, I32([[2, 12]]), label='matrix', error=True)
  op('Reshape', np.zeros([0, 3]), I32([-1, 0]), label='zero_unknown')
  for axis in (0, 1, 2, 3, -1, -4):
    op('ExpandDims', X, I32(axis), label='axes', const=(1,))
  op('ExpandDims', X, I64([1]), types=ALL)
  op('ExpandDims', X, I32(4), label='bad_axis', error=True)
  op('ExpandDims', X, I32(-5), label='bad_negative_axis', error=True)
  op('ExpandDims', X, I32([1, 2]), label='two_axes', error=True)
  ones = X.reshape(1, 2, 1, 3, 4, 1)
  op('Squeeze', ones, types=ALL)
  for dims in ([0], [2, 5], [-1], [-6, 2]):
    op('Squeeze', ones, label='dims', squeeze_dims=dims)
  op('Squeeze', np.array([[3.0]]), label='to_scalar')
  op('Squeeze', ones, label='not_one', squeeze_dims=[1], error=True)
  op('Squeeze', ones, label='bad_axis', squeeze_dims=[6], error=True)
  op('EnsureShape', X, types=ALL, shape=[2, None, 4])
  op('EnsureShape', X, label='mismatch', shape=[2, 4, 4], error=True)
  op('EnsureShape', X, label='rank', shape=[2, 12], error=True)
  for to in ('int32', 'uint8', 'half', 'complex64', 'double'):
    x = np.array([[1, -2, 3, 4], [5, 6, -7, 0]], np.float32)
    op('Bitcast', x, types=None, label='to_' + to, type=tf.as_dtype(to)) if to != 'complex64' and to != 'double' else op(
        'Bitcast', x.reshape(2, 2, 2), types=None, label='to_' + to, type=tf.as_dtype(to))
  op('Bitcast', np.uint8([[1, 2, 3, 4], [5, 6, 7, 8]]), types=None, label='widen', type=tf.int32)
  op('Bitcast', np.uint8([1, 2, 3]), types=None, label='wrong_last', type=tf.int32, error=True)
  values = {'float': [-2.7, 0, 1.5, 3.99, 200.5], 'double': [-2.7, 0, 1.5, 3.99, 200.5], 'half': [-2.7, 0, 1.5, 3.99, 200.5],
            'bfloat16': [-2.7, 0, 1.5, 3.99, 200.5], 'complex64': [-2.5, 0, 1.5, 3.75], 'complex128': [-2.5, 0, 1.5, 3.75]}
  for source in NUMBERS + ('bool',):
    base = np.array(values.get(source, [-2, 0, 1, 3, 100]))
    unsigned = source.startswith('u') or source == 'bool'
    if unsigned:
      base = np.abs(base)
    for target in NUMBERS + ('bool',):
      x = base
      if target.startswith('u'):  # what C++ leaves undefined is left out
        x = np.abs(x)
      if target == 'int8':
        x = np.clip(x, -100, 100)
      op('Cast', x, types=(source,), attr='SrcT', label='to_' + target, DstT=tf.as_dtype(target), shapes=target == 'float',
         tolerance=(2e-5, 1e-6), fd=target == 'double')
  # To uint32 TensorFlow's results depend on where in the tensor a value stands.
  for target in ('int8', 'uint8', 'int16', 'uint16', 'int32', 'int64', 'uint64'):
    op('Cast', np.array([-5.5, -3e9, 1e19, 2e19, -1e20, np.nan, np.inf, -np.inf, 300.7, -129.2]), types=('float', 'double'), attr='SrcT',
       label='unfit_to_' + target, DstT=tf.as_dtype(target), grad=False)
  op('Cast', np.array([300.0, -300, 1e10, np.nan, np.inf]), types=('float',), attr='SrcT', label='special_to_double', DstT=tf.float64,
     grad=False)
  op('Cast', np.array([1e30, 70000, np.inf, np.nan, -1e39]), types=('double',), attr='SrcT', label='special_to_half', DstT=tf.float16,
     grad=False)
  op('Cast', np.array([1e300, 1.5, np.inf, np.nan]), types=('double',), attr='SrcT', label='special_to_float', DstT=tf.float32,
     grad=False)
  op('Cast', np.array([1.00390625, 3.14159, 1e-40]), types=('float',), attr='SrcT', label='truncate', DstT=tf.bfloat16, Truncate=True,
     grad=False)
  op('Cast', np.int32([300, -1, 65536]), types=None, attr='SrcT', label='wrap', DstT=tf.uint8)


def joined():
  a, b, c = X[:, :1], X, X[:, 1:]
  for name, order in (('ConcatV2', lambda axis, v: (v, axis)), ('Concat', lambda axis, v: (axis, v))):
    axis_at = 1 if name == 'ConcatV2' else 0
    op(name, *order(I32(1), [a, b, c]), types='all', const=(axis_at,))
    op(name, *order(I32(0), [X, X[:1]]), label='first', const=(axis_at,))
    op(name, *order(I32(2), [X, X[:, :, :1]]), label='last')
    op(name, *order(I32(1), [a, np.zeros([2, 0, 4]), c]), label='with_empty', const=(axis_at,))
    op(name, *order(I32(0), [np.zeros([0, 2]), np.zeros([0, 2])]), label='all_empty')
    op(name, *order(I32(1), [X, X[:1]]), label='mismatch', error=True)
    op(name, *order(I32(3), [X, X]), label='bad_axis', error=True)
    op(name, *order(I32(0), [X, X[0]]), label='ranks', error=True)
    op(name, *order(I32(0), [np.array(1.0), np.array(2.0)]), label='scalars', error=True)
  op('ConcatV2', [X, X], I64(-1), label='negative_axis', const=(1,), grad=False)
  op('ConcatV2', [X] * 13, I32(1), label='thirteen')
  for axis in (0, 1, 2, 3, -1, -4):
    op('Pack', [X, X + 1], label='axes', axis=axis)
  op('Pack', [X, X + 1, X + 2], types='all')
  op('Pack', [np.array(1.0), np.array(2.0)], label='scalars')
  op('Pack', [X], label='one', axis=1)
  op('Pack', [np.zeros([0, 2])] * 2, label='empty')
  op('Pack', [X, X[:1]], label='mismatch', error=True)
  op('Pack', [X, X], label='bad_axis', axis=4, error=True)
  for axis in (0, 1, 2, -1, -3):
    op('Unpack', X, label='axes', num=X.shape[axis], axis=axis)
  op('Unpack', X, types='all', num=3, axis=1)
  op('Unpack', np.array([1.0, 2]), label='vector', num=2)
  op('Unpack', np.zeros([0, 2]), label='none', num=0, grad=False)
  op('Unpack', np.zeros([2, 0]), label='empty', num=2)
  op('Unpack', X, label='wrong_num', num=4, axis=1, error=True)
  op('Unpack', X, label='bad_axis', num=2, axis=3, error=True)
  op('Split', I32(1), X, types='all', const=(0,), num_split=3)
  op('Split', I32(0), X, label='first', const=(0,), num_split=2)
  op('Split', I32(-1), X, label='last', num_split=2)
  op('Split', I32(0), X, label='one', num_split=1)
  op('Split', I32(0), np.zeros([0, 2]), label='empty', num_split=2)
  op('Split', I32(1), X, label='uneven', num_split=2, error=True)
  op('Split', I32(3), X, label='bad_axis', num_split=2, error=True)
  op('Split', I32([1, 2]), X, label='vector_axis', num_split=2, error=True)
  op('SplitV', X, I32([1, 2]), I32(1), types='all', const=(1, 2), num_split=2)
  op('SplitV', X, I64([3, -1]), I32(-1), label='rest', const=(1, 2), num_split=2)
  op('SplitV', X, np.int8([0, 2]), I32(0), label='int8', num_split=2)
  op('SplitV', X, I32([2]), I32(0), label='one', num_split=1)
  op('SplitV', X, I32([1, 1]), I32(1), label='too_short', num_split=2, error=True)
  op('SplitV', X, I32([-1, -1]), I32(1), label='two_rests', num_split=2, error=True)
  op('SplitV', X, I32([-2, 5]), I32(1), label='negative', num_split=2, error=True)
  op('SplitV', X, I32([1, 2]), I32(3), label='bad_axis', num_split=2, error=True)


def cut():
  for begin, size in [([0, 0, 0], [2, 3, 4]), ([1, 1, 1], [1, 2, 3]), ([0, 2, 0], [-1, -1, 2]), ([2, 0, 0], [0, 3, 4])]:
    op('Slice', X, np.array(begin, I32), np.array(size, I32), label='pieces', const=(1, 2))
  op('Slice', X, I64([0, 1, 2]), I64([2, 1, -1]), types='all')
  op('Slice', np.array(1.0), np.zeros([0], I32), np.zeros([0], I32), label='scalar')
  op('Slice', X, I32([0, 2, 0]), I32([2, 2, 4]), label='too_long', error=True)
  op('Slice', X, I32([-1, 0, 0]), I32([1, 1, 1]), label='negative_begin', error=True)
  op('Slice', X, I32([0, 0]), I32([1, 1]), label='short', error=True)
  op('Slice', X, I32([0, 0, 0]), I32([1, 1, -2]), label='negative_size', error=True)
  def strided(label, begin, end, strides, x=X, index=I32, **kw):
    op('StridedSlice', x, np.array(begin, index), np.array(end, index), np.array(strides, index), label=label,
       const=kw.pop('const', (1, 2, 3)), **kw)
  strided('', [0, 1], [2, 3], [1, 1], types='all')
  strided('plain', [0, 1, 1], [2, 3, 4], [1, 1, 2])
  strided('negative', [-1, -1, -1], [-3, -4, -5], [-1, -1, -2])
  strided('masks', [1, 1, 1], [1, 1, 1], [1, 1, 1], begin_mask=5, end_mask=7)
  strided('ellipsis', [0, 1], [0, 3], [1, 1], ellipsis_mask=1)
  strided('ellipsis_middle', [1, 0, 1], [2, 0, 3], [1, 1, 1], ellipsis_mask=2)
  strided('new_axis', [0, 0, 1], [0, 2, 3], [1, 1, 1], new_axis_mask=1)
  strided('new_axis_ellipsis', [0, 0, 0], [0, 0, 0], [1, 1, 1], ellipsis_mask=1, new_axis_mask=6)
  strided('shrink', [1, 0, 2], [2, 3, 3], [1, 1, 1], shrink_axis_mask=5)
  strided('shrink_negative', [-1], [0], [1], shrink_axis_mask=1)
  strided('shrink_all', [1, 2, 3], [2, 3, 4], [1, 1, 1], shrink_axis_mask=7)
  strided('beyond', [-100, 1], [100, 200], [1, 1])
  strided('nothing', [1, 2], [1, 1], [1, 1])
  strided('int64', [0, 2], [2, 0], [1, -1], index=I64, const=())
  strided('int16', [0, 1], [2, 3], [1, 1], index=np.int16, const=(), grad=False)
  strided('empty_input', [0], [5], [1], x=np.zeros([0, 2]))
  strided('zero_stride', [0], [2], [0], const=(), error=True)
  strided('shrink_out_of_range', [5], [6], [1], const=(), shrink_axis_mask=1, error=True)
  strided('too_many', [0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1], const=(), error=True)
  strided('two_ellipses', [0, 0], [1, 1], [1, 1], const=(), ellipsis_mask=3, error=True)
  op('StridedSlice', X, I32([0, 0]), I32([1]), I32([1, 1]), label='lengths', error=True)
  for kw, dy, begin, end, strides in [
      ({}, [2, 2, 4], [0, 1], [2, 3], [1, 1]), ({'shrink_axis_mask': 1}, [3, 4], [1], [2], [1]),
      ({'ellipsis_mask': 1}, [2, 3, 2], [0, 1], [0, 3], [1, 1]), ({}, [1, 3, 4], [-1], [0], [-1]),
      ({'new_axis_mask': 1}, [1, 2, 3, 4], [0], [0], [1]), ({'begin_mask': 1, 'end_mask': 1}, [1, 3, 4], [9], [9], [2])]:
    for index in (I32, I64):
      op('StridedSliceGrad', index([2, 3, 4]), index(begin), index(end), index(strides), rng('ssg').uniform(-1, 1, dy),
         label='forms', const=(0,), **kw)
  op('StridedSliceGrad', I32([3]), I32([0]), I32([2]), I32([1]), np.array([1.0, 2]), types='all', const=(0,))
  op('StridedSliceGrad', I32([3]), I32([0]), I32([2]), I32([1]), np.array([1.0, 2, 3]), label='mismatch', error=True)
