# SPDX-License-Identifier: Apache-2.0
"""Element-wise maths, reductions, matrix products, segments, comparisons, ranges."""
import numpy as np

from record import apply, op, rng, script, tf

NAN, INF = np.nan, np.inf
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-20, 1e20, INF, -INF, NAN]

# op -> (values for the sweep, whether their derivative can be checked by differences)
UNARY = {
    'Abs': ([-2.5, -1, 0.5, 1, 3, -0.25], True), 'Neg': ([-2.5, -1, 0.5, 1, 3, 0], True),
    'Square': ([-2.5, -1, 0.5, 1, 3, 0], True), 'Sign': ([-2.5, -1, 0.5, 1, 3, -0.25], True),
    'Exp': ([-2.5, -1, 0.5, 1, 3, 0], True), 'Expm1': ([-2.5, -1, 0.5, 1, 3, 1e-3], True),
    'Sin': ([-2.5, -1, 0.5, 1, 3, 0], True), 'Cos': ([-2.5, -1, 0.5, 1, 3, 0], True),
    'Tan': ([-1.2, -1, 0.5, 1, 3, 0], True), 'Tanh': ([-2.5, -1, 0.5, 1, 3, 0], True),
    'Sigmoid': ([-2.5, -1, 0.5, 1, 3, 0], True), 'Erf': ([-2.5, -1, 0.5, 1, 3, 0], True),
    'Atan': ([-2.5, -1, 0.5, 0.9, 3, 0.1], True), 'Asin': ([-0.9, -0.5, 0.1, 0.25, 0.75, 0.5], True),
    'Acos': ([-0.9, -0.5, 0.1, 0.25, 0.75, 0.5], True), 'Floor': ([-2.5, -1.25, 0.5, 1.75, 3.1, -0.25], True),
    'Ceil': ([-2.5, -1.25, 0.5, 1.75, 3.1, -0.25], True), 'Rint': ([-2.5, -1.5, 0.5, 1.75, 3.1, 2.5], False),
    'Round': ([-2.5, -1.5, 0.5, 1.75, 3.1, 2.5], False), 'Log': ([0.25, 1, 2, 3.5, 10, 0.1], True),
    'Log1p': ([0.25, 1, 2, -0.5, 10, 1e-3], True), 'Sqrt': ([0.25, 1, 2, 3.5, 10, 4], True),
    'Rsqrt': ([0.25, 1, 2, 3.5, 10, 4], True), 'Reciprocal': ([0.25, 1, -2, 3.5, 10, -0.1], True),
    'Inv': ([0.25, 1, -2, 3.5, 10, -0.1], True), 'Lgamma': ([0.25, 1.5, 2.5, -3.5, 10, 4.25], True),
    'Digamma': ([0.25, 1.5, 2.5, -3.5, 10, 4.25], True), 'IsFinite': (SPECIAL, False),
    'IsInf': (SPECIAL, False), 'IsNan': (SPECIAL, False), 'Sinh': ([-2.5, -1, 0.5, 1, 3, 0], True),
    'Cosh': ([-2.5, -1, 0.5, 1, 3, 0], True), 'Asinh': ([-2.5, -1, 0.5, 1, 3, 0], True), 'Acosh': ([1.25, 1.5, 2, 3, 10, 1.125], True),
    'Atanh': ([-0.9, -0.5, 0.1, 0.25, 0.75, 0.5], True), 'Erfc': ([-2.5, -1, 0.5, 1, 3, 0], True),
}
UNARY_GRAD = ['InvGrad', 'ReciprocalGrad', 'RsqrtGrad', 'SqrtGrad', 'SigmoidGrad', 'TanhGrad']
LOOSE = {'Digamma': (1e-4, 1e-5), 'Lgamma': (1e-4, 1e-5), 'Zeta': (1e-4, 1e-6), 'Tan': (2e-5, 1e-6)}


def pattern(n, low=-3.0, high=3.0, period=257):
  """Many elements that compress well, for the vector and parallel paths."""
  return np.resize(np.linspace(low, high, period), n)


