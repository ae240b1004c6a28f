# SPDX-License-Identifier: Apache-2.0
"""Ops that few graphs have."""
import gzip

import numpy as np
from tensorflow.python.framework import function

from record import apply, op, rng, script, tf

I32, I64 = np.int32, np.int64


def distinct(name, *shape):
  n = int(np.prod(shape))
  return (rng(name).permutation(n) * 0.25 - n / 8.0).reshape(shape)


def bincounts():
  v, w = I32([[3, 0, 3, 7], [1, 1, 0, 2]]), np.float32([[1, 2, 3, 4], [5, 6, 7, 8]])
  none = np.zeros([0])
  for index in (I32, I64):
    op('DenseBincount', index(v), index(5), none, types=('float', 'double', 'int32', 'int64'), label=index.__name__, grad=False)
  op('DenseBincount', v, I32(8), w, label='weights', grad=False)
  op('DenseBincount', v[0], I32(4), w[0], label='vector', grad=False, const=(1,))
  op('DenseBincount', v[0], I32(4), none, label='binary', binary_output=True, grad=False)
  op('DenseBincount', I32(2), I32(4), none, label='scalar', grad=False)
  op('DenseBincount', I32([-1]), I32(4), none, label='negative', error=True)
  op('DenseBincount', v, I32(-1), none, label='negative_size', error=True)
  op('DenseBincount', v[None], I32(3), none, label='rank3', error=True)
  op('DenseBincount', v, I32(3), w[:1], label='weights_shape', error=True)
  at = I64([[0, 1], [0, 3], [2, 0]])
  op('SparseBincount', at, I32([1, 1, 4]), I64([3, 4]), I32(5), none, grad=False, const=(2, 3))
  op('SparseBincount', at, I64([1, 1, 4]), I64([3, 4]), I64(3), [2, 3, 4.0], label='weights', grad=False)
  op('SparseBincount', at[:, :1], I32([1, 1, 4]), I64([3]), I32(5), none, label='vector', binary_output=True, grad=False)
  op('SparseBincount', at, I32([1, 1, 4]), I64([2, 4]), I32(5), none, label='outside', error=True)
  op('RaggedBincount', I64([0, 2, 2, 5]), I32([1, 1, 0, 3, 9]), I32(4), none, grad=False, const=(2,))
  op('RaggedBincount', I64([0, 2, 2, 5]), I64([1, 1, 0, 3, 3]), I64(4), [1, 2, 3, 4, 5.0], label='weights', grad=False)
  op('RaggedBincount', I64([1, 2]), I32([1, 1]), I32(4), none, label='start', error=True)
  op('RaggedBincount', I64([0, 3]), I32([1, 1]), I32(4), none, label='end', error=True)


def data_formats():
  for index in (I32, I64):
    op('DataFormatDimMap', index([[0, 1], [-1, 2]]), types=None)
    op('DataFormatVecPermute', index([1, 2, 3, 4]), types=None)
  op('DataFormatDimMap', I32([0, 1, 2, 3, 4, -5]), types=None, src_format='NDHWC', dst_format='NCDHW', label='volume')
  op('DataFormatDimMap', I32([0]), types=None, src_format='NHWC', dst_format='NHWW', label='twice', error=True)
  op('DataFormatDimMap', I32([0]), types=None, src_format='HWC', dst_format='CHW', label='short', error=True)
  op('DataFormatVecPermute', I32([[1, 2], [3, 4], [5, 6], [7, 8]]), types=None, label='pairs', src_format='HWNC', dst_format='NHWC')
  op('DataFormatVecPermute', I32([1, 2]), types=None, label='spatial', src_format='NHWC', dst_format='NCWH')
  op('DataFormatVecPermute', I32([1, 2, 3]), types=None, label='three', error=True)
  op('DataFormatVecPermute', I32([[1, 2, 3]] * 4), types=None, label='wide', error=True)


