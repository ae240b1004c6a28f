# SPDX-License-Identifier: Apache-2.0
"""Update rules of optimizers, on variables of both kinds, over several steps."""
import numpy as np

from cases.state import c, handle, read, ref
from record import apply, convert, script, tf

TYPES = ('float', 'double', 'half', 'bfloat16', 'complex64', 'complex128')
V0 = np.array([[1.0, -2, 0.5], [3, 4, -1]])
GRADS = [np.array([[0.1, -0.2, 0.3], [0, 0.5, -0.25]]), np.array([[1.0, 2, -3], [0.5, 0, 1]]), np.array([[-0.5, 0.25, 0], [1, -1, 2]])]

# op -> (slots with their first values, scalars before the gradient, scalars after it)
RULES = {
    'ApplyGradientDescent': ([], [('alpha', 0.1)], []),
    'ApplyMomentum': ([('accum', 0.0)], [('lr', 0.1)], [('momentum', 0.9)]),
    'ApplyAdagrad': ([('accum', 0.1)], [('lr', 0.1)], []),
    'ApplyAdam': ([('m', 0.0), ('v', 0.0)], [('beta1_power', 0.9), ('beta2_power', 0.999), ('lr', 0.01), ('beta1', 0.9),
                                             ('beta2', 0.999), ('epsilon', 1e-3)], []),
    'ApplyRMSProp': ([('ms', 0.9), ('mom', 0.0)], [('lr', 0.1), ('rho', 0.9), ('momentum', 0.5), ('epsilon', 1e-3)], []),
}


class Rule:
  """Variables and one update op of a rule, by reference or by handle."""

  def __init__(self, op, t, resource, v0=V0, grad=None, scalar=None, **attrs):
    slots, before, after = RULES[op]
    self.t, self.resource = t, resource
    names = ['var'] + [n for n, _ in slots]
    make = handle if resource else ref
    self.variables = [make(t, v0.shape, n) for n in names]
    values = [c(v0, t)] + [c(np.full(v0.shape, x), t) for _, x in slots]
    if resource:
      self.init = [apply('AssignVariableOp', resource=v, value=x).op for v, x in zip(self.variables, values)]
      self.values = [read(v, t) for v in self.variables]
    else:
      self.init = [apply('Assign', ref=v, value=x).op for v, x in zip(self.variables, values)]
      self.values = [tf.identity(v) for v in self.variables]
    self.grad = tf.placeholder(t, None) if grad is None else grad
    inputs = dict(zip(names, self.variables))
    inputs.update({n: c(x, t) if scalar is None else scalar for n, x in before + after})
    inputs['delta' if op == 'ApplyGradientDescent' else 'grad'] = self.grad
    if resource:
      self.update = apply('Resource' + op, **inputs, **attrs).op
    else:
      self.update = apply(op, **inputs, **attrs).op

  def step(self, s, grad, error=False):
    s.run(targets=self.update, feeds={self.grad: convert(grad, self.t)}, error=error)


def updates(op, resource):
  name = ('Resource' if resource else '') + op
  tolerance = (2e-5, 2e-6)
  for t in TYPES:
    with script(name, t, tolerance=tolerance) as s:
      rule = Rule(op, t, resource)
      s.run(targets=rule.init)
      for grad in GRADS:
        rule.step(s, grad)
        s.run(rule.values)
  if not resource:
    with script(name, 'output') as s:
      rule = Rule(op, 'float', resource)
      s.run(targets=rule.init)
      s.run(rule.update.outputs[0], {rule.grad: GRADS[0]})
  options = [dict(use_locking=True)]
  options += [dict(use_nesterov=True)] if op in ('ApplyMomentum', 'ApplyAdam') else []
  options += [dict(update_slots=False)] if op == 'ApplyAdagrad' else []
  for attrs in options:
    with script(name, list(attrs)[0], tolerance=tolerance) as s:
      rule = Rule(op, 'float', resource, **attrs)
      s.run(targets=rule.init)
      for grad in GRADS:
        rule.step(s, grad)
        s.run(rule.values)
  with script(name, 'errors') as s:
    rule = Rule(op, 'float', resource)
    rule.step(s, GRADS[0], error=True)
    s.run(targets=rule.init)
    rule.step(s, GRADS[0][:1], error=True)
    rule.step(s, 1.0, error=True)
    s.run(rule.values)
  if op != 'ApplyGradientDescent':
    with script(name, 'vector_rate') as s:
      rule = Rule(op, 'float', resource, scalar=tf.placeholder_with_default(np.float32([0.1, 0.2]), None))
      s.run(targets=rule.init)
      rule.step(s, GRADS[0], error=True)
  big = np.resize(np.linspace(-1, 1, 251), [97, 53])
  with script(name, 'many', tolerance=(1e-4, 1e-5)) as s:
    rule = Rule(op, 'float', resource, v0=big)
    s.run(targets=rule.init)
    for k in range(3):
      rule.step(s, np.resize(np.linspace(-0.5, 0.7, 101 + k), [97, 53]))
    s.run(rule.values[0])
  with script(name, 'empty') as s:
    rule = Rule(op, 'float', resource, v0=np.zeros([0, 2]))
    s.run(targets=rule.init)
    rule.step(s, np.zeros([0, 2]))
    s.run(rule.values)


def cases():
  for op in RULES:
    updates(op, False)
    updates(op, True)