def unary():
  for name, (values, smooth) in UNARY.items():
    values = np.array(values)
    tolerance = LOOSE.get(name)
    # TensorFlow's Round of integers gives zeros: not recorded.
    types = ('float', 'double', 'half', 'bfloat16') if name == 'Round' else 'all'
    op(name, values.reshape(2, -1) if values.size % 2 == 0 else values, types=types, fd=smooth, tolerance=tolerance)
    op(name, values[0], label='scalar', fd=smooth, tolerance=tolerance)
    op(name, np.zeros([2, 0, 3]), label='empty')
    op(name, np.resize(values, [1, 2, 1, 3, 1, 2, 1]), label='rank7', grad=False, tolerance=tolerance)
    if name not in ('Lgamma', 'Digamma'):
      types = ('float',) if name in ('Erf', 'Erfc') else ('float', 'double')  # TensorFlow's erf of infinity is NaN in double
      op(name, np.array(SPECIAL), types=types, label='special', grad=False, tolerance=tolerance)
    low, high = (values.min(), 5) if values.min() > 0 else (-0.95, 0.95) if name in ('Asin', 'Acos', 'Atanh') else (-3, 3)
    op(name, pattern(5003, low, high), types=('float', 'double'), label='many', grad=False,
       tolerance=tolerance or (1e-4, 1e-5))
  for name in UNARY_GRAD:
    y, dy = np.array([[0.25, 0.5, -0.75], [0.9, -0.1, 0.6]]), np.array([[1.0, -2, 0.5], [3, 1, -1]])
    op(name, np.abs(y) if name == 'RsqrtGrad' else y, dy, types='all')
    op(name, np.zeros([0]), np.zeros([0]), label='empty')
    op(name, np.ones([2]), np.ones([3]), label='mismatch', error=True)
    op(name, pattern(2003, 0.1, 0.9), pattern(2003), label='many', grad=False)
  for name in ('Real', 'Imag', 'Angle', 'ComplexAbs'):
    z = np.array([[1 + 2j, -3 - 0.5j, 2j], [-1 + 1j, 3 + 0j, 0.5 - 4j]])
    op(name, z, types=('complex64',), Tout=np.float32)
    op(name, z, types=('complex128',), Tout=np.float64)
    op(name, np.zeros([0, 2], np.complex64), types=None, label='empty', Tout=np.float32)
  op('Conj', np.array([1 + 2j, -3 - 0.5j, 2j]), types=('complex64', 'complex128'))
  re, im = np.array([[1.0, -2, 3]]), np.array([[0.5], [4]])
  op('Complex', re, im, types=('float',), Tout=np.complex64)
  op('Complex', re, im, types=('double',), Tout=np.complex128)
  op('Complex', np.ones(2), np.ones(3), types=('float',), label='mismatch', Tout=np.complex64, error=True)
  op('LogicalNot', np.array([True, False, True]), types=None)
  op('LogicalNot', np.zeros([0], bool), types=None, label='empty')
  op('CheckNumerics', np.array([1.0, -2, 0]), types='all', message='all is well')
  for bad in (NAN, INF, -INF):
    op('CheckNumerics', np.array([1.0, bad]), message='here', label='bad', error=True)


A = np.array([[7.0, -7, 3.5], [-2, 5, 9]])
B = np.array([[2.0, 2, -1.5], [3, -3, 4]])
ARITHMETIC = ['Add', 'AddV2', 'Sub', 'Mul', 'Div', 'RealDiv', 'FloorDiv', 'FloorMod', 'TruncateDiv', 'TruncateMod',
              'Mod', 'Maximum', 'Minimum', 'SquaredDifference', 'DivNoNan', 'MulNoNan', 'Atan2', 'Xlog1py', 'Xdivy', 'Xlogy', 'Pow']
COMPARE = ['Equal', 'NotEqual', 'Less', 'LessEqual', 'Greater', 'GreaterEqual']
STEPS = {'FloorDiv', 'FloorMod', 'TruncateDiv', 'TruncateMod', 'Mod'}  # no useful derivative by differences


