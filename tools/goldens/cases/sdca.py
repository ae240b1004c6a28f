# SPDX-License-Identifier: Apache-2.0
"""Dual coordinate ascent of linear models. TensorFlow takes examples in an order that no seed fixes, so that batches here have one example, or
examples without a feature in common."""
import numpy as np

from cases.state import c, ref
from record import apply, op, script, tf

I64, F = np.int64, np.float32
LOSSES = {'squared_loss': [0.5, -2, 3], 'logistic_loss': [0, 1, 1], 'hinge_loss': [0, 1, 0], 'smooth_hinge_loss': [1, 0, 1],
          'poisson_loss': [0, 2, 7]}
DUALS = {'squared_loss': [0.3, -1, 0.1], 'poisson_loss': [-0.5, 1, 6]}
TOLERANCE = (1e-5, 1e-6)


def sparse(value):
  return [np.array(value, I64)]


def batch(loss='squared_loss', **changes):
  """Inputs of three examples without a common feature: two sparse groups, the first with values, and a dense one."""
  labels = np.array(LOSSES[loss], F)
  duals = np.array(DUALS.get(loss, (2 * labels - 1) * [0.25, 0.5, 0.75]), F)
  inputs = {
      'example_indices': sparse([0, 0, 1]) + sparse([1, 2, 2]), 'feature_indices': sparse([7, 3, 5]) + sparse([0, 1, 9]),
      'values': [np.array([0.5, -2, 1.5], F)], 'dense': [np.array([[1, 0, 0], [0, 2, 0], [0, 0, -0.5]], F)],
      'weights': np.array([1, 0.5, 2], F), 'labels': labels, 'indices': sparse([3, 7, 5, 8]) + sparse([9, 1, 0]),
      'sparse_weights': [np.array([0.2, -0.4, 0.6, 1], F), np.array([0.1, 0.3, -0.5], F)], 'dense_weights': [np.array([0.7, -0.1, 0.4], F)],
      'state': np.stack([duals, np.zeros(3, F), np.zeros(3, F), np.ones(3, F)], axis=1)}
  for name, value in changes.items():
    assert name in inputs
    inputs[name] = value
  return list(inputs.values())


def one(loss='squared_loss', label=None, weight=1.5, dual=0.0, x=(0.5, -1, 2), w=(0.3, 0.2, -0.4)):
  """One example with dense features."""
  label = LOSSES[loss][1] if label is None else label
  return [[], [], [], [np.array([x], F)], np.array([weight], F), np.array([label], F), [], [], [np.array(w, F)],
          np.array([[dual, 0, 0, 0]], F)]


def train(name, inputs, label, loss='squared_loss', l1=0.0, l2=1.0, partitions=1, iterations=1, **kw):
  op(name, *inputs, types=None, label=label, grad=False, loss_type=loss, l1=l1, l2=l2, num_loss_partitions=partitions,
     num_inner_iterations=iterations, **dict({'tolerance': TOLERANCE}, **kw))


def optimizers(name, adaptive):
  for loss in LOSSES:
    train(name, batch(loss), loss, loss)
    train(name, batch(loss), loss + '_l1', loss, l1=0.15, l2=0.5, partitions=3)
    train(name, one(loss), loss + '_one', loss, l2=0.01, iterations=3)
    train(name, one(loss, label=0), loss + '_adaptive', loss, **{adaptive: True})
    train(name, one(loss, label=1, w=(4, -3, 5)), loss + '_sure', loss, l2=0.1)
    train(name, one(loss, label=1, w=(-4, 3, -5)), loss + '_wrong', loss, l2=10.0)
    train(name, one(loss, label=1, weight=0.0), loss + '_weightless', loss)
    train(name, one(loss, label=1, x=(0, 0, 0)), loss + '_no_features', loss)
  for loss, label, dual in (('hinge_loss', 1, -0.5), ('smooth_hinge_loss', 0, -1.5), ('poisson_loss', 1, 2), ('logistic_loss', 1, 1)):
    train(name, one(loss, label=label, dual=dual), loss + '_outside', loss)
  train(name, one(x=np.linspace(-1, 1, 37), w=np.linspace(0.5, -2, 37)), 'wide', l1=0.3, l2=2.0)
  none = np.zeros([0], F)
  train(name, batch(example_indices=sparse([]) * 2, feature_indices=sparse([]) * 2, values=[none], dense=[np.zeros([0, 3], F)], weights=none,
                    labels=none, state=np.zeros([0, 4], F)), 'empty')
  train(name, batch(example_indices=sparse([1, 0, 2]) + sparse([1, 2, 5])), 'unsorted')
  train(name, batch(indices=sparse([3, 7, 5]) + sparse([9, 1, 0])), 'more_weights')
  errors(name)


