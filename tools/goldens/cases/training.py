# SPDX-License-Identifier: Apache-2.0
"""Update rules of optimizers: dense and sparse, on variables of both kinds, over several steps."""
import numpy as np

from cases.state import c, handle, read, ref
from record import apply, convert, cpu_types, op_def_registry, script, tf, type_name

V0 = np.array([[1.0, -2, 0.5], [3, 4, -1], [0.25, 0, 2], [-3, 1, 1]])
GRADS = [np.array([[0.1, -0.2, 0.3], [0, 0.5, -0.25], [1, -1, 2], [0.5, 0.5, 0]]),
         np.array([[1.0, 2, -3], [0.5, 0, 1], [0.1, 0.2, 0.3], [-1, 0, 0.25]]),
         np.array([[-0.5, 0.25, 0], [1, -1, 2], [0.75, -0.5, 0.1], [2, 1, -1]])]
RULES = ['GradientDescent', 'Momentum', 'Adagrad', 'Adam', 'RMSProp', 'AdaMax', 'Adadelta', 'AdagradDA', 'AdagradV2', 'AddSign',
         'CenteredRMSProp', 'Ftrl', 'FtrlV2', 'PowerSign', 'ProximalAdagrad', 'ProximalGradientDescent', 'AdamWithAmsgrad',
         'KerasMomentum']
FIRST_VALUES = {'accum': 0.1, 'ms': 0.9, 'mg': 0.2}  # of slots; others start at zero
SCALARS = {'alpha': 0.1, 'lr': 0.1, 'momentum': 0.9, 'beta1_power': 0.9, 'beta2_power': 0.999, 'beta1': 0.9, 'beta2': 0.999,
           'epsilon': 1e-3, 'rho': 0.9, 'l1': 0.05, 'l2': 0.01, 'lr_power': -0.5, 'l2_shrinkage': 0.1, 'sign_decay': 0.95, 'beta': 0.9,
           'logbase': 1.0}
TOLERANCE = (2e-5, 2e-6)


class Rule:
  """Variables and one update op."""

  def __init__(self, op, t, v0=V0, index=np.int32, scalar=None, **attrs):
    op_def = op_def_registry.get(op)
    self.t = t
    self.resource = op.startswith('Resource')
    self.grad, self.indices = tf.placeholder(t, None), None
    inputs, self.init, self.values = {}, [], []
    for arg in op_def.input_arg:
      if arg.is_ref or arg.type == tf.resource.as_datatype_enum:
        inputs[arg.name] = self._variable(arg.name, v0)
      elif arg.name in ('grad', 'delta'):
        inputs[arg.name] = self.grad
      elif arg.name == 'indices':
        self.indices = inputs[arg.name] = tf.placeholder(index, None)
      elif arg.name == 'global_step':
        inputs[arg.name] = tf.constant(3, tf.int64)
      else:
        inputs[arg.name] = c(SCALARS[arg.name], t) if scalar is None else scalar
    self.update = apply(op, **inputs, **attrs).op

  def _variable(self, name, v0):
    value = c(v0 if name == 'var' else np.full(v0.shape, FIRST_VALUES.get(name, 0.0)), self.t)
    if self.resource:
      v = handle(self.t, v0.shape, name)
      self.init.append(apply('AssignVariableOp', resource=v, value=value).op)
      self.values.append(read(v, self.t))
    else:
      v = ref(self.t, v0.shape, name)
      self.init.append(apply('Assign', ref=v, value=value).op)
      self.values.append(tf.identity(v))
    return v

  def feeds(self, grad, indices):
    feeds = {self.grad: convert(grad, self.t)}
    if self.indices is not None:
      feeds[self.indices] = np.array(indices, self.indices.dtype.as_numpy_dtype)
      feeds[self.grad] = convert(np.asarray(grad)[:len(indices)], self.t) if np.ndim(indices) else feeds[self.grad]
    return feeds

  def step(self, s, grad, indices=(2, 0), error=False):
    s.run(targets=self.update, feeds=self.feeds(grad, indices), error=error)


def steps(op, label, t='float', tolerance=TOLERANCE, **kw):
  with script(op, label, tolerance=tolerance) as s:
    rule = Rule(op, t, **kw)
    s.run(targets=rule.init)
    for grad, indices in zip(GRADS, ((2, 0), (1, 3, 0), (2,))):
      rule.step(s, grad, indices)
      s.run(rule.values)


def updates(op):
  op_def = op_def_registry.get(op)
  attrs = {a.name for a in op_def.attr}
  sparse = 'indices' in {a.name for a in op_def.input_arg}
  for t in cpu_types(op):
    steps(op, type_name(t), type_name(t), tolerance=TOLERANCE)
  if sparse:
    steps(op, 'int64', index=np.int64)
  for attr in ('use_locking', 'use_nesterov', 'multiply_linear_by_lr'):
    if attr in attrs:
      steps(op, attr, **{attr: True})
  if 'update_slots' in attrs:
    steps(op, 'update_slots', update_slots=False)
  with script(op, 'errors') as s:
    rule = Rule(op, 'float')
    rule.step(s, GRADS[0], error=True)
    s.run(targets=rule.init)
    if sparse:
      rule.step(s, GRADS[0], [4], error=True)
      rule.step(s, GRADS[0], [-1], error=True)
      s.run(targets=rule.update, feeds={rule.grad: GRADS[0], rule.indices: [0, 1]}, error=True)
    else:
      rule.step(s, GRADS[0][:1], error=True)
      rule.step(s, 1.0, error=True)
    s.run(rule.values)
  if any(a.name in SCALARS for a in op_def.input_arg) and op_def.input_arg[1].name not in ('alpha',):
    with script(op, 'vector_rate') as s:
      rule = Rule(op, 'float', scalar=tf.placeholder_with_default(np.float32([0.1, 0.2]), None))
      s.run(targets=rule.init)
      rule.step(s, GRADS[0], error=True)
  if not sparse:
    dense_only(op)


def dense_only(op):
  with script(op, 'many', tolerance=(1e-4, 1e-5)) as s:
    rule = Rule(op, 'float', v0=np.resize(np.linspace(-1, 1, 251), [97, 53]))
    s.run(targets=rule.init)
    for k in range(3):
      rule.step(s, np.resize(np.linspace(-0.5, 0.7, 101 + k), [97, 53]))
    s.run(rule.values[0])
  with script(op, 'empty') as s:
    rule = Rule(op, 'float', v0=np.zeros([0, 2]))
    s.run(targets=rule.init)
    rule.step(s, np.zeros([0, 2]))
    s.run(rule.values)
  if not op.startswith('Resource'):
    with script(op, 'output') as s:
      rule = Rule(op, 'float')
      s.run(targets=rule.init)
      s.run(rule.update.outputs[0], rule.feeds(GRADS[0], None))


def cases():
  for rule in RULES:
    for prefix in ('Apply', 'ResourceApply', 'SparseApply', 'ResourceSparseApply'):
      op = prefix + rule
      if op_def_registry.get(op) is not None:
        updates(op)
