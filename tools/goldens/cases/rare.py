# SPDX-License-Identifier: Apache-2.0
"""Ops that few programs have: bands of matrices, functions of matrices, glimpses, quantized numbers, cells of recurrent networks."""
import gzip
import zlib

import numpy as np

from record import apply, op, rng, script, tf

TOL = dict(tolerance=(2e-4, 2e-4))
LOOSE = dict(tolerance=(3e-3, 3e-3))  # half is rounded at every step there
LINALG = ('float', 'double', 'complex64', 'complex128')


def numbers(*shape, t='float'):
  r = rng('rare', shape)
  m = r.uniform(-1, 1, shape)
  return m + 1j * r.uniform(-1, 1, shape) if t.startswith('complex') else m


def bands():
  for t in LINALG:
    diagonals = [numbers(2, 1, 5, t=t) + shift for shift in (0, 4, 0.5)]
    op('TridiagonalMatMul', *diagonals, numbers(2, 5, 3, t=t), types=(t,), grad=False, **TOL)
    system = numbers(2, 3, 5, t=t) + np.array([[0], [2], [0]])
    for pivoting in (False, True):
      op('TridiagonalSolve', system, numbers(2, 5, 2, t=t), types=(t,), partial_pivoting=pivoting, grad=False, **TOL)
    op('TridiagonalSolve', np.array([[1, 2, 0], [0, 0, 3], [0, 4, 5]]), np.ones([3, 1]), types=(t,), label='exchange', grad=False, **TOL)
    for lower in (False, True):
      for adjoint in (False, True):
        matrix = numbers(2, 3, 5, t=t) + np.array([[3]] + [[0]] * 2 if lower else [[0]] * 2 + [[3]])
        op('BandedTriangularSolve', matrix, numbers(2, 5, 2, t=t), types=(t,), lower=lower, adjoint=adjoint, grad=False, **TOL)
  op('BandedTriangularSolve', numbers(1, 2, 4) + 3, numbers(3, 4, 2), label='broadcast', grad=False, **TOL)
  op('BandedTriangularSolve', np.zeros([2, 3]), np.ones([3, 1]), label='singular', error=True)
  op('BandedTriangularSolve', np.ones([2, 3]), np.ones([4, 1]), label='sizes', error=True)
  op('TridiagonalSolve', np.zeros([3, 4]), np.ones([4, 1]), label='singular', grad=False)
  op('TridiagonalSolve', np.zeros([3, 1]), np.ones([1, 1]), label='scalar', grad=False)
  op('TridiagonalSolve', np.ones([2, 4]), np.ones([4, 1]), label='diagonals', error=True)
  op('TridiagonalSolve', np.ones([3, 4]), np.ones([3, 1]), label='equations', error=True)
  op('TridiagonalMatMul', np.ones([1, 3]), np.ones([1, 4]), np.ones([1, 4]), np.ones([4, 2]), label='sizes', error=True)


def functions():
  for t in LINALG:
    m = numbers(2, 4, 4, t=t) + 4 * np.eye(4)
    op('MatrixSquareRoot', m, types=(t,), grad=False, **TOL)
    if t.startswith('complex'):
      op('MatrixLogarithm', m, types=(t,), grad=False, **TOL)
    with script('Eig', t, tolerance=(1e-3, 1e-3)) as s:
      x = tf.constant(m.astype(tf.as_dtype(t).as_numpy_dtype))
      tout = tf.complex64 if t in ('float', 'complex64') else tf.complex128
      e, v = apply('Eig', input=x, Tout=tout)
      only = apply('Eig', input=x, Tout=tout, compute_v=False)[0]
      powers = [tf.reduce_sum(e ** k, -1) for k in (1, 2, 3)]  # whatever the order of the eigenvalues
      s.run(powers + [tf.reduce_sum(only, -1), tf.reduce_sum(v * tf.conj(v), -2),
                      tf.matmul(tf.cast(x, tout), v) - v * tf.expand_dims(e, -2)])
  op('MatrixSquareRoot', np.ones([2, 3]), label='shape', error=True)
  op('MatrixSquareRoot', np.zeros([0, 0]), label='empty', grad=False)
  op('Eig', np.ones([2, 3]), label='shape', Tout=tf.complex64, error=True)
  op('Eig', np.ones([2, 2]), label='type', Tout=tf.complex128, error=True)