def broadcasts(name, **kw):
  r = rng(name)
  def values(*shape):
    return r.choice([0.5, 1.25, 2.0, 3.5, 4.75, 6.0], size=shape)
  for label, a, b in [('row', (2, 3), (3,)), ('column', (2, 3), (2, 1)), ('outer', (3, 1), (1, 4)),
                      ('scalar_left', (), (2, 2)), ('scalar_right', (2, 2), ()), ('scalars', (), ()),
                      ('empty', (0, 3), (1, 3)), ('empty_scalar', (2, 0), ()), ('rank5', (2, 1, 2, 1, 3), (1, 2, 1, 2, 1)),
                      ('rank8_ones', (2, 1, 2, 1, 2, 1, 2, 1), (1, 1, 2)), ('one_element', (1,), (4,))]:
    op(name, values(*a), values(*b) + 0.125, label=label, fd=name not in STEPS, **kw)


def binary():
  for name in ARITHMETIC + COMPARE:
    op(name, A, np.abs(B) if name in ('Pow', 'Xlog1py') else B, types='all', fd=name not in STEPS,
       grad=name not in ('Pow',) and name != 'Xlogy')
    broadcasts(name)
    op(name, np.ones([2]), np.ones([3]), label='mismatch', error=True)
    op(name, np.ones([2, 3]), np.ones([2, 4]), label='mismatch2', error=True)
    op(name, pattern(5003, 0.5, 5), pattern(5003, 1, 4, 101), types=('float', 'double'), label='many', grad=False,
       tolerance=(1e-4, 1e-5))
    op(name, pattern(4 * 1201, 0.5, 5).reshape(4, 1201), pattern(1201, 1, 4, 101), label='many_row', grad=False,
       tolerance=(1e-4, 1e-5))
    op(name, pattern(4 * 1201, 0.5, 5).reshape(1201, 4), pattern(1201, 1, 4, 101).reshape(1201, 1), label='many_column',
       grad=False, tolerance=(1e-4, 1e-5))
  for name in ('Maximum', 'Minimum', 'AddV2', 'Mul', 'Div', 'RealDiv', 'Xdivy', 'Xlogy', 'DivNoNan', 'Pow') + tuple(COMPARE):
    pairs = [(a, b) for a in (0.0, 1.0, -1.0, INF, -INF, NAN) for b in (0.0, 2.0, INF, -INF, NAN)]
    op(name, np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs]), types=('float', 'double'),
       label='special', grad=False)
  op('Pow', np.array([0.5, 2.0, 1.5]), np.array([2.0, -1.5, 0.0]), types=('float', 'double'), label='smooth')
  op('Pow', np.array([0.0, -2.0, 0.0]), np.array([2.0, 3.0, 0.5]), types=('float',), label='edges', fd=False)
  op('Pow', np.array([2, 3]), np.array([2, -1]), types=('int32', 'int64'), label='negative', error=True)
  op('Xlogy', np.array([0.5, 2, 1.5]), np.array([3.0, 0.5, 2]), types=('float', 'double'), label='smooth')
  op('Xlogy', np.array([0.0]), np.array([2.0]), label='zero', fd=False)
  tiny = np.array([1e-7, 1e-7 + 1e-8j, -3e-9])  # TensorFlow loses digits of others in Log1p
  for name, inputs in (('Log1p', [tiny]), ('Expm1', [tiny]), ('Xlog1py', [np.ones(3), tiny])):
    op(name, *inputs, types=('complex64', 'complex128'), label='near_zero', grad=False, tolerance=(1e-5, 1e-15))
  for name in ('Xlogy', 'Xlog1py', 'Xdivy'):
    r = rng('rounded', name)
    x, y = r.uniform(0.1, 9, 200), r.uniform(0.01, 40, 200)
    for dtype in (tf.float16, tf.bfloat16):
      with script(name, 'bits_' + dtype.name) as s:
        s.run(tf.bitcast(apply(name, x=tf.constant(x, dtype), y=tf.constant(y, dtype))[0], tf.int16))
  op('Polygamma', np.array([[1.0, 2], [3, 4]]), np.array([0.75, 2.5]), types='all', tolerance=LOOSE['Zeta'], fd=False)
  op('Zeta', np.array([[1.5, 2], [3, 4.5]]), np.array([1.0, 2.5]), types='all', tolerance=LOOSE['Zeta'], grad=False)
  op('Zeta', np.array([2.0, 3]), np.array([1.5, 2.5]), types=('float', 'double'), label='grad', tolerance=LOOSE['Zeta'],
     fd=False)
  for name in ('Div', 'FloorDiv', 'FloorMod', 'TruncateDiv', 'TruncateMod', 'Mod'):
    op(name, np.array([4, 5]), np.array([2, 0]), types=('int32', 'int64'), label='by_zero', error=True)
  big = np.iinfo(np.int32)
  for name in ('AddV2', 'Sub', 'Mul', 'SquaredDifference'):
    op(name, np.array([big.max, big.min, 65536], np.int32), np.array([1, -1, 65537], np.int32), types=None, label='wrap')
  for name in ('FloorDiv', 'FloorMod', 'TruncateDiv', 'TruncateMod'):
    op(name, np.array([7, -7, 7, -7, 6, -6]), np.array([3, 3, -3, -3, 3, -3]), types=('int32', 'int64', 'float'),
       label='signs', grad=False)
  op('Add', np.array(['a', 'b'], object), np.array(['x'], object), types=None, label='strings')
  op('Equal', np.array(['a', 'b'], object), np.array(['a', 'c'], object), types=None, label='strings')
  for name in ('Equal', 'NotEqual'):
    op(name, np.ones([2]), np.ones([3]), label='unequal_shapes', incompatible_shape_error=False, unknown=True)
  for name in ('BitwiseAnd', 'BitwiseOr', 'BitwiseXor', 'LeftShift', 'RightShift'):
    op(name, np.array([[5, -3, 64], [100, 0, -128]]), np.array([1, 3, 2]), types='all')
    op(name, np.array([5]), np.array([1, 2, 3]), types=('int32',), label='broadcast')
    op(name, np.array([5, 6]), np.array([1, 2, 3]), types=('int32',), label='mismatch', error=True)
  op('Invert', np.array([5, -3, 64, 0]), types='all')
  for name in ('LogicalAnd', 'LogicalOr'):
    op(name, np.array([[True], [False]]), np.array([True, False, True]), types=None)
    op(name, np.array([True, False]), np.array([True, False, True]), types=None, label='mismatch', error=True)
    op(name, np.zeros([0], bool), np.array(True), types=None, label='empty')