def fingerprints():
  for data in (np.array([[1.5, 2], [3, 4]], np.float32), I64([7, 8]), np.array([['a', 'bc'], ['', 'd']], object), np.array(['x', 'long word'], object)):
    with script('Fingerprint', str(data.dtype) + str(data.ndim)) as s:
      y = apply('Fingerprint', data=tf.constant(data), method='farmhash64')[0]
      s.run(y)
      s.static_shapes(y)
  with script('Fingerprint', 'errors') as s:
    s.run(apply('Fingerprint', data=tf.constant([1.0]), method=tf.placeholder_with_default('md5', []))[0], error=True)


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


def samplers():
  true = I64([[0, 1], [5, 9], [3, 3]])
  for name, more in (('LearnedUnigramCandidateSampler', {}), ('ThreadUnsafeUnigramCandidateSampler', {}),
                     ('FixedUnigramCandidateSampler', dict(unigrams=[1.0, 5, 3, 2, 9, 0.5, 4, 4], num_reserved_ids=2)),
                     ('FixedUnigramCandidateSampler', dict(unigrams=list(range(1, 21)), distortion=0.75, num_shards=2, shard=1))):
    for unique in (False, True):
      with script(name, 'unique%d_%d' % (unique, len(more.get('unigrams', []))), tolerance=(1e-5, 1e-6)) as s:
        y = apply(name, true_classes=tf.constant(true), num_true=2, num_sampled=6, unique=unique, range_max=10, seed=7, seed2=8, **more)
        for _ in range(4):
          s.run(list(y.outputs))
        s.static_shapes(*y.outputs)
  with script('FixedUnigramCandidateSampler', 'size') as s:
    s.run(apply('FixedUnigramCandidateSampler', true_classes=tf.constant(true), num_true=2, num_sampled=6, unique=False, range_max=11,
                unigrams=[1.0, 2.0])[0], error=True)
  with script('FixedUnigramCandidateSampler', 'even', tolerance=(1e-5, 1e-6)) as s:
    y = apply('FixedUnigramCandidateSampler', true_classes=tf.constant(true), num_true=2, num_sampled=6, unique=False, range_max=11, unigrams=[1.0] * 11, seed=3)
    s.run(list(y.outputs))
  with script('AllCandidateSampler') as s:
    y = apply('AllCandidateSampler', true_classes=tf.constant(true), num_true=2, num_sampled=10, unique=True)
    s.run(list(y.outputs))
    s.static_shapes(*y.outputs)
  for name in ('LearnedUnigramCandidateSampler', 'LogUniformCandidateSampler'):
    with script(name, 'outside') as s:
      s.run(apply(name, true_classes=tf.constant(true + 5), num_true=2, num_sampled=2, unique=True, range_max=10)[0], error=True)


