# SPDX-License-Identifier: Apache-2.0
"""Calls, conditionals and loops over functions of the graph's library."""
import numpy as np
from tensorflow.python.framework import function

from cases.state import c, handle, read
from record import apply, script, tf

F, D, I, B = tf.float32, tf.float64, tf.int32, tf.bool
X = np.array([[1.0, -2], [3, 4]])


def call(op, fn, args, outs, **kw):
  return apply(op, args=args, Tout=outs, f=fn, **kw)


def calls():
  for op in ('PartitionedCall', 'StatefulPartitionedCall'):
    with script(op, 'two_outputs') as s:
      @function.Defun(F, F, func_name='SumAndProduct')
      def both(a, b):
        return a + b, a * b
      x, y = tf.placeholder(F, [2, 2]), tf.placeholder(F, [2, 2])
      out = call(op, both, [x, y], [F, F])
      s.run(out.outputs, {x: X, y: X * 2})
    with script(op, 'nested') as s:
      @function.Defun(F, func_name='Inner')
      def inner(a):
        return tf.exp(a) - 1.0
      @function.Defun(F, func_name='Outer')
      def outer(a):
        return call(op, inner, [a * 2.0], [F])[0] + a
      x = tf.placeholder(F, [2])
      s.run(call(op, outer, [x], [F])[0], {x: [0.5, -1]})
    with script(op, 'same_function_twice') as s:
      @function.Defun(F, func_name='Twice')
      def twice(a):
        return a * 2.0
      x = tf.placeholder(F, [])
      y = call(op, twice, [x], [F])[0]
      s.run([y, call(op, twice, [y], [F])[0]], {x: 3.0})
    with script(op, 'no_arguments') as s:
      @function.Defun(func_name='Seven')
      def seven():
        return tf.constant(7.0)
      s.run(call(op, seven, [], [F])[0])
    with script(op, 'error_inside') as s:
      @function.Defun(F, func_name='Reshapes')
      def reshapes(a):
        return tf.reshape(a, [5])
      x = tf.placeholder(F, None)
      s.run(call(op, reshapes, [x], [F])[0], {x: np.ones(4)}, error=True)
      s.run(call(op, reshapes, [x], [F])[0], {x: np.ones(5)})
    with script(op, 'passes_through') as s:
      @function.Defun(F, I, func_name='Swap')
      def swap(a, b):
        return b, a
      x, y = tf.placeholder(F, [2]), tf.placeholder(I, [])
      s.run(call(op, swap, [x, y], [I, F]).outputs, {x: [1.0, 2], y: 3})
  with script('StatefulPartitionedCall', 'variable') as s:
    v = handle(shape=())
    @function.Defun(tf.resource, F, func_name='AddTo')
    def add_to(h, x):
      with tf.control_dependencies([apply('AssignAddVariableOp', resource=h, value=x).op]):
        return read(h)
    s.run(targets=apply('AssignVariableOp', resource=v, value=c(1.0)).op)
    out = call('StatefulPartitionedCall', add_to, [v, tf.constant(2.5)], [F])[0]
    s.run(out)
    s.run(out)
    s.run(read(v))


def conditionals():
  for op in ('If', 'StatelessIf'):
    with script(op, 'branches') as s:
      @function.Defun(F, F, func_name='Then')
      def then(a, b):
        return a + b
      @function.Defun(F, F, func_name='Else')
      def otherwise(a, b):
        return tf.reduce_sum(a * b)
      p = tf.placeholder(B, [])
      x, y = tf.placeholder(F, [2, 2]), tf.placeholder(F, [2, 2])
      out = apply(op, cond=p, input=[x, y], Tout=[F], then_branch=then, else_branch=otherwise)[0]
      s.run(out, {p: True, x: X, y: X})
      s.run(out, {p: False, x: X, y: X})
    for name, dtype, true, false in (('float', F, 0.5, 0.0), ('int32', I, -3, 0), ('string', tf.string, b'x', b''),
                                     ('vector', F, [1.0, 2], np.zeros([0]))):
      with script(op, 'condition_' + name) as s:
        @function.Defun(I, func_name='Plus')
        def plus(a):
          return a + 1
        @function.Defun(I, func_name='Minus')
        def minus(a):
          return a - 1
        p = tf.placeholder(dtype, None)
        out = apply(op, cond=p, input=[tf.constant(5)], Tout=[I], then_branch=plus, else_branch=minus)[0]
        s.run(out, {p: np.array(true, object) if dtype == tf.string else true})
        s.run(out, {p: np.array(false, object) if dtype == tf.string else false})
  with script('StatelessIf', 'nested') as s:
    @function.Defun(I, func_name='AddTen')
    def add_ten(a):
      return a + 10
    @function.Defun(I, func_name='Negate')
    def negate(a):
      return -a
    @function.Defun(I, func_name='Choose')
    def choose(a):
      return apply('StatelessIf', cond=a > 3, input=[a], Tout=[I], then_branch=add_ten, else_branch=negate)[0]
    x = tf.placeholder(I, [])
    out = apply('StatelessIf', cond=x > 0, input=[x], Tout=[I], then_branch=choose, else_branch=negate)[0]
    for value in (-2, 2, 5):
      s.run(out, {x: value})