def reductions():
  x = np.array([[[1.5, -2], [3, 4], [0.5, -1]], [[2, 2.5], [-3, 1], [1.25, 6]]])
  for name in ('Sum', 'Mean', 'Prod', 'Max', 'Min', 'EuclideanNorm'):
    op(name, x, np.int32([1]), types='all', const=(1,), tolerance=(2e-5, 1e-5))
    for label, axes in [('none', []), ('all', [0, 1, 2]), ('first', [0]), ('last', [-1]), ('outer', [0, 2]),
                        ('inner', [1, 2]), ('first_two', [0, 1])]:
      op(name, x, np.array(axes, np.int32), label=label, const=(1,), fd=label != 'none' or name != 'EuclideanNorm')
      op(name, x, np.array(axes, np.int64), label=label + '_keep', keep_dims=True)
    op(name, x, np.int32(1), label='scalar_axis', const=(1,))
    op(name, np.array(3.5), np.zeros([0], np.int32), label='scalar', const=(1,))
    op(name, np.zeros([2, 0, 3]), np.int32([1]), label='empty', const=(1,), grad=False)
    op(name, np.zeros([0, 3]), np.int32([1]), label='empty_out', const=(1,), grad=False)
    op(name, x, np.int32([3]), label='bad_axis', error=True)
    op(name, x, np.int32([-4]), label='bad_negative_axis', error=True)
    op(name, x, np.int32([0, 0]), label='twice', error=True)
    op(name, pattern(40 * 211, 0.5, 1.5).reshape(40, 211), np.int32([1]), label='many_rows', grad=False, tolerance=(1e-4, 1e-5))
    op(name, pattern(40 * 211, 0.5, 1.5).reshape(211, 40), np.int32([0]), label='many_columns', grad=False, tolerance=(2e-3, 1e-5))
    op(name, pattern(7 * 9 * 11 * 13, 0.9, 1.1).reshape(7, 9, 11, 13), np.int32([1, 3]), label='many_middle', grad=False,
       tolerance=(1e-4, 1e-5))
    op(name, np.resize(x, [2, 1, 2, 1, 2, 1, 2]), np.int32([0, 3, 6]), label='rank7', const=(1,), grad=False)
  for name in ('Max', 'Min'):
    op(name, np.array([[1.0, 3, 3], [2, 2, 2]]), np.int32([1]), label='ties', fd=False)
    op(name, np.array([[1.0, NAN], [INF, -INF]]), np.int32([1]), types=('float', 'double'), label='special', grad=False)
  for name in ('Sum', 'Mean', 'Prod'):
    op(name, np.array([[1.0, NAN], [INF, -INF], [INF, 1]]), np.int32([1]), label='special', grad=False)
  op('Prod', np.array([[1.0, 0, 3], [0, 0, 2]]), np.int32([1]), types=('float', 'double'), label='zeros')
  op('Mean', np.array([[7, 8], [-7, -8]]), np.int32([1]), types=('int32', 'int64'), label='truncates')
  b = np.array([[[True, False], [True, True]], [[False, False], [True, True]]])
  for name in ('All', 'Any'):
    for axes in ([], [0], [-1], [0, 2], [0, 1, 2]):
      op(name, b, np.array(axes, np.int32), types=None, label='axes', const=(1,))
    op(name, b, np.array([1], np.int64), types=None, label='keep', keep_dims=True)
    op(name, np.zeros([0, 2], bool), np.int32([0]), types=None, label='empty')
    op(name, b, np.int32([3]), types=None, label='bad_axis', error=True)
  for name in ('ArgMax', 'ArgMin'):
    op(name, x, np.int32(1), types='all', const=(1,))
    for out in (np.int32, np.int64):
      op(name, x, np.int64(-1), label='last', output_type=out, const=(1,))
    op(name, np.array([[1.0, 3, 3], [2, 2, 2]]), np.int32(1), label='ties')
    op(name, np.array([1.0, NAN, 5]), np.int32(0), label='nan')
    op(name, np.zeros([0, 3]), np.int32(1), label='empty_out')
    op(name, np.zeros([0, 3]), np.int32(0), label='empty', error=True)
    op(name, x, np.int32(3), label='bad_axis', error=True)
    op(name, x, np.int32([0]), label='vector_axis', error=True)
    op(name, np.array(1.0), np.int32(0), label='scalar', error=True)
  op('ArgMax', x, np.int32(1), label='uint16_out', output_type=np.uint16)
  op('ArgMax', x, np.int32(1), label='int16_out', output_type=np.int16)
  for name in ('Cumsum', 'Cumprod'):
    op(name, x, np.int32(1), types='all', const=(1,), fd=True)
    for exclusive in (False, True):
      for reverse in (False, True):
        op(name, x, np.int32(-1), label='flags', exclusive=exclusive, reverse=reverse)
    op(name, x, np.int64(0), label='axis0')
    op(name, np.array(2.0), np.int32(0), label='scalar', error=True)
    op(name, np.zeros([2, 0]), np.int32(0), label='empty')
    op(name, x, np.int32(3), label='bad_axis', error=True)
    op(name, x, np.int32([0]), label='vector_axis', error=True)