def distributions():
  alphas = np.array([0.3, 1.0, 2.5, 20.0])
  for dtype in (tf.float32, tf.float64, tf.half):
    with script('RandomGamma', dtype.name, tolerance=(2e-5, 1e-6)) as s:
      y = apply('RandomGamma', shape=I32([3, 2]), alpha=tf.constant(alphas, dtype), seed=5, seed2=6)[0]
      s.run(y)
      s.run(y)
      s.static_shapes(y)
    for index in (I32, I64):
      with script('StatelessRandomGammaV2', dtype.name + index.__name__, tolerance=(2e-5, 1e-6)) as s:
        s.run(apply('StatelessRandomGammaV2', shape=index([3, 4]), seed=index([1, 2]), alpha=tf.constant(alphas, dtype))[0])
  with script('RandomGamma', 'empty') as s:
    s.run(apply('RandomGamma', shape=I32([0]), alpha=tf.constant(alphas), seed=5)[0])
  with script('StatelessRandomGammaV3', tolerance=(2e-5, 1e-6)) as s:
    inputs = dict(key=np.uint64([3]), counter=np.uint64([4, 5]), alg=I32(1))
    s.run(apply('StatelessRandomGammaV3', shape=I32([3, 4]), alpha=tf.constant(alphas), **inputs)[0])
    s.run(apply('StatelessRandomGammaV3', shape=I32([3, 3]), alpha=tf.placeholder_with_default(alphas, None), **inputs)[0], error=True)
  a, x = np.array([[0.2, 1.0, 3.0, 11.0]]), np.array([[0.01], [0.9], [4.0], [13.0]])
  op('RandomGammaGrad', a, x, types=('float', 'double'), grad=False, tolerance=(2e-4, 1e-6))
  rates = np.array([0.0, 0.7, 3.0, 11.0, 250.0])
  for dtype in (tf.float32, tf.float64, tf.half, tf.int32, tf.int64):
    with script('RandomPoissonV2', dtype.name) as s:
      y = apply('RandomPoissonV2', shape=I32([3, 2]), rate=tf.constant(rates), dtype=dtype, seed=5, seed2=6)[0]
      s.run(y)
      s.run(y)
      s.static_shapes(y)
    with script('StatelessRandomPoisson', dtype.name) as s:
      s.run(apply('StatelessRandomPoisson', shape=I32([4, 5]), seed=I64([1, 2]), lam=tf.constant(rates, tf.float32), dtype=dtype)[0])
  with script('RandomPoissonV2', 'rates') as s:
    for dtype in (tf.int32, tf.int64, tf.half):
      s.run(apply('RandomPoissonV2', shape=I64([4]), rate=tf.constant([3, 20], dtype), dtype=tf.float32, seed=1)[0])
    s.run(apply('RandomPoissonV2', shape=I64([0]), rate=tf.constant(rates), seed=1)[0])
  for dtype in (tf.int32, tf.int64, tf.uint32, tf.uint64):
    with script('StatelessRandomUniformFullInt', dtype.name) as s:
      y = apply('StatelessRandomUniformFullInt', shape=I32([3, 3]), seed=I64([5, 6]), dtype=dtype)[0]
      s.run(y)
      s.static_shapes(y)
    if dtype.is_unsigned:
      with script('StatelessRandomUniformFullInt', dtype.name + '_seed') as s:
        s.run(apply('StatelessRandomUniformFullInt', shape=I32([3, 3]), seed=tf.constant([5, 6], dtype))[0], error=True)
    with script('StatelessRandomUniformFullIntV2', dtype.name) as s:
      s.run(apply('StatelessRandomUniformFullIntV2', shape=I64([7]), key=np.uint64([3]), counter=np.uint64([4, 5]), alg=I32(1), dtype=dtype)[0])
  logits = np.log([[0.1, 0.2, 0.7], [0.6, 0.2, 0.2]])
  for dtype in (tf.float32, tf.float64, tf.half):
    with script('StatelessMultinomial', dtype.name) as s:
      y = apply('StatelessMultinomial', logits=tf.constant(logits, dtype), num_samples=I32(6), seed=I64([1, 2]))[0]
      s.run(y)
      s.static_shapes(y)
      s.run(apply('StatelessMultinomial', logits=tf.constant(logits, dtype), num_samples=I32(5), seed=I32([3, 4]), output_dtype=tf.int32)[0])
  with script('StatelessRandomPoisson', 'shape') as s:
    s.run(apply('StatelessRandomPoisson', shape=I32([4, 3]), seed=I64([1, 2]), lam=tf.placeholder_with_default(rates, None), dtype=tf.int32)[0], error=True)