def images():
  image = np.arange(2 * 6 * 5 * 2, dtype=np.float32).reshape([2, 6, 5, 2])
  for name in ('ExtractGlimpse', 'ExtractGlimpseV2'):
    for centered in (False, True):
      for normalized in (False, True):
        scale = 1 if normalized else 5
        offsets = np.float32([[0.1, -0.2], [0.6, 0.9]]) * np.float32(scale)
        op(name, image, np.array([3, 4], np.int32), offsets, label='zero%d%d' % (centered, normalized), types=None, centered=centered, normalized=normalized,
           uniform_noise=False, noise='zero', grad=False, const=(1,))
    op(name, image, np.array([2, 2], np.int32), np.float32([[0.0, 0.0], [0.1, 0.1]]), label='inside', types=None, grad=False)
    op(name, image, np.array([2], np.int32), np.zeros([2, 2], np.float32), label='size', types=None, error=True)
    op(name, image, np.array([2, 2], np.int32), np.zeros([1, 2], np.float32), label='batch', types=None, error=True)
  volume = np.arange(1 * 4 * 5 * 3 * 2).reshape([1, 4, 5, 3, 2])
  for padding in ('SAME', 'VALID'):
    for sizes, strides in (([1, 2, 3, 1, 1], [1, 1, 2, 1, 1]), ([1, 1, 2, 3, 1], [1, 3, 1, 2, 1])):
      op('ExtractVolumePatches', volume, types=('float', 'int32', 'uint8'), label='%d%d' % (sizes[1], strides[1]), ksizes=sizes,
         strides=strides, padding=padding, fd=False)
  op('ExtractVolumePatches', volume[0], label='rank', ksizes=[1] * 5, strides=[1] * 5, padding='SAME', error=True)
  picture = (np.indices([20, 24, 3]).sum(0) * 3 % 256).astype(np.uint8)
  with script('DecodeAndCropJpeg', covers=['DecodeAndCropJpeg', 'EncodeJpegVariableQuality'], tolerance=(0, 3)) as s:
    file = apply('EncodeJpegVariableQuality', images=tf.constant(picture), quality=tf.constant(95))[0]
    window = tf.placeholder(tf.int32, [4])
    y = apply('DecodeAndCropJpeg', contents=file, crop_window=window, dct_method='INTEGER_ACCURATE')[0]
    s.run(y, {window: [0, 0, 20, 24]})
    s.run(y, {window: [8, 8, 8, 16]})
    s.run(y, {window: [8, 8, 13, 2]}, error=True)
    s.run(y, {window: [0, -1, 3, 2]}, error=True)
  text = b'what was packed, packed, packed'
  for kind, packed in (('ZLIB', zlib.compress(text)), ('GZIP', gzip.compress(text, mtime=0)), ('', text)):
    with script('DecodeCompressed', kind or 'none') as s:
      x = tf.placeholder(tf.string, None)
      y = apply('DecodeCompressed', bytes=x, compression_type=kind)[0]
      s.run(y, {x: packed})
      s.run(y, {x: [packed, packed]})