def errors(name):
  fails = lambda label, loss='squared_loss', **changes: train(name, batch(loss, **changes), 'bad_' + label, loss, error=True)
  for loss in ('logistic_loss', 'hinge_loss', 'smooth_hinge_loss'):
    fails('label_' + loss, loss, labels=np.array([0, 1, 0.5], F))
  fails('count', 'poisson_loss', labels=np.array([0, 1, -1], F))
  fails('labels', labels=np.zeros([2], F))
  fails('state_rank', state=np.zeros([12], F))
  fails('state_width', state=np.zeros([3, 3], F))
  fails('state_rows', state=np.zeros([2, 4], F))
  fails('unknown_feature', feature_indices=sparse([7, 3, 4]) + sparse([0, 1, 9]))
  fails('negative_feature', feature_indices=sparse([7, -3, 5]) + sparse([0, 1, 9]))
  fails('repeated_feature', feature_indices=sparse([7, 7, 5]) + sparse([0, 1, 9]))
  fails('fewer_features', feature_indices=sparse([7, 3]) + sparse([0, 1, 9]))
  fails('dense_rank', dense=[np.zeros([3], F)])
  fails('dense_width', dense=[np.zeros([3, 4], F)])
  fails('dense_empty', dense=[np.zeros([3, 0], F)])
  empty = one()
  empty[3], empty[8] = [], []
  train(name, empty, 'bad_no_features', error=True)


def shrink():
  for count, l1, l2 in ((2, 0.5, 2.0), (1, 0.0, 1.0), (1, 1.0, 0.0), (0, 1.0, 1.0)):
    with script('SdcaShrinkL1', ('%d_%g_%g' % (count, l1, l2)).replace('.', 'p')) as s:
      values = [np.array([[0.2, -0.2, 0.25], [-3, 4, 0]]), np.array([1.5, -0.25])][:count]
      variables = [ref(shape=v.shape, name='w%d' % i) for i, v in enumerate(values)]
      update = apply('SdcaShrinkL1', weights=variables, l1=l1, l2=l2).op
      if count:
        s.run(targets=update, error=True)
        s.run(targets=[apply('Assign', ref=v, value=c(x)).op for v, x in zip(variables, values)])
      s.run(targets=update)
      s.run(targets=update)
      if count:
        s.run([tf.identity(v) for v in variables])


def fingerprints():
  text = bytes(range(256)) * 3
  lengths = list(range(40)) + [47, 48, 49, 63, 64, 65, 127, 128, 143, 144, 145, 159, 160, 175, 176, 207, 208, 255, 256, 271, 272, 273, 305, 511, 700]
  op('SdcaFprint', np.array([text[n % 7:][:n] for n in lengths], object), types=None, grad=False)
  op('SdcaFprint', np.array([], object), types=None, label='empty', grad=False)
  for shape in ([], [1, 1]):
    op('SdcaFprint', np.full(shape, 'a', object), types=None, label='rank%d' % len(shape), error=True)


def cases():
  optimizers('SdcaOptimizer', 'adaptative')
  optimizers('SdcaOptimizerV2', 'adaptive')
  shrink()
  fingerprints()