def crosses():
  a = (I64([[0, 0], [0, 1], [2, 0]]), np.array(['a', 'b', 'c'], object), I64([3, 2]))
  b = (I64([[0, 0], [1, 0], [2, 0], [2, 1]]), np.array(['x', 'y', 'z', 'w'], object), I64([3, 2]))
  n = (I64([[0, 0], [1, 0], [2, 0], [2, 1]]), I64([5, 77, -3, 2**40]), I64([3, 2]))
  words, numbers = np.array([['p', 'q'], ['r', 's'], ['', 't']], object), I64([[1, 2], [3, 4], [5, 6]])

  def inputs(sparse, dense):
    columns = [[tf.constant(v) for v in column] for column in zip(*sparse)] if sparse else [[], [], []]
    return dict(indices=columns[0], values=columns[1], shapes=columns[2], dense_inputs=[tf.constant(d) for d in dense])
  for label, sparse, dense in (('two', [a, b], []), ('dense', [a], [words]), ('numbers', [n, a], [numbers]), ('only_dense', [], [words, numbers])):
    with script('SparseCrossV2', label) as s:
      y = apply('SparseCrossV2', sep='-', **inputs(sparse, dense))
      s.run(list(y.outputs))
      s.static_shapes(*y.outputs)
    for buckets in (0, 100):
      with script('SparseCross', '%s_%d' % (label, buckets)) as s:
        y = apply('SparseCross', hashed_output=True, num_buckets=buckets, hash_key=956888297470, out_type=tf.int64, internal_type=tf.int64, **inputs(sparse, dense))
        s.run(list(y.outputs))
      for strong in (False, True):
        if strong and label in ('numbers', 'only_dense'):
          continue  # reads a number as an address in TensorFlow 2.21
        with script('SparseCrossHashed', '%s_%d_%d' % (label, buckets, strong)) as s:
          y = apply('SparseCrossHashed', num_buckets=I64(buckets), strong_hash=strong, salt=I64([3, 4]), **inputs(sparse, dense))
          s.run(list(y.outputs))
  with script('SparseCross', 'strings') as s:
    y = apply('SparseCross', hashed_output=False, num_buckets=0, hash_key=1, out_type=tf.string, internal_type=tf.string, **inputs([a, b], [words]))
    s.run(list(y.outputs))
    s.static_shapes(*y.outputs)
  with script('SparseCrossV2', 'batch') as s:
    s.run(list(apply('SparseCrossV2', sep='-', **inputs([a], [words[:2]])).outputs), error=True)


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


def reshapes():
  with script('Reshape', 'many') as s:
    s.run(tf.reshape(tf.constant([[1]]), tf.placeholder_with_default(np.ones([254], I64), [254])), error=True)


def slice_updates():
  x = np.arange(24.0).reshape([2, 3, 4])
  name = 'TensorStridedSliceUpdate'
  op(name, x, I32([0, 1]), I32([2, 3]), I32([1, 1]), -np.arange(16.0).reshape([2, 2, 4]), types=('float', 'int32', 'string'))
  op(name, x, I64([1]), I64([0]), I64([-1]), np.array([[7.0], [8], [9]]), label='broadcast')
  op(name, x, I32([1, 0, 0]), I32([0, 3, 4]), I32([1, 1, 2]), np.array(5.0), label='shrink', shrink_axis_mask=1)
  op(name, x, I32([0, 3]), I32([0, 4]), I32([1, 1]), np.array([5.0, 6]).reshape([2, 1, 1]), label='ellipsis', ellipsis_mask=1)
  op(name, x, I32([2]), I32([2]), I32([1]), np.array(5.0), label='nothing')
  op(name, x, I32([0]), I32([1]), I32([1]), np.ones([5]), label='mismatch', error=True)


def packed_records():
  with script('FixedLengthRecordReaderV2', 'gzip') as s:
    reader = apply('FixedLengthRecordReaderV2', header_bytes=2, record_bytes=3, footer_bytes=1, encoding='GZIP')[0]
    q = apply('FIFOQueueV2', component_types=[tf.string], shapes=[()], capacity=10)[0]
    name = tf.placeholder(tf.string, [])
    s.run(targets=apply('QueueEnqueueV2', handle=q, components=[name]).op, feeds={name: s.file('a', gzip.compress(b'hhabcdeff', mtime=0))})
    s.run(targets=apply('QueueCloseV2', handle=q).op)
    read = apply('ReaderReadV2', reader_handle=reader, queue_handle=q)
    s.run(read.outputs)
    s.run(read.outputs)
    s.run(read.outputs, error=True)


