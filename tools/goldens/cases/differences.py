# SPDX-License-Identifier: Apache-2.0
"""Gradients beside differences, for ops whose other cases cannot be compared so: one output of several, inputs that must be
symmetric, complex values, states of lists."""
import numpy as np

from record import apply, rng, script, tf

I32, I64, F32 = np.int32, np.int64, np.float32


def values(name, *shape):
  return rng('differences', name).uniform(-1, 1, shape)


def distinct(name, *shape):
  """No two elements closer than 1/8, so that a small change changes no maximum."""
  return rng('differences', name).permutation(int(np.prod(shape))).reshape(shape) / 8.0


def gradient(name, outputs, label='', wrt=None, dtype=np.float64, covers=None, tolerance=None, make=None, **inputs):
  """A case of d(outputs)/d(inputs `wrt`, default: the real ones). `make(**tensors)` gives the op's outputs; arrays of floats become
  placeholders of `dtype`, all else is passed on."""
  arrays = {k: np.asarray(v, dtype if np.asarray(v).dtype.kind == 'f' else None) for k, v in inputs.items() if isinstance(v, np.ndarray)}
  with script(name, label, covers=covers or [name], tolerance=tolerance) as s:
    fed = {k: tf.placeholder(v.dtype, v.shape, name=k) for k, v in arrays.items() if v.dtype.kind == 'f'}
    given = {k: tf.constant(v) for k, v in arrays.items() if k not in fed}
    rest = {k: v for k, v in inputs.items() if k not in arrays}
    made = (make or (lambda **kw: apply(name, **kw)))(**fed, **given, **rest)
    feeds = {t: arrays[k] for k, t in fed.items()}
    ys = [made[i] for i in outputs]
    with tf.Session() as session:
      for y, value in zip(ys, session.run(ys, feeds)):
        y.set_shape(value.shape)
    s.gradients(ys, [fed[k] for k in (wrt or fed)], feeds)


def functions():
  x = np.array([0.2, 0.55, 0.8, 1.3, 2.6])
  for name in ('BesselI0', 'BesselI0e', 'BesselI1', 'BesselI1e', 'BesselJ0', 'BesselJ1', 'BesselK0', 'BesselK0e', 'BesselK1', 'BesselK1e',
               'BesselY0', 'BesselY1', 'Dawsn', 'Expint', 'FresnelCos', 'FresnelSin', 'Spence'):
    gradient(name, [0], x=x)
  for name in ('Erfinv', 'Ndtri'):
    gradient(name, [0], x=np.array([0.1, 0.3, 0.6, 0.9]))
  a, z = np.array([[0.7], [1.4], [3.5]]), np.array([0.4, 1, 2.5])
  gradient('Igamma', [0], a=a, x=z, dtype=F32)
  gradient('Igammac', [0], a=a, x=z, dtype=F32)
  gradient('Betainc', [0], wrt=['x'], a=np.array([0.8, 2, 3.5]), b=np.array([1.5, 0.7, 2]), x=np.array([0.2, 0.5, 0.8]))
  gradient('Polygamma', [0], wrt=['x'], a=np.array([1.0, 2, 3]), x=np.array([1.5, 2, 4.5]))
  gradient('Zeta', [0], wrt=['q'], x=np.array([1.5, 2, 4]), q=np.array([0.5, 1, 3]))
  gradient('FloorMod', [0], x=np.array([[5.3, -2.7, 0.4]]), y=np.array([[2.0], [-1.3]]))
  gradient('NextAfter', [0], x1=np.array([0.5, 1, -2]), x2=np.array([1.0, 0, -2.5]))


def complex_values():
  re, im = values('re', 2, 3), values('im', 2, 3)
  for name, arg in (('Angle', 'input'), ('ComplexAbs', 'x'), ('Imag', 'input'), ('Real', 'input')):
    gradient(name, [0], make=lambda re, im: [apply(name, **{arg: tf.complex(re, im)}, Tout=tf.float64)[0]], re=re, im=im)
  parts = lambda z: [tf.real(z), tf.imag(z)]
  gradient('Conj', [0, 1], make=lambda re, im: parts(tf.math.conj(tf.complex(re, im))), re=re, im=im)
  for rank, suffix in ((1, ''), (2, '2D'), (3, '3D')):
    shape = (2, 3, 4, 5)[-rank - 1:]
    re, im = values('re' + suffix, *shape), values('im' + suffix, *shape)
    for name in ('FFT', 'IFFT'):
      gradient(name + suffix, [0, 1], make=lambda re, im: parts(apply(name + suffix, input=tf.complex(re, im))[0]), re=re, im=im)
    if rank == 3:
      continue
    lengths = I32((3, 4, 5)[-rank:])
    gradient('RFFT' + suffix, [0, 1], re=re,
             make=lambda re: parts(apply('RFFT' + suffix, input=re, fft_length=tf.constant(lengths), Tcomplex=tf.complex128)[0]))
    gradient('IRFFT' + suffix, [0], re=re[..., :3], im=im[..., :3],
             make=lambda re, im: [apply('IRFFT' + suffix, input=tf.complex(re, im), fft_length=tf.constant(lengths), Treal=tf.float64)[0]])