def products():
  a, b = np.array([[1.0, -2, 3], [0.5, 4, -1]]), np.array([[2.0, 1], [-1, 0.5], [3, 2]])
  op('MatMul', a, b, types=[t for t in ('float', 'double', 'half', 'bfloat16', 'int32', 'int64', 'complex64', 'complex128')])
  for ta in (False, True):
    for tb in (False, True):
      op('MatMul', a.T if ta else a, b.T if tb else b, types=('float', 'double', 'complex64'), label='transposed', transpose_a=ta,
         transpose_b=tb)
  op('MatMul', np.zeros([0, 3]), np.ones([3, 2]), label='no_rows')
  op('MatMul', np.zeros([2, 0]), np.ones([0, 2]), label='no_inner')
  op('MatMul', np.ones([1, 1]), np.ones([1, 1]), label='ones')
  op('MatMul', a, a, label='mismatch', error=True)
  op('MatMul', a[0], b, label='vector', error=True)
  op('MatMul', np.ones([1, 2, 3]), b, label='rank3', error=True)
  r = rng('matmul')
  m, n = r.choice([-1, -0.5, 0.25, 0.5, 2], [37, 65]), r.choice([-1, -0.5, 0.25, 0.5, 2], [65, 29])
  for ta in (False, True):
    for tb in (False, True):
      op('MatMul', m.T if ta else m, n.T if tb else n, types=('float', 'double'), label='many', transpose_a=ta, transpose_b=tb,
         grad=False, tolerance=(1e-4, 1e-4))
  op('MatMul', m[:1], n, label='one_row', grad=False, tolerance=(1e-4, 1e-4))
  op('MatMul', m, n[:, :1], label='one_column', grad=False, tolerance=(1e-4, 1e-4))
  x, y = r.choice([-1, 0.5, 2, 3], [2, 3, 2, 3]), r.choice([-1, 0.5, 2, 3], [2, 3, 3, 4])
  op('BatchMatMulV2', x, y, types='all')
  op('BatchMatMul', x, y, types='all')
  op('BatchMatMul', x, np.swapaxes(y, 2, 3), label='adjoint', types=('float', 'complex64'), adj_y=True)
  op('BatchMatMul', x, y[:, :2], label='mismatch', error=True)
  for ax in (False, True):
    for ay in (False, True):
      op('BatchMatMulV2', np.swapaxes(x, 2, 3) if ax else x, np.swapaxes(y, 2, 3) if ay else y,
         types=('float', 'complex64'), label='adjoint', adj_x=ax, adj_y=ay)
  op('BatchMatMulV2', x, y[0, 0], label='broadcast_matrix', types=('float', 'double'))
  op('BatchMatMulV2', x[:, :1], y[:1], label='broadcast_both', types=('float', 'double'))
  op('BatchMatMulV2', x[0, 0], y[0, 0], label='matrices')
  op('BatchMatMulV2', x[0, 0], y[:1, :1], label='broadcast_left')
  op('BatchMatMulV2', np.zeros([0, 2, 3]), np.zeros([0, 3, 4]), label='empty')
  op('BatchMatMulV2', x, x, label='mismatch', error=True)
  op('BatchMatMulV2', x, y[:, :2], label='batch_mismatch', error=True)
  op('BatchMatMulV2', x[0, 0, 0], y, label='vector', error=True)