def switches():
  for op in ('Case', 'StatelessCase'):
    with script(op, 'branches') as s:
      @function.Defun(F, func_name='Zero')
      def zero(x):
        return x * 0.0
      @function.Defun(F, func_name='One')
      def one(x):
        return x + 1.0
      @function.Defun(F, func_name='Two')
      def two(x):
        return tf.reduce_sum(x)
      i, x = tf.placeholder(I, None), tf.placeholder(F, [2])
      out = apply(op, branch_index=i, input=[x], Tout=[F], branches=[zero, one, two])[0]
      for k in (0, 1, 2, 5, -1):
        s.run(out, {i: k, x: [1.0, 2]})


def loops():
  for op in ('While', 'StatelessWhile'):
    with script(op, 'powers') as s:
      @function.Defun(I, I, D, D, func_name='Below')
      def below(i, n, y, x):
        return i < n
      @function.Defun(I, I, D, D, func_name='Times')
      def times(i, n, y, x):
        return i + 1, n, y * x, x
      n, x = tf.placeholder(I, []), tf.placeholder(D, [2, 2])
      out = apply(op, input=[tf.constant(0), n, tf.ones([2, 2], D), x], cond=below, body=times)
      for k in (0, 1, 6):
        s.run([out[0], out[2]], {n: k, x: X})
    with script(op, 'growing') as s:
      @function.Defun(F, func_name='Short')
      def short(x):
        return tf.size(x) < 20
      @function.Defun(F, func_name='Doubled')
      def doubled(x):
        return tf.concat([x, x * 2.0], 0)
      x = tf.placeholder(F, [None])
      out = apply(op, input=[x], cond=short, body=doubled, output_shapes=[tf.TensorShape([None])])[0]
      s.run(out, {x: [1.0, 2, 3]})
    with script(op, 'error_inside') as s:
      @function.Defun(F, func_name='Always')
      def always(x):
        return tf.constant(True)
      @function.Defun(F, func_name='Bad')
      def bad(x):
        return tf.reshape(x, [7])
      s.run(apply(op, input=[tf.placeholder_with_default([1.0, 2], None)], cond=always, body=bad)[0], error=True)


def gradients():
  with script('SymbolicGradient', 'products') as s:
    @function.Defun(D, D, func_name='TanhOfProduct')
    def tanh_of_product(a, b):
      return tf.tanh(tf.matmul(a, b))
    a, b, dy = tf.placeholder(D, [2, 2]), tf.placeholder(D, [2, 2]), tf.placeholder(D, [2, 2])
    out = apply('SymbolicGradient', input=[a, b, dy], Tout=[D, D], f=tanh_of_product)
    s.run(out.outputs, {a: X / 4, b: X.T / 8, dy: np.ones([2, 2])})
  with script('PartitionedCall', 'gradient', covers=['PartitionedCall']) as s:
    @tf.function(autograph=False)
    def f(a, b):
      return tf.sin(a) * b + a
    a, b = tf.placeholder(D, [2, 2]), tf.placeholder(D, [2, 2])
    y = f(a, b)
    feeds = {a: X / 4, b: X / 2}
    s.run(y, dict(feeds))
    s.gradients([y], [a, b], dict(feeds))
  tf.enable_control_flow_v2()
  try:
    for value in (True, False):
      with script('StatelessIf', 'gradient', covers=['StatelessIf']) as s:
        x, p = tf.placeholder(D, [2, 2]), tf.placeholder(B, [])
        y = tf.cond(p, lambda: x * x, lambda: tf.sin(x) * 3.0)
        s.run(y, {x: X, p: value})
        s.gradients([y], [x], {x: X, p: value})
    with script('StatelessWhile', 'gradient', covers=['StatelessWhile']) as s:
      x = tf.placeholder(D, [2, 2])
      _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, tf.ones([2, 2], D)])
      s.run(y, {x: X})
  finally:
    tf.disable_control_flow_v2()


def cases():
  calls()
  conditionals()
  switches()
  loops()
  gradients()
