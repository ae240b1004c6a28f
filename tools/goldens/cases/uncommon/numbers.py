# SPDX-License-Identifier: Apache-2.0
"""Special functions, samples, clusters."""
import numpy as np

from cases.uncommon.common import I32, I64
from record import apply, op, rng, script, tf


def sobol():
  for dim, count, skip in ((1, 9, 0), (2, 4, 0), (5, 31, 7), (40, 6, 1000), (700, 3, 12345), (1111, 2, 0), (3, 5, 2**29)):
    with script('SobolSample', '%d_%d_%d' % (dim, count, skip)) as s:
      for dtype in (tf.float32, tf.float64):
        y = apply('SobolSample', dim=dim, num_results=count, skip=skip, dtype=dtype)[0]
        s.run(y)
        s.static_shapes(y)
  for label, args in (('dim', (0, 1, 0)), ('count', (1, 0, 0)), ('skip', (1, 1, -1)), ('far', (1, 2, 2**31 - 2)), ('many', (10, 2**30, 0)), ('high', (21300, 1, 0))):
    op('SobolSample', *[I32(v) for v in args], types=None, label=label, error=True)
  op('SobolSample', I32([1]), I32(1), I32(0), types=None, label='vector', error=True)


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


def integrals():
  x = np.array([0.0, 0.05, 0.3, 0.5, 0.9, 1.0, 1.3, 1.7, 2.0, 2.6, 5.0, 30.0, 400.0])
  for name in ('Spence', 'Dawsn', 'FresnelCos', 'FresnelSin'):
    values = x if name == 'Spence' else np.concatenate([x, -x])
    op(name, values[1:], types=('float', 'double'), tolerance=(3e-5, 2e-6), fd=False)
    # At infinity TensorFlow has no number where Spence has a limit.
    op(name, np.array([0.0, 1.0 if name == 'Spence' else np.inf, np.nan, -1.0 if name == 'Spence' else -0.25]), types=('double',), label='special', grad=False)
    op(name, np.zeros([0, 2]), label='empty', grad=False)


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