def remappings():
  for offset, count in ((0, 4), (1, 2), (2, 0)):
    with script('GenerateVocabRemapping', '%d_%d' % (offset, count)) as s:
      new, old = tf.placeholder(tf.string, []), tf.placeholder(tf.string, [])
      feeds = {new: s.file('new.txt', b'knitting\neminem\nMISSING\ncar\n'), old: s.file('old.txt', b'eminem\ncar\nknitting\nlast')}
      y = apply('GenerateVocabRemapping', new_vocab_file=new, old_vocab_file=old, new_vocab_offset=offset, num_new_vocab=count)
      s.run(list(y.outputs), feeds)
      y = apply('GenerateVocabRemapping', new_vocab_file=new, old_vocab_file=old, new_vocab_offset=offset, num_new_vocab=count, old_vocab_size=1)
      s.run(list(y.outputs), feeds)
      s.static_shapes(*y.outputs)
  with script('GenerateVocabRemapping', 'errors') as s:
    new, old = tf.placeholder(tf.string, []), tf.placeholder(tf.string, [])
    feeds = {new: s.file('new.txt', b'a\nb\n'), old: s.file('old.txt', b'c\n')}
    make = lambda **kw: list(apply('GenerateVocabRemapping', new_vocab_file=new, old_vocab_file=old, **kw).outputs)
    s.run(make(new_vocab_offset=1, num_new_vocab=2), feeds, error=True)
    s.run(make(new_vocab_offset=0, num_new_vocab=2), {new: feeds[new], old: ''}, error=True)
    s.run(make(new_vocab_offset=0, num_new_vocab=2), {new: feeds[new] + 'x', old: feeds[old]}, error=True)
  with script('LoadAndRemapMatrix') as s:
    path = s.file('unused', b'')[:-6] + 'matrix'
    name, rows, cols, fresh = tf.placeholder(tf.string, []), tf.placeholder(tf.int64, [3]), tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])
    matrix = np.arange(20, dtype=np.float32).reshape([5, 4])
    s.run(targets=apply('SaveV2', prefix=name, tensor_names=['m', 'v', 'd'], shape_and_slices=['', '', ''],
                        tensors=[tf.constant(matrix), tf.constant(matrix[0]), tf.constant(matrix.astype(np.float64))]).op, feeds={name: path})
    make = lambda tensor='m', num_cols=4, **kw: apply('LoadAndRemapMatrix', ckpt_path=name, old_tensor_name=tensor, row_remapping=rows, col_remapping=cols,
                                                      initializing_values=fresh, num_rows=3, num_cols=num_cols, **kw)[0]
    s.run(make(), {name: path, rows: [2, 0, 4], cols: [], fresh: []})
    s.run(make(max_rows_in_memory=1), {name: path, rows: [2, -1, 4], cols: [], fresh: [1, 2, 3, 4]})
    s.run(make(num_cols=3), {name: path, rows: [2, -1, 4], cols: [3, -1, 0], fresh: [1, 2, 3, 4, 5]})
    for bad in (dict(fresh=[]), dict(fresh=[1] * 9), dict(rows=[5, 0, 1]), dict(rows=[1, 0, 1])):
      values = dict(dict(rows=[2, -1, 4], cols=[], fresh=[1, 2, 3, 4]), **bad)
      s.run(make(), {name: path, rows: values['rows'], cols: values['cols'], fresh: values['fresh']}, error=True)
    for tensor in ('v', 'd', 'none'):
      s.run(make(tensor), {name: path, rows: [0, 1, 2], cols: [], fresh: []}, error=True)
    s.run(make(num_cols=3), {name: path, rows: [0, 1, 2], cols: [], fresh: []}, error=True)
    s.static_shapes(make())


def integrals():
  x = np.array([0.0, 0.05, 0.3, 0.5, 0.9, 1.0, 1.3, 1.7, 2.0, 2.6, 5.0, 30.0, 400.0])
  for name in ('Spence', 'Dawsn', 'FresnelCos', 'FresnelSin'):
    values = x if name == 'Spence' else np.concatenate([x, -x])
    op(name, values[1:], types=('float', 'double'), tolerance=(3e-5, 2e-6), fd=False)
    # At infinity TensorFlow has no number where Spence has a limit.
    op(name, np.array([0.0, 1.0 if name == 'Spence' else np.inf, np.nan, -1.0 if name == 'Spence' else -0.25]), types=('double',), label='special', grad=False)
    op(name, np.zeros([0, 2]), label='empty', grad=False)