def segments():
  x = np.array([[1.0, 2], [3, -4], [5, 6], [0.5, 8]])
  op('SegmentSum', x, np.int32([0, 0, 1, 3]), types='all')
  op('SegmentSum', x, np.int64([0, 1, 1, 1]), label='int64')
  op('SegmentSum', x[:, 0], np.int32([0, 0, 2, 2]), label='vector')
  op('SegmentSum', np.zeros([0, 2]), np.zeros([0], np.int32), label='empty')
  op('SegmentSum', x, np.int32([1, 0, 2, 3]), label='unsorted', error=True)
  op('SegmentSum', x, np.int32([-1, 0, 2, 3]), label='negative', error=True)
  op('SegmentSum', x, np.int32([0, 1]), label='short', error=True)
  op('SegmentSum', np.array(1.0), np.int32([0]), label='scalar', error=True)
  for name in ('SegmentMax', 'SegmentMin', 'SegmentMean', 'SegmentProd'):
    op(name, x, np.int32([0, 0, 1, 3]), types='all')
    op(name, x, np.int64([0, 1, 1, 1]), label='int64')
    op(name, x, np.int32([1, 0, 2, 3]), label='unsorted', error=True)
    op(name, x, np.int32([0, 1]), label='short', error=True)
  for name in ('UnsortedSegmentMax', 'UnsortedSegmentMin', 'UnsortedSegmentProd'):
    op(name, x, np.int32([2, 0, 2, 1]), np.int32(4), types='all', const=(2,), fd=name.endswith('Prod'))
    op(name, x, np.int32([1, 0, 1, 1]), np.int32(2), types=('float', 'double'), label='no_gaps')
    op(name, x, np.int64([2, -1, 2, 1]), np.int64(3), label='negative_dropped', fd=name.endswith('Prod'))
    op(name, x, np.int32([2, 0, 5, 1]), np.int32(4), label='out_of_range', error=True)
  for t in ('int32', 'int64', 'float', 'double'):
    op('Bincount', np.int32([1, 3, 1, 0, 7]), np.int32(5), np.array([2.0, 3, 4, 5, 6]), types=(t,))
    op('Bincount', np.int32([1, 3, 1, 0]), np.int32(5), np.zeros([0]), types=(t,), label='unweighted')
  op('Bincount', np.int32([1, -3]), np.int32(5), np.zeros([0]), label='negative', error=True)
  op('Bincount', np.int32([1, 3]), np.int32(-5), np.zeros([0]), label='negative_size', error=True)
  op('UnsortedSegmentSum', x, np.int32([2, 0, 2, 1]), np.int32(4), types='all', const=(2,))
  op('UnsortedSegmentSum', x, np.int64([2, -1, 2, 1]), np.int64(3), label='negative_dropped')
  op('UnsortedSegmentSum', x, np.int16([2, 0, 2, 1]), np.int32(3), label='int16')
  op('UnsortedSegmentSum', x, np.int32([[0, 1], [1, 2], [2, 2], [0, 0]]), np.int32(3), label='matrix_ids', const=(2,))
  op('UnsortedSegmentSum', np.zeros([0, 2]), np.zeros([0], np.int32), np.int32(2), label='empty')
  op('UnsortedSegmentSum', x, np.int32([2, 0, 5, 1]), np.int32(4), label='out_of_range', error=True)
  op('UnsortedSegmentSum', x, np.int32([2, 0]), np.int32(4), label='short', error=True)
  op('UnsortedSegmentSum', x, np.int32([0, 0, 0, 0]), np.int32(-1), label='negative_count', error=True)