def quantized():
  values = np.concatenate([np.linspace(-3, 4, 29), [0, 100, -100]]).reshape([4, 8])
  for t in ('qint8', 'quint8', 'qint16', 'quint16', 'qint32'):
    for mode in ('MIN_COMBINED', 'MIN_FIRST', 'SCALED'):
      with script('QuantizeV2', '%s_%s' % (t, mode)) as s:
        x, low, high = tf.placeholder(tf.float32, [4, 8]), tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        out = apply('QuantizeV2', input=x, min_range=low, max_range=high, T=tf.as_dtype(t), mode=mode)
        kind = {'qint8': tf.int8, 'quint8': tf.uint8, 'qint16': tf.int16, 'quint16': tf.uint16, 'qint32': tf.int32}[t]
        bits = tf.bitcast(out[0], kind)
        if t != 'qint32':
          s.run([bits, out[1], out[2]], {x: values, low: -2.0, high: 3.0})
          s.run([bits, out[1], out[2]], {x: values, low: 0.0, high: 1.0})
          s.run([bits, out[1], out[2]], {x: values, low: 0.0, high: 0.0})
        s.run([out[1], out[2]], {x: values, low: -1.0, high: 1.0})
        s.run(bits, {x: values, low: 1.0, high: -1.0}, error=True)
      with script('Dequantize', '%s_%s' % (t, mode)) as s:
        codes = np.array([[0, 1, 5], [100, 127, 3]] if t.startswith('qu') else [[0, 1, -5], [-128, 127, 3]])
        x = tf.bitcast(tf.constant(codes, kind), tf.as_dtype(t))
        for dtype in (tf.float32, tf.bfloat16) if mode == 'MIN_COMBINED' else (tf.float32,):
          s.run(apply('Dequantize', input=x, min_range=-1.5, max_range=2.0, mode=mode, dtype=dtype)[0])
          s.run(apply('Dequantize', input=x, min_range=0.0, max_range=6.0, mode=mode, dtype=dtype)[0])
  with script('QuantizeV2', 'axis') as s:
    out = apply('QuantizeV2', input=tf.constant(values, tf.float32), min_range=tf.constant([-1.0, -2, -3, 0]),
                max_range=tf.constant([1.0, 2, 1, 4]), T=tf.qint8, mode='SCALED', round_mode='HALF_TO_EVEN', narrow_range=True, axis=0)
    back = apply('Dequantize', input=out[0], min_range=out[1], max_range=out[2], mode='SCALED', narrow_range=True, axis=0)[0]
    s.run([tf.bitcast(out[0], tf.int8), out[1], out[2], back])


def cells():
  batch, size, cell, steps = 3, 2, 4, 5
  r = rng('cells')
  u = lambda *shape: r.uniform(-1, 1, shape)
  rest = lambda: (u(batch, cell), u(batch, cell), u(size + cell, 4 * cell), u(cell), u(cell), u(cell), u(4 * cell))
  for t in ('float', 'half'):
    for peephole in (False, True):
      op('LSTMBlockCell', u(batch, size), *rest(), types=(t,), use_peephole=peephole, forget_bias=0.5, cell_clip=0.7, grad=False, **LOOSE)
      op('LSTMBlockCellGrad', u(batch, size), *rest(), *[u(batch, cell) for _ in range(8)], types=(t,), use_peephole=peephole,
         grad=False, **LOOSE)
      for name in ('BlockLSTM', 'BlockLSTMV2'):
        # TensorFlow takes the gradient of BlockLSTM for that of BlockLSTMV2, whose gates have another order.
        op(name, np.int64(steps), u(steps, batch, size), *rest(), types=(t,), use_peephole=peephole,
           grad=t == 'float' and not peephole and name == 'BlockLSTM', fd=False, **LOOSE)
      for name in ('BlockLSTMGrad', 'BlockLSTMGradV2'):
        op(name, np.int64(4), u(steps, batch, size), *rest(), *[u(steps, batch, cell) for _ in range(9)], types=(t,),
           use_peephole=peephole, grad=False, **LOOSE)
  gru = lambda: (u(batch, size), u(batch, cell), u(size + cell, 2 * cell), u(size + cell, cell), u(2 * cell), u(cell))
  op('GRUBlockCell', *gru(), grad=False, **TOL)
  op('GRUBlockCellGrad', *gru(), *[u(batch, cell) for _ in range(4)], grad=False, **TOL)
  op('GRUBlockCell', *gru()[:-1], u(cell + 1), label='sizes', error=True)
  op('LSTMBlockCell', u(batch, size), u(batch, cell), u(batch, cell + 1), *rest()[2:], label='sizes', error=True)