def loops():
  with script('For') as s:
    @function.Defun(tf.int32, tf.float32, tf.float32)
    def body(i, x, y):
      return x + tf.cast(i, tf.float32), y * x
    limits = [tf.placeholder(tf.int32, None) for _ in range(3)]
    y = apply('For', start=limits[0], limit=limits[1], delta=limits[2], input=[tf.constant(1.0), tf.constant([1.0, 2.0])], body=body)
    for values in ((0, 4, 1), (7, 1, -2), (3, 3, 0), (5, 8, 2)):
      s.run(list(y.outputs), dict(zip(limits, values)))
    for values in ((0, 4, -1), (0, 4, 0), ([0], 4, 1)):
      s.run(list(y.outputs), dict(zip(limits, values)), error=True)
  with script('While', 'two_conditions') as s:
    cond = function.Defun(tf.int32)(lambda i: (i < 3, i < 4))
    body = function.Defun(tf.int32)(lambda i: i + 1)
    s.run(list(apply('While', input=[tf.constant(0)], cond=cond, body=body).outputs), error=True)
  for value in (0.0, 0.5, I32(0), I64(3), True, '', 'a', np.zeros([0]), np.zeros([2]), np.zeros([1, 1])):
    with script('ToBool') as s:
      y = apply('ToBool', input=tf.constant(value))[0]
      s.run(y)
      s.static_shapes(y)


def sequences():
  feature = lambda **kw: tf.train.Feature(**kw)
  floats = lambda *v: feature(float_list=tf.train.FloatList(value=v))
  ints = lambda *v: feature(int64_list=tf.train.Int64List(value=v))
  words = lambda *v: feature(bytes_list=tf.train.BytesList(value=v))
  steps = lambda *v: tf.train.FeatureList(feature=v)
  full = tf.train.SequenceExample(
      context=tf.train.Features(feature={'a': floats(1, 2), 'n': ints(7), 'w': words(b'x', b'yy'), 'unset': feature()}),
      feature_lists=tf.train.FeatureLists(feature_list={
          'f': steps(floats(1, 2), floats(3, 4), floats(5, 6)), 's': steps(words(b'p'), words(), words(b'q', b'r')),
          'i': steps(ints(1), feature(), ints(2, 3)), 'short': steps(floats(1, 2), floats(3)), 'none': steps()}))

  def parse(s, error=False, message=full, missing=(), sparse=('n', 'w'), dense=('a',), lists=('s', 'i'), dense_lists=('f',), defaults=None, name=''):
    types = {'a': tf.float32, 'n': tf.int64, 'w': tf.string, 'f': tf.float32, 's': tf.string, 'i': tf.int64, 'short': tf.float32, 'none': tf.float32,
             'absent': tf.float32, 'unset': tf.float32}
    serialized = message if isinstance(message, bytes) else message.SerializeToString(deterministic=True)
    y = apply('ParseSingleSequenceExample', serialized=tf.constant(serialized), feature_list_dense_missing_assumed_empty=tf.constant(list(missing), tf.string),
              context_sparse_keys=[tf.constant(k) for k in sparse], context_dense_keys=[tf.constant(k) for k in dense],
              feature_list_sparse_keys=[tf.constant(k) for k in lists], feature_list_dense_keys=[tf.constant(k) for k in dense_lists],
              context_dense_defaults=[tf.constant(defaults or [], types[k]) for k in dense], debug_name=name,
              context_sparse_types=[types[k] for k in sparse], context_dense_shapes=[[2]] * len(dense), feature_list_sparse_types=[types[k] for k in lists],
              feature_list_dense_types=[types[k] for k in dense_lists], feature_list_dense_shapes=[[2]] * len(dense_lists))
    s.run(list(y.outputs), error=error)
    if not error:
      s.static_shapes(*y.outputs)
  with script('ParseSingleSequenceExample') as s:
    parse(s)
  with script('ParseSingleSequenceExample', 'missing') as s:
    parse(s, sparse=('absent', 'unset'), dense=('absent',), defaults=[8.0, 9.0], lists=('absent', 'none'), dense_lists=('absent', 'none'), missing=('absent',))
  for label, more in (('required', dict(dense=('absent',))), ('list', dict(dense_lists=('absent',))), ('type', dict(dense_lists=('short',), sparse=(), lists=())),
                      ('bytes', dict(message=b'\x0a\x7f'))):
    with script('ParseSingleSequenceExample', label) as s:
      parse(s, error=True, name='me', **more)