def matrices():
  b = values('matrix', 2, 3, 3)
  eye = np.eye(3)
  gradient('Cholesky', [0], b=b, make=lambda b: [apply('Cholesky', input=tf.matmul(b, b, transpose_b=True) + eye)[0]])
  gradient('SelfAdjointEigV2', [0, 1], b=b, make=lambda b: _squared(apply('SelfAdjointEigV2', input=b + tf.linalg.matrix_transpose(b))))
  gradient('LogMatrixDeterminant', [1], input=b + 2 * eye)
  gradient('SparseMatMul', [0], a=values('left', 3, 4), b=values('right', 4, 2), dtype=F32)
  gradient('IdentityN', [0, 1], make=lambda a, b: apply('IdentityN', input=[a, b]), a=b[0], b=b[1])


def _squared(made):  # the signs of eigenvectors are free
  return made[0], tf.square(made[1])


def choices():
  gradient('ApproxTopK', [0], input=distinct('choices', 3, 7), k=3, dtype=F32)


def losses():
  logits = np.array([[1.0, 2, 3], [-1, 0, 4], [5, 5, 5]])
  labels = np.array([[0.2, 0.3, 0.5], [0, 1, 0], [1.0, 0, 0]])
  name = 'SoftmaxCrossEntropyWithLogits'
  gradient(name, [0], features=logits, labels=labels)
  gradient(name, [0, 1], 'both', wrt=['features'], features=logits, labels=labels)
  gradient('Sparse' + name, [0], features=logits, labels=I32([2, 0, 1]))
  gradient('CTCLoss', [0], inputs=values('ctc', 6, 2, 4), labels_indices=I64([[0, 0], [0, 1], [1, 0]]), labels_values=I32([1, 2, 0]),
           sequence_length=I32([6, 5]), dtype=F32)


def windows():
  flat, window = distinct('flat', 2, 5, 6, 2), dict(ksize=[1, 2, 3, 1], strides=[1, 2, 2, 1], padding='SAME')
  best = lambda x: tf.nn.max_pool2d(x, window['ksize'], window['strides'], 'SAME')
  dy, ddy = values('dy', 2, 3, 3, 2), values('ddy', 2, 5, 6, 2)
  sizes = dict(ksize=I32(window['ksize']), strides=I32(window['strides']), padding='SAME')
  gradient('MaxPoolV2', [0], input=flat, **sizes)
  gradient('MaxPoolGrad', [0], wrt=['grad'], x=flat, grad=dy,
           make=lambda x, grad: apply('MaxPoolGrad', orig_input=x, orig_output=best(x), grad=grad, **window))
  gradient('MaxPoolGradV2', [0], wrt=['grad'], x=flat, grad=dy,
           make=lambda x, grad: apply('MaxPoolGradV2', orig_input=x, orig_output=best(x), grad=grad, **sizes))
  gradient('MaxPoolGradGrad', [0], wrt=['grad'], x=flat, grad=ddy,
           make=lambda x, grad: apply('MaxPoolGradGrad', orig_input=x, orig_output=best(x), grad=grad, **window))
  gradient('MaxPoolWithArgmax', [0], input=flat, **window)
  ratio = dict(pooling_ratio=[1.0, 1.5, 1.4, 1.0], deterministic=True, seed=3, seed2=9)
  gradient('FractionalAvgPool', [0], value=flat, **ratio)
  gradient('FractionalMaxPool', [0], value=flat, **ratio)


def cubes():
  x, f = distinct('cubes', 1, 3, 4, 4, 2), values('filter', 2, 2, 2, 2, 3)
  step = dict(strides=[1, 1, 2, 2, 1], padding='SAME')
  window = dict(ksize=[1, 2, 2, 2, 1], **step)
  dy = values('cubes dy', 1, 3, 2, 2, 2)
  best = lambda x: tf.nn.max_pool3d(x, window['ksize'], window['strides'], 'SAME')
  gradient('Conv3D', [0], input=x, filter=f, **step)
  wide = values('wide', 1, 3, 2, 2, 3)
  gradient('Conv3DBackpropInputV2', [0], input_sizes=I32(x.shape), filter=f, out_backprop=wide, **step)
  gradient('Conv3DBackpropFilterV2', [0], input=x, filter_sizes=I32(f.shape), out_backprop=wide, **step)
  gradient('AvgPool3D', [0], input=x, dtype=F32, **window)
  gradient('AvgPool3DGrad', [0], orig_input_shape=I32(x.shape), grad=dy, dtype=F32, **window)
  gradient('MaxPool3D', [0], input=x, dtype=F32, **window)
  gradient('MaxPool3DGrad', [0], wrt=['grad'], x=x, grad=dy, dtype=F32,
           make=lambda x, grad: apply('MaxPool3DGrad', orig_input=x, orig_output=best(x), grad=grad, **window))
  gradient('MaxPool3DGradGrad', [0], wrt=['grad'], x=x, grad=x / 8, dtype=F32,
           make=lambda x, grad: apply('MaxPool3DGradGrad', orig_input=x, orig_output=best(x), grad=grad, **window))
  gradient('ExtractVolumePatches', [0], input=x, ksizes=window['ksize'], **step)