def rows():
  for t in LINALG:
    dense = numbers(2, 4, 3, t=t) * (rng('rows').uniform(0, 1, [2, 4, 3]) < 0.5)
    places = np.argwhere(dense)
    with script('DenseToCSRSparseMatrix', t) as s:
      x = tf.constant(dense.astype(tf.as_dtype(t).as_numpy_dtype))
      csr = apply('DenseToCSRSparseMatrix', dense_input=x, indices=tf.constant(places))[0]
      tensor = apply('CSRSparseMatrixToSparseTensor', sparse_matrix=csr, type=x.dtype)
      again = apply('SparseTensorToCSRSparseMatrix', indices=tensor[0], values=tensor[1], dense_shape=tensor[2])[0]
      turned = apply('SparseMatrixTranspose', input=again, conjugate=True, type=x.dtype)[0]
      product = apply('SparseMatrixSparseMatMul', a=csr, b=turned, type=x.dtype)[0]
      s.run([apply('CSRSparseMatrixToDense', sparse_input=y, type=x.dtype)[0] for y in (csr, again, turned, product)])
      s.run(tensor.outputs + [apply('SparseMatrixNNZ', sparse_matrix=csr)[0]])
      s.run(apply('CSRSparseMatrixComponents', csr_sparse_matrix=csr, index=tf.constant(1), type=x.dtype).outputs)
      for kw in (dict(), dict(transpose_a=True), dict(adjoint_a=True, transpose_output=True), dict(adjoint_b=True),
                 dict(transpose_b=True, conjugate_output=True)):
        k = 4 if kw.get('transpose_a') or kw.get('adjoint_a') else 3
        b = numbers(2, *((2, k) if kw.get('transpose_b') or kw.get('adjoint_b') else (k, 2)), t=t)
        s.run(apply('SparseMatrixMatMul', a=csr, b=tf.constant(b.astype(tf.as_dtype(t).as_numpy_dtype)), **kw)[0])


def largest():
  op('ApproxTopK', rng('largest').permutation(60).reshape([3, 20]), types=('float', 'half', 'bfloat16'), k=5, grad=False)


