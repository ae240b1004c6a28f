# SPDX-License-Identifier: Apache-2.0
"""Special functions, values of few bits, and tensors that wait between steps."""
import numpy as np

from record import apply, op, rng, script, tf

X = np.array([-30.0, -2.5, -0.3, 0, 0.2, 1, 3.7, 12, 60])
LOOSE = dict(tolerance=(2e-4, 1e-5), fd=False)


def functions():
  for name in ('BesselI0e', 'BesselI1e', 'BesselI0', 'BesselI1', 'BesselJ0', 'BesselJ1'):
    op(name, X, types=('float', 'double', 'half') if name.endswith('e') or 'J' in name else ('float', 'double'), **LOOSE)
  for name in ('BesselK0', 'BesselK1', 'BesselK0e', 'BesselK1e', 'BesselY0', 'BesselY1'):
    op(name, X[4:], types=('float', 'double'), **LOOSE)
    if name != 'BesselY1':
      op(name, np.array([0.0]), label='zero', grad=False)
  op('Expint', np.array([-3.0, -0.5, 0.1, 1, 5, 20]), types=('float', 'double'), **LOOSE)
  a, x = np.array([[0.1], [0.7], [1], [3.5], [20]]), np.array([0.01, 0.5, 1, 4, 25])
  op('Igamma', a, x, types=('float',), **LOOSE)
  op('Igammac', a, x, types=('float',), **LOOSE)
  op('Igamma', a, x, types=('double',), grad=False, **LOOSE)
  op('Igammac', a, x, types=('double',), grad=False, **LOOSE)
  op('IgammaGradA', a, x, types=('float',), grad=False, **LOOSE)
  op('Igamma', np.array([-1.0, 0, 1, 1]), np.array([1.0, 1, 0, -1]), label='edges', grad=False)
  op('Igammac', np.array([-1.0, 0, 1, 1]), np.array([1.0, 1, 0, -1]), label='edges', grad=False)
  p, q, z = np.array([0.3, 1, 2.5, 10, 0.5]), np.array([0.7, 2, 1, 3, 30]), np.array([0.1, 0.5, 0.9, 0.99, 0.01])
  op('Betainc', p, q, z, types=('float', 'double'), **LOOSE)
  op('Betainc', np.array(2.0), q, z, label='scalar', **LOOSE)
  op('Betainc', np.array([-1.0, 1, 1, 1]), np.array([1.0, 1, 1, 1]), np.array([0.5, 0, 1, 2]), label='edges', grad=False)
  op('Betainc', p, q[:2], z, label='shapes', error=True)


def few_bits():
  x = rng('quant').uniform(-8, 8, [3, 4]).astype(np.float32)
  f = np.float32
  for kw in ({}, dict(min=-1.5, max=3.3), dict(num_bits=3), dict(narrow_range=True), dict(min=0.5, max=4.0), dict(min=-5.0, max=-1.0)):
    op('FakeQuantWithMinMaxArgs', x, types=None, label='kinds', **kw)
    op('FakeQuantWithMinMaxArgsGradient', x, x[::-1].copy(), types=None, label='kinds', **kw)
  for low, high in ((-6, 6), (0, 0), (-1.2, 5.5), (1, 3)):
    for kw in ({}, dict(num_bits=4, narrow_range=True)):
      op('FakeQuantWithMinMaxVars', x, f(low), f(high), types=None, label='ranges', **kw)
      op('FakeQuantWithMinMaxVarsGradient', x, x[::-1].copy(), f(low), f(high), types=None, label='ranges', **kw)
  low, high = f([-6, -1, 0, 0.5]), f([6, 1, 3, 4])
  op('FakeQuantWithMinMaxVarsPerChannel', x, low, high, types=None)
  op('FakeQuantWithMinMaxVarsPerChannelGradient', x, x[::-1].copy(), low, high, types=None)
  op('FakeQuantWithMinMaxVarsPerChannel', x, low[:3], high[:3], types=None, label='channels', error=True)
  op('FakeQuantWithMinMaxVars', x, low, high, types=None, label='vectors', error=True)
  with script('FakeQuantWithMinMaxVars', 'gradient', fd=False) as s:
    i, a, b = (tf.placeholder(tf.float32, v.shape) for v in (x, f(0), f(0)))
    y = apply('FakeQuantWithMinMaxVars', inputs=i, min=a, max=b)[0]
    s.gradients([y], [i, a, b], {i: x, a: -3, b: 2})


def waiting():
  with script('Stage', '') as s:
    a, b = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.string, [])
    kw = dict(shared_name='area', capacity=3)
    stage = apply('Stage', values=[a, b], **kw).op
    size = apply('StageSize', dtypes=[tf.float32, tf.string], **kw)[0]
    taken = apply('Unstage', dtypes=[tf.float32, tf.string], **kw).outputs
    s.run(size)
    s.run(targets=stage, feeds={a: [1, 2], b: np.array('x', object)})
    s.run(targets=stage, feeds={a: [3, 4], b: np.array('y', object)})
    s.run(size)
    s.run(taken)
    s.run(taken)
    s.run(size)
  # Tensors are there once their handle was fetched; handles are of one session, so that what they lead to is not recorded.
  with script('GetSessionHandle', '') as s:
    s.run(targets=apply('GetSessionHandle', value=tf.constant([1.0, 2])).op)
    missing = tf.placeholder(tf.string, [])
    feeds = {missing: np.array('nothing', object)}
    s.run(apply('GetSessionTensor', handle=missing, dtype=tf.float32)[0], feeds, error=True)
    s.run(targets=apply('DeleteSessionTensor', handle=missing).op, feeds=feeds, error=True)
  with script('GetSessionHandleV2', '') as s:
    s.run(targets=apply('GetSessionHandleV2', value=tf.constant(1.0)).op)


def cases():
  functions()
  few_bits()
  waiting()