def sums_and_ranges():
  values = [np.array([1.0, -2, 3]), np.array([0.5, 4, -1]), np.array([2.0, 2, 2])]
  op('AddN', values, types=[t for t in ('float', 'double', 'half', 'bfloat16', 'int8', 'int16', 'int32', 'int64', 'uint8',
                                        'uint16', 'uint32', 'uint64', 'complex64', 'complex128')])
  op('AddN', values[:1], label='one')
  op('AddN', [pattern(2003)] * 11, label='many', grad=False)
  op('AddN', [np.zeros([0]), np.zeros([0])], label='empty')
  op('AddN', [np.ones([2]), np.ones([3])], label='mismatch', error=True)
  for start, limit, delta in [(0, 5, 1), (3, 18, 3), (3, 1, -1), (5, 5, 1), (0, 1, 0.25), (1, -1, -0.5), (-3, 4, 2)]:
    op('Range', np.array(start), np.array(limit), np.array(delta), attr='Tidx', types=('float', 'double', 'int32', 'int64')
       if delta == int(delta) else ('float', 'double'), label='values', const=(0, 1, 2), grad=False)
  op('Range', np.array(0), np.array(5), np.array(1), attr='Tidx', types=('half', 'bfloat16'), label='small_types')
  op('Range', np.int32(0), np.int32(5), np.int32(1), types=None, label='fed')
  op('Range', np.int32(0), np.int32(5), np.int32(0), types=None, label='zero_delta', error=True)
  op('Range', np.int32(0), np.int32(5), np.int32(-1), types=None, label='wrong_way', error=True)
  op('Range', np.int32(5), np.int32(0), np.int32(1), types=None, label='wrong_way2', error=True)
  op('Range', np.int32([0, 1]), np.int32(5), np.int32(1), types=None, label='vector', error=True)
  op('LinSpace', np.array(1.0), np.array(4.0), np.int32(7), types='all', const=(0, 1, 2))
  op('LinSpace', np.array(1.0), np.array(4.0), np.int64(1), label='one')
  op('LinSpace', np.array(3.0), np.array(-3.0), np.int32(4), label='down')
  op('LinSpace', np.array(3.0), np.array(-3.0), np.int32(0), label='none', error=True)
  op('LinSpace', np.array([3.0]), np.array(-3.0), np.int32(2), label='vector', error=True)
  for kind, grad in ((('float', 'double', 'half', 'bfloat16', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16'), True),
                     (('complex64', 'complex128'), False)):
    op('ClipByValue', np.array([[1.0, -5], [7, 2.5]]), np.array(-1.0), np.array(3.0), types=kind, grad=grad)
  op('AccumulateNV2', values, types=('float', 'double', 'int32', 'complex64'), shape=[3])
  op('AccumulateNV2', [np.ones([2]), np.ones([2])], label='two', shape=[2])
  op('ApproximateEqual', np.array([1.0, 2, 3, np.nan]), np.array([1.0, 2.0000019, 3.1, np.nan]), types='all')
  op('ApproximateEqual', np.array([1.0, 2]), np.array([1.0]), label='mismatch', error=True)
  op('ClipByValue', np.array([[1.0, -5], [7, 2.5]]), np.array([[0.0, -1], [1, 1]]), np.array([[2.0, 2], [3, 2]]),
     types=('float', 'double'), label='tensors')
  op('ClipByValue', np.array([[1.0, -5], [7, 2.5]]), np.array(0.0), np.array([1.0, 2, 3]), label='mismatch', error=True)


def selections():
  t, e = np.array([[1.0, 2], [3, 4]]), np.array([[-1.0, -2], [-3, -4]])
  mask = np.array([[True, False], [False, True]])
  for name in ('Select', 'SelectV2'):
    op(name, mask, t, e, types='all')
    op(name, np.array(True), t, e, label='scalar')
    op(name, np.zeros([0], bool), np.zeros([0]), np.zeros([0]), label='empty')
    op(name, mask, t, np.ones([3]), label='mismatch', error=True)
  op('Select', np.array([True, False]), t, e, label='rows')
  op('Select', np.array([True, False, True]), t, e, label='wrong_rows', error=True)
  op('SelectV2', np.array([True, False]), t, e, label='broadcast_condition', types=('float', 'double'))
  op('SelectV2', np.array([[True], [False], [True]]), np.array([1.0, 2]), np.array(5.0), label='broadcast_all',
     types=('float', 'double'))
  for name in ('TopKV2',):
    x = np.array([[1.0, 5, 3, 5, 2], [9, -1, 4, 4, 0]])
    op(name, x, np.int32(3), types='all', const=(1,), fd=False)
    op(name, np.array([[1.0, 5, 3, 5.5, 2], [9, -1, 4, 4.5, 0]]), np.int32(3), types=('double',), label='distinct', const=(1,))
    op(name, x, np.int32(0), label='none', grad=False)
    op(name, x, np.int32(5), label='everything', fd=False)
    op(name, x[0], np.int64(2), label='vector', index_type=np.int64, grad=False)
    op(name, x, np.int16(2), label='int16', index_type=np.int16, grad=False)
    op(name, x, np.int32(6), label='too_many', error=True)
    op(name, x, np.int32(-1), label='negative', error=True)
    op(name, np.array(1.0), np.int32(1), label='scalar', error=True)
    op(name, pattern(3000).reshape(3, 1000), np.int32(40), label='many', grad=False)


def cases():
  unary()
  binary()
  reductions()
  products()
  segments()
  sums_and_ranges()
  selections()