def generators():
  def state(s):
    handle = apply('VarHandleOp', dtype=tf.int64, shape=[3], shared_name='state')[0]
    s.run(targets=apply('AssignVariableOp', resource=handle, value=tf.constant([7, 2**62, -5], tf.int64)).op)
    return handle, apply('ReadVariableOp', resource=handle, dtype=tf.int64)[0]

  for name, types in (('StatefulUniform', ('float', 'double', 'half', 'bfloat16')),
                      ('StatefulStandardNormalV2', ('float', 'double', 'half', 'bfloat16')),
                      ('StatefulTruncatedNormal', ('float', 'double', 'half', 'bfloat16')),
                      ('StatefulUniformFullInt', ('int32', 'int64', 'uint32', 'uint64'))):
    for t in types:
      with script(name, t) as s:
        handle, v = state(s)
        y = apply(name, resource=handle, algorithm=tf.constant(1, tf.int64), shape=tf.constant([3, 5]), dtype=tf.as_dtype(t))[0]
        s.run(y)
        s.run(y)
        s.run(v)
  for t in ('int32', 'int64'):
    with script('StatefulUniformInt', t) as s:
      handle, v = state(s)
      low, high = tf.placeholder(t, None), tf.placeholder(t, None)
      y = apply('StatefulUniformInt', resource=handle, algorithm=tf.constant(1, tf.int64), shape=tf.constant([7]), minval=low,
                maxval=high)[0]
      s.run(y, {low: -5, high: 17})
      s.run(y, {low: 5, high: 4}, error=True)
      s.run(y, {low: [1, 2], high: 4}, error=True)
      s.run(v)
  with script('RngSkip', 'state') as s:
    handle, v = state(s)
    s.run(targets=apply('RngSkip', resource=handle, algorithm=tf.constant(1, tf.int64), delta=tf.constant(3, tf.int64)).op)
    s.run(v)
    s.run(apply('RngReadAndSkip', resource=handle, alg=tf.constant(1), delta=tf.constant(2**63, tf.uint64))[0])
    s.run(v)
  for t in ('int32', 'int64', 'uint32', 'uint64'):
    for highest in (1, 129, 2389, 100000, 2**31 - 1):
      op('RandomIndexShuffle', np.array([0, 1, highest // 2, highest - 1]), np.int64([74, -117, 2**40 + 3]), np.array(highest),
         types=(t,), attr='dtype', label='to%d' % highest, rounds=8, grad=False)
  op('RandomIndexShuffle', np.int32(-1), np.int32([1, 2, 3]), np.int32(4), types=None, label='negative', error=True)
  op('RandomIndexShuffle', np.int32(5), np.int32([1, 2, 3]), np.int32(4), types=None, label='outside', error=True)
  counts, chances = [[3.0], [40.0], [200.0]], [0.2, 0.5, 0.9]
  for t in ('int32', 'int64', 'float'):
    with script('StatelessRandomBinomial', t) as s:
      s.run(apply('StatelessRandomBinomial', shape=tf.constant([4, 3, 3]), seed=tf.constant([3, 9], tf.int64), counts=tf.constant(counts),
                  probs=tf.constant(chances), dtype=tf.as_dtype(t))[0])
    with script('StatefulRandomBinomial', t) as s:
      handle, v = state(s)
      y = apply('StatefulRandomBinomial', resource=handle, algorithm=tf.constant(1, tf.int64), shape=tf.constant([4, 3, 3]),
                counts=tf.constant(counts), probs=tf.constant(chances), dtype=tf.as_dtype(t))[0]
      s.run(y)  # once: TensorFlow writes the next state to where the variable no longer is
  with script('StatelessRandomBinomial', 'shapes') as s:
    y = apply('StatelessRandomBinomial', shape=tf.constant([4, 2]), seed=tf.constant([3, 9], tf.int64), counts=tf.constant(counts),
              probs=tf.constant(chances))[0]
    s.run(y, error=True)
  with script('NonDeterministicInts', covers=['NonDeterministicInts']) as s:
    s.run([tf.shape(apply('NonDeterministicInts', shape=tf.constant([2, 3]), dtype=t)[0]) for t in (tf.int32, tf.int64, tf.uint64)])
  with script('StatelessParameterizedTruncatedNormal', covers=['StatelessParameterizedTruncatedNormal']) as s:
    low, high = tf.constant([[-2.0], [0.5], [3.0]]), tf.constant([-1.5, 6.0])
    shape = tf.placeholder(tf.int32, [None])
    wide = apply('StatelessParameterizedTruncatedNormal', shape=shape, seed=tf.constant([1, 2], tf.int64), means=tf.constant(0.0),
                 stddevs=tf.constant(2.0), minvals=low - 3, maxvals=high + 9)[0]
    s.run([tf.reduce_all(wide > low - 3), tf.reduce_all(wide < high + 9), tf.shape(wide)], {shape: [50, 3, 2]})
    s.run(wide, {shape: [50, 2, 2]}, error=True)
    s.run(apply('StatelessParameterizedTruncatedNormal', shape=tf.constant([3, 2]), seed=tf.constant([1, 2], tf.int64),
                means=tf.constant(0.0), stddevs=tf.constant(2.0), minvals=low, maxvals=high)[0], error=True)
  with script('ParameterizedTruncatedNormal', 'seeded') as s:
    y = apply('ParameterizedTruncatedNormal', shape=tf.constant([2, 30]), means=0.0, stdevs=1.0, minvals=-1.0, maxvals=1.0, seed=3,
              seed2=8)[0]
    s.run(y)
    s.run(y)


def small():
  codes = lambda t, of: tf.constant(np.array(of, np.uint8).view(t.as_numpy_dtype), t)
  for t in (tf.dtypes.experimental.float8_e5m2, tf.dtypes.experimental.float8_e4m3fn):
    with script('Cast', t.name) as s:
      x = codes(t, range(256))
      s.run([tf.cast(x, to) for to in (tf.float32, tf.float64, tf.half, tf.bfloat16)])
      s.run(tf.cast(codes(t, np.r_[0:0x7b, 0x80:0xfb]), tf.int32))
      for of in (tf.float32, tf.float64, tf.half):
        values = np.concatenate([np.linspace(-500, 500, 201), 2.0 ** np.arange(-12, 17), [60000, 61440, 70000, -464, 465, 1e-9]])
        s.run(tf.cast(tf.cast(tf.constant(values, of), t), tf.float32))
  for t in (tf.dtypes.experimental.int4, tf.dtypes.experimental.uint4):
    with script('Cast', t.name) as s:
      x = tf.constant(np.arange(-20, 20), tf.int32)
      s.run(tf.cast(tf.cast(x, t), tf.int32))
      s.run(tf.cast(tf.cast(tf.cast(x, tf.int8), t), tf.int64))


def cases():
  bands()
  functions()
  images()
  quantized()
  cells()
  rows()
  generators()
  small()
  largest()