def images():
  x = values('image', 1, 4, 5, 2)
  boxes = F32([[0.1, 0.13, 0.83, 0.77], [0.2, 0.3, 0.61, 0.87]])
  crop = dict(box_ind=I32([0, 0]), crop_size=I32([3, 2]), dtype=F32)
  gradient('CropAndResize', [0], image=x, boxes=boxes, tolerance=(1e-4, 1e-4), **crop)
  gradient('ScaleAndTranslate', [0], wrt=['images'], images=x, size=I32([3, 4]), scale=F32([0.8, 0.9]), translation=F32([0.1, 0.2]), dtype=F32,
           tolerance=(1e-4, 1e-4))


def second_of_batch_norm(suffix, label, **attrs):
  def make(x, scale, offset, mean, variance):
    y = apply('FusedBatchNorm' + suffix, x=x, scale=scale, offset=offset, mean=mean, variance=variance, epsilon=0.1, **attrs)[0]
    return tf.gradients(y * y * y, [x, scale, offset])
  shape = (2, 4, 3, 2) if attrs.get('data_format') == 'NCHW' else (2, 3, 2, 4)
  given = np.zeros([0]) if attrs.get('is_training', True) else np.arange(0.5, 4.5)
  gradient('FusedBatchNormGrad' + suffix, [0, 1, 2], label, make=make, wrt=['x', 'scale', 'offset'], dtype=F32, tolerance=(2e-3, 2e-3),
           x=values('bn', *shape) * 2, scale=np.arange(1.0, 5) / 4, offset=values('offset', 4), mean=given, variance=given)


def networks():
  x = values('bn', 2, 3, 2, 4) * 2
  for suffix in ('', 'V2', 'V3'):
    second_of_batch_norm(suffix, 'batch')
    second_of_batch_norm(suffix, 'given', is_training=False)
  second_of_batch_norm('V3', 'nchw', data_format='NCHW')
  for suffix in ('', 'V2', 'V3'):
    gradient('FusedBatchNorm' + suffix, [0], wrt=['x', 'scale', 'offset'], x=x, scale=np.arange(1.0, 5), offset=values('offset', 4),
             mean=np.zeros([0]), variance=np.zeros([0]), dtype=F32, tolerance=(1e-4, 1e-4))
  batch, size, cell = 2, 3, 2
  u = lambda name, *shape: values(name, *shape)
  gradient('BlockLSTM', [1, 6], wrt=['x', 'cs_prev', 'h_prev', 'w', 'b'], dtype=F32, tolerance=(2e-4, 2e-4), seq_len_max=I64(3), cell_clip=-1.0,
           x=u('x', 3, batch, size), cs_prev=u('cs', batch, cell), h_prev=u('h', batch, cell), w=u('w', size + cell, 4 * cell),
           wci=u('wci', cell), wcf=u('wcf', cell), wco=u('wco', cell), b=u('b', 4 * cell))


def sparse():
  indices, shape = I64([[0, 1], [1, 0], [2, 2]]), I64([3, 4])
  v = values('sparse', 3)
  gradient('SparseAdd', [1], wrt=['a_values', 'b_values'], a_indices=indices, a_values=v, a_shape=shape, b_indices=I64([[0, 1], [2, 3]]),
           b_values=v[:2] + 2, b_shape=shape, thresh=np.array(0.0))
  gradient('SparseSlice', [1], indices=indices, values=v, shape=shape, start=I64([0, 0]), size=I64([2, 2]))
  gradient('SparseFillEmptyRows', [1], indices=indices[::2], values=v[::2], dense_shape=shape, default_value=np.array(0.5))
  gradient('SparseToDense', [0], sparse_indices=indices, output_shape=shape, sparse_values=v, default_value=np.array(0.5))
  gradient('RaggedFillEmptyRows', [1], value_rowids=I64([0, 0, 2]), values=v, nrows=np.array(4), default_value=np.array(0.5))
  gradient('RaggedTensorToSparse', [1], values=v,
           make=lambda values: apply('RaggedTensorToSparse', rt_nested_splits=[tf.constant(I64([0, 2, 3]))], rt_dense_values=values))


def lists():
  x, shape = values('list', 3, 2), I32([2])
  stack = lambda l: [apply('TensorListStack', input_handle=l, element_shape=tf.constant(shape), element_dtype=tf.float64)[0]]
  gradient('TensorListScatter', [0], x=x, make=lambda x: stack(
      apply('TensorListScatter', tensor=x, indices=tf.constant(I32([2, 0, 1])), element_shape=tf.constant(shape))[0]))
  gradient('TensorListConcat', [0], x=x, make=lambda x: apply(
      'TensorListConcat', element_dtype=tf.float64, element_shape=tf.TensorShape([2]),
      input_handle=apply('TensorListFromTensor', tensor=x, element_shape=tf.constant(shape))[0]))


def cases():
  functions()
  complex_values()
  matrices()
  choices()
  losses()
  windows()
  cubes()
  images()
  networks()
  sparse()
  lists()
