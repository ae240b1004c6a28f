# SPDX-License-Identifier: Apache-2.0
"""Random numbers with given seeds: the same as TensorFlow's, over consecutive runs of one session."""
import numpy as np

from record import apply, convert, script, tf

FLOATS = ('float', 'double', 'half', 'bfloat16')


def cases():
  for name in ('RandomUniform', 'RandomStandardNormal', 'TruncatedNormal'):
    for t in FLOATS:
      for label, shape in (('few', [2, 3]), ('odd', [11]), ('many', [300, 11]) if t in ('float', 'double') else ('some', [130])):
        with script(name, '%s_%s' % (t, label)) as s:
          y = apply(name, shape=tf.constant(shape), dtype=tf.as_dtype(t), seed=87654321, seed2=12)[0]
          s.run(y)
          s.run(y)
          s.static_shapes(y)
    with script(name, 'two_nodes') as s:
      a = apply(name, shape=tf.constant([4], tf.int64), dtype=tf.float32, seed=1, seed2=2)[0]
      b = apply(name, shape=tf.constant([4]), dtype=tf.float32, seed=1, seed2=3)[0]
      s.run([a, b])
      s.run(b)
      s.run([a, b])
    with script(name, 'shapes') as s:
      shape = tf.placeholder(tf.int32, None)
      y = apply(name, shape=shape, dtype=tf.float32, seed=5)[0]
      s.run(y, {shape: np.zeros([0], np.int32)})
      s.run(y, {shape: [0, 3]})
      s.run(y, {shape: [2, 2]})
      s.run(y, {shape: [-1]}, error=True)
      s.run(y, {shape: [[2]]}, error=True)
    with script(name, 'seed2_only') as s:
      y = apply(name, shape=tf.constant([5]), dtype=tf.float32, seed2=77)[0]
      s.run(y)
  for t in ('int32', 'int64'):
    with script('RandomUniformInt', t) as s:
      low, high = tf.placeholder(t, None), tf.placeholder(t, None)
      y = apply('RandomUniformInt', shape=tf.constant([3, 4]), minval=low, maxval=high, seed=4, seed2=9)[0]
      s.run(y, {low: -5, high: 17})
      s.run(y, {low: 0, high: np.iinfo(t).max})
      s.run(y, {low: np.iinfo(t).min, high: np.iinfo(t).max})
      s.run(y, {low: 3, high: 4})
      s.run(y, {low: 4, high: 4}, error=True)
      s.run(y, {low: 5, high: 4}, error=True)
      s.run(y, {low: [1, 2], high: 4}, error=True)
    with script('RandomUniformInt', t + '_many') as s:
      y = apply('RandomUniformInt', shape=tf.constant([1001], tf.int64), minval=tf.constant(-100, t), maxval=tf.constant(1000, t),
                seed=4, seed2=9)[0]
      s.run(y)
      s.run(y)
  for t in FLOATS + ('int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'complex64', 'complex128', 'bool', 'string'):
    with script('RandomShuffle', t) as s:
      x = tf.constant(convert(np.arange(14.0).reshape(7, 2), t), t)
      y = apply('RandomShuffle', value=x, seed=3, seed2=8)[0]
      s.run(y)
      s.run(y)
      s.static_shapes(y)
  for label, shape in (('scalar', ()), ('empty', (0, 2)), ('one', (1, 3)), ('vector', (100,)), ('rank3', (5, 2, 3))):
    with script('RandomShuffle', label) as s:
      y = apply('RandomShuffle', value=tf.constant(np.arange(np.prod(shape, dtype=int)).reshape(shape), tf.int32), seed=3, seed2=8)[0]
      s.run(y)
      s.run(y)
  multinomial()
  stateless()
  samplers()


def multinomial():
  logits = np.array([[0.0, 1, 2, -1], [5, np.inf, 0, -np.inf], [1, 1, 1, 1]])
  for t in FLOATS:
    with script('Multinomial', t) as s:
      y = apply('Multinomial', logits=tf.constant(logits, t), num_samples=tf.constant(7), seed=5, seed2=6)[0]
      s.run(y)
      s.run(y)
      s.static_shapes(y)
  with script('Multinomial', 'sizes') as s:
    x, n = tf.placeholder(tf.float32, None), tf.placeholder(tf.int32, None)
    y = apply('Multinomial', logits=x, num_samples=n, output_dtype=tf.int32, seed=5)[0]
    s.run(y, {x: logits[:1], n: 3})
    s.run(y, {x: logits[:1], n: 0})
    s.run(y, {x: np.zeros([0, 2]), n: 3})
    s.run(y, {x: logits[0], n: 3}, error=True)
    s.run(y, {x: logits, n: [3]}, error=True)
    s.run(y, {x: logits, n: -1}, error=True)
    s.run(y, {x: np.zeros([2, 0]), n: 3}, error=True)


def stateless():
  seed = [3, -5000000000]
  for name in ('StatelessRandomUniform', 'StatelessRandomNormal', 'StatelessTruncatedNormal'):
    for t in FLOATS:
      for label, shape in (('few', [2, 3]), ('some', [130])):
        with script(name, '%s_%s' % (t, label)) as s:
          y = apply(name, shape=tf.constant(shape), seed=tf.constant(seed, tf.int64), dtype=tf.as_dtype(t))[0]
          s.run(y)
          s.run(y)
          s.static_shapes(y)
        with script(name + 'V2', '%s_%s' % (t, label)) as s:
          key, counter = tf.constant([12345678901234], tf.uint64), tf.constant([7, 2**63 + 5], tf.uint64)
          y = apply(name + 'V2', shape=tf.constant(shape), key=key, counter=counter, alg=tf.constant(1), dtype=tf.as_dtype(t))[0]
          s.run(y)
          s.static_shapes(y)
    with script(name, 'seeds') as s:
      given = tf.placeholder(tf.int32, None)
      y = apply(name, shape=tf.constant([3]), seed=given)[0]
      s.run(y, {given: [1, 2]})
      s.run(y, {given: [-1, 2]})
      s.run(y, {given: [1, 2, 3]}, error=True)
      s.run(y, {given: 1}, error=True)
  for t in ('int32', 'int64'):
    with script('StatelessRandomUniformInt', t) as s:
      low, high = tf.placeholder(t, None), tf.placeholder(t, None)
      y = apply('StatelessRandomUniformInt', shape=tf.constant([3, 4]), seed=tf.constant(seed, tf.int64), minval=low, maxval=high)[0]
      s.run(y, {low: -5, high: 17})
      s.run(y, {low: 5, high: 5}, error=True)
    with script('StatelessRandomUniformIntV2', t) as s:
      low, high = tf.placeholder(t, None), tf.placeholder(t, None)
      key, counter = tf.constant([12345678901234], tf.uint64), tf.constant([7, 2**63 + 5], tf.uint64)
      y = apply('StatelessRandomUniformIntV2', shape=tf.constant([3, 4]), key=key, counter=counter, alg=tf.constant(1),
                minval=low, maxval=high)[0]
      s.run(y, {low: -5, high: 17})
  for name in ('StatelessRandomGetKeyCounter', 'StatelessRandomGetKeyCounterAlg'):
    with script(name) as s:
      given = tf.placeholder(tf.int64, [2])
      y = apply(name, seed=given)
      for value in (seed, [0, 0], [1, 2]):
        s.run(list(y.outputs), {given: value})
  with script('StatelessRandomGetAlg') as s:
    s.run(apply('StatelessRandomGetAlg')[0])


def samplers():
  true = np.int64([[0, 1], [5, 30], [99, 3]])
  for name in ('LogUniformCandidateSampler', 'UniformCandidateSampler'):
    for unique, sampled, most in ((False, 9, 100), (True, 9, 100), (True, 16, 16), (False, 5, 64)):
      with script(name, 'unique%d_%d_%d' % (unique, sampled, most), tolerance=(1e-5, 1e-6)) as s:
        y = apply(name, true_classes=tf.constant(np.minimum(true, most - 1)), num_true=2, num_sampled=sampled, unique=unique,
                  range_max=most, seed=7, seed2=8)
        s.run(list(y.outputs))
        s.run(list(y.outputs))
        s.static_shapes(*y.outputs)
    with script(name, 'errors') as s:
      x = tf.placeholder(tf.int64, None)
      y = apply(name, true_classes=x, num_true=2, num_sampled=3, unique=True, range_max=10, seed=7)
      s.run(y[0], {x: true[0]}, error=True)
      s.run(y[0], {x: true[:, :1]}, error=True)
    with script(name, 'too_many') as s:
      s.run(apply(name, true_classes=tf.constant(true), num_true=2, num_sampled=11, unique=True, range_max=10, seed=7)[0], error=True)
  with script('ComputeAccidentalHits') as s:
    x, sampled = tf.placeholder(tf.int64, None), tf.placeholder(tf.int64, None)
    y = apply('ComputeAccidentalHits', true_classes=x, sampled_candidates=sampled, num_true=2)
    s.run(list(y.outputs), {x: true, sampled: [7, 99, 1, 5, 5]})
    s.run(list(y.outputs), {x: true, sampled: [200]})
    s.run(list(y.outputs), {x: true[:, :1], sampled: [7]}, error=True)
    s.run(list(y.outputs), {x: true, sampled: 7}, error=True)