def dense_tables():
  make = lambda **kw: apply('MutableDenseHashTableV2', **dict(dict(empty_key=I64(100), deleted_key=I64(200), value_dtype=tf.int64, initial_num_buckets=8), **kw))[0]
  with script('MutableDenseHashTableV2', 'buckets') as s:
    t = make(shared_name='buckets')
    keys, values = apply('LookupTableExportV2', table_handle=t, Tkeys=tf.int64, Tvalues=tf.int64).outputs
    # The order of buckets is nobody's business.
    flat = tf.reshape(keys, [-1])
    show = [tf.nn.top_k(flat, tf.size(flat))[0], tf.reduce_sum(values), tf.shape(keys), tf.shape(values), apply('LookupTableSizeV2', table_handle=t)[0]]
    insert = lambda k, v: apply('LookupTableInsertV2', table_handle=t, keys=I64(k), values=I64(v)).op
    s.run(show)
    s.run(targets=insert([11, 12, 13, 14], [1, 2, 3, 4]))
    s.run(show)
    s.run(targets=apply('LookupTableRemoveV2', table_handle=t, keys=I64([12, 15])).op)
    s.run(show)
    s.run(targets=insert([21, 22, 23, 24, 25], [1, 1, 1, 1, 1]))
    s.run(show)
    find = lambda k: apply('LookupTableFindV2', table_handle=t, keys=I64(k), default_value=I64(-1))[0]
    s.run(find([11, 12, 13, 25]))
    for bad in ([100], [200], [[7, 8]]):
      s.run(find(bad), error=True)
  with script('MutableDenseHashTableV2', 'equal_keys') as s:
    s.run(apply('LookupTableSizeV2', table_handle=make(deleted_key=I64(100)))[0], error=True)
  with script('MutableDenseHashTableV2', 'two_buckets') as s:
    s.run(apply('LookupTableSizeV2', table_handle=make(initial_num_buckets=2))[0], error=True)
  with script('InitializeTableV2', 'empty') as s:
    t = apply('HashTableV2', key_dtype=tf.int64, value_dtype=tf.int64)[0]
    s.run(targets=apply('InitializeTableV2', table_handle=t, keys=I64([]), values=I64([])).op, error=True)
  with script('LookupTableFindV2', 'defaults') as s:
    t = apply('MutableHashTableOfTensorsV2', key_dtype=tf.int64, value_dtype=tf.int64, value_shape=[2])[0]
    find = lambda d: apply('LookupTableFindV2', table_handle=t, keys=I64([[1, 2], [3, 4]]), default_value=I64(d))[0]
    s.run(find([5, 6]))
    s.run(find(np.arange(8).reshape([2, 2, 2])))
    s.run(find(np.arange(8).reshape([4, 2])), error=True)
    s.run(find([[[5, 6], [7, 8]]]), error=True)


def variables():
  with script('AssignVariableOp', 'validate') as s:
    handle = apply('VarHandleOp', dtype=tf.float32, shape=[1, 1], shared_name='validated')[0]
    x = tf.placeholder(tf.float32, None)
    assign = apply('AssignVariableOp', resource=handle, value=x, validate_shape=True).op
    s.run(targets=assign, feeds={x: np.zeros([2, 2])})
    s.run(targets=assign, feeds={x: np.ones([2, 2])})
    s.run(targets=assign, feeds={x: np.zeros([1, 1])}, error=True)
  with script('DisableCopyOnRead') as s:
    v = tf.get_variable('v', initializer=[1.0, 2.0], use_resource=True)
    s.run(targets=v.initializer)
    s.run(targets=apply('DisableCopyOnRead', resource=v.handle).op)
    s.run(v.read_value())


