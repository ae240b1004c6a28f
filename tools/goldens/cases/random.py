# SPDX-License-Identifier: Apache-2.0
"""Random numbers with given seeds: the same as TensorFlow's, over consecutive runs of one session."""
import numpy as np

from record import apply, convert, op, script, tf

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