def clusters():
  points = rng('clusters').normal(size=[40, 3]).astype(np.float32) * 10
  centers = points[[3, 17, 5, 30, 22]] + np.float32(0.25)
  for k in (0, 1, 3, 9):
    op('NearestNeighbors', points, centers, np.int64(k), types=None, label='k', tolerance=(1e-3, 1e-3))
  op('NearestNeighbors', points, centers[:, :2], np.int64(1), types=None, label='widths', error=True)
  op('NearestNeighbors', points[0], centers, np.int64(1), types=None, label='vector', error=True)
  distances = np.float32([0, 3, 1, 8, 0.5, 2, 9, 4])
  for seed in range(6):
    op('KMC2ChainInitialization', distances, np.int64(seed), types=None, label='seeds')
    for retries in (0, 2, -1):
      op('KmeansPlusPlusInitialization', points, np.int64(4), np.int64(seed), np.int64(retries), types=None, label='retries')
  op('KMC2ChainInitialization', distances[:0], np.int64(1), types=None, label='empty', error=True)
  for n in (0, 41):
    op('KmeansPlusPlusInitialization', points, np.int64(n), np.int64(1), np.int64(1), types=None, label='samples', error=True)


def ragged_crosses():
  for label, hashed, splits in (('text', False, tf.int64), ('hashes', True, tf.int32)):
    with script('RaggedCross', label) as s:
      strings, numbers = tf.constant(['a', 'b', 'c']), tf.constant([10, 20, 30, 40], tf.int64)
      dense = tf.constant([['x', 'y'], ['z', 'w'], ['u', 'v']])
      out = apply('RaggedCross', ragged_values=[strings, numbers], ragged_row_splits=[tf.constant([0, 2, 2, 3], splits), tf.constant([0, 1, 3, 4], splits)],
                  sparse_indices=[tf.constant([[0, 0], [2, 0], [2, 1]], tf.int64)], sparse_values=[tf.constant(['s', 't', 'r'])],
                  sparse_shape=[tf.constant([3, 2], tf.int64)], dense_inputs=[dense], input_order='RSDR', hashed_output=hashed, num_buckets=100 if hashed else 0,
                  hash_key=956888297470, out_values_type=tf.int64 if hashed else tf.string, out_row_splits_type=splits)
      s.run(out.outputs)
  with script('RaggedCross', 'errors') as s:
    splits, column = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.string)
    out = apply('RaggedCross', ragged_values=[tf.constant(['a', 'b', 'c'])], ragged_row_splits=[splits], sparse_indices=[], sparse_values=[], sparse_shape=[], dense_inputs=[column],
                input_order='RD', hashed_output=False, num_buckets=0, hash_key=1, out_values_type=tf.string, out_row_splits_type=tf.int64)
    good = np.array([['x'], ['y']], object)
    s.run(out.outputs, {splits: np.int64([0, 1, 3]), column: good})
    for bad in ([], [1, 3], [0, 2, 1], [0, 2], [0, 1, 2, 3]):
      s.run(out.outputs, {splits: np.int64(bad), column: good}, error=True)
    s.run(out.outputs, {splits: np.int64([0, 1, 3]), column: np.array(['x', 'y'], object)}, error=True)


def stubs():
  with script('StubResourceHandleOp', 'make') as s:
    a, b = [apply('StubResourceHandleOp', container='c', shared_name=name)[0] for name in 'ab']
    made = [apply('ResourceInitializedOp', resource=h)[0] for h in (a, b)]
    create, use = apply('ResourceCreateOp', resource=a).op, apply('ResourceUsingOp', resource=a).op
    s.run(made)
    s.run(targets=use, error=True)
    s.run(targets=create)
    s.run(made)
    s.run(targets=use)
    s.run(targets=create, error=True)
  op('_EagerConst', np.arange(6.0).reshape(2, 3), types=('float', 'int32', 'string'), grad=False)
  for names in (['CPU', 'GPU'], ['GPU', 'CPU'], ['TPU'], []):
    with script('DeviceIndex', '_'.join(names) or 'none') as s:
      s.run(apply('DeviceIndex', device_names=names)[0])


def cases():
  bincounts()
  data_formats()
  fingerprints()
  blocks()
  dilations()
  quantized()
  samplers()
  distributions()
  beams()
  reshapes()
  slice_updates()
  packed_records()
  remappings()
  crosses()
  fractional()
  integrals()
  loops()
  sequences()
  dense_tables()
  variables()
  clusters()
  ragged_crosses()
  stubs()
