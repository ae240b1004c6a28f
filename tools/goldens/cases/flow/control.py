# SPDX-License-Identifier: Apache-2.0
"""Branches, loops, control edges, assertions."""
import numpy as np

from cases.flow.common import TYPES, X
from cases.state import c, ref
from record import apply, op, script, tf


def switches():
  for t in TYPES:
    with script('Switch', t) as s:
      p = tf.placeholder(tf.bool, [])
      switch = apply('Switch', data=c(X, t), pred=p)
      merge = apply('Merge', inputs=[switch[0], switch[1]])
      for taken in (False, True):
        s.run([merge[0], merge[1], switch[int(taken)]], {p: taken})
  with script('Switch', 'dead_fetch', covers=['Switch']) as s:
    p = tf.placeholder(tf.bool, [])
    switch = apply('Switch', data=c(X), pred=p)
    s.run(switch[0], {p: True}, error=True)
  with script('Switch', 'deadness_spreads', covers=['Switch', 'Merge']) as s:
    p, q = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    outer = apply('Switch', data=c(X), pred=p)
    inner = apply('Switch', data=outer[1], pred=q)
    merged = apply('Merge', inputs=[outer[0] * 100, inner[0] * 10 + 1, inner[1] + c(X)])
    for a, b in ((False, False), (False, True), (True, False), (True, True)):
      s.run([merged[0], merged[1]], {p: a, q: b})
  with script('Switch', 'vector_predicate', covers=['Switch']) as s:
    p = tf.placeholder(tf.bool, None)
    merged = apply('Merge', inputs=apply('Switch', data=c(X), pred=p).outputs)
    s.run(merged[0], {p: [True, False]}, error=True)
  with script('_SwitchN', 'cases') as s:
    i = tf.placeholder(tf.int32, [])
    switch = apply('_SwitchN', 'switch_n', data=c(X), output_index=i, num_outs=3)
    merge = apply('Merge', inputs=[switch[0] + 1, switch[1] * 2, -switch[2]])
    for k in (0, 1, 2, 5, -1):
      s.run([merge[0], merge[1]], {i: k})
  with script('RefSwitch', 'branches') as s:
    v, p = ref(), tf.placeholder(tf.bool, [])
    s.run(apply('Assign', ref=v, value=c(X))[0])
    switch = apply('RefSwitch', data=v, pred=p)
    merge = apply('RefMerge', inputs=[switch[0], switch[1]])
    for taken in (False, True):
      s.run([tf.identity(merge[0]), merge[1], switch[int(taken)]], {p: taken})
    s.run(apply('AssignAdd', ref=switch[1], value=c(X))[0], {p: True})
    s.run(v)
  with script('RefSelect', 'choice') as s:
    a, b, i = ref(name='a'), ref(name='b'), tf.placeholder(tf.int32, None)
    s.run([apply('Assign', ref=a, value=c(X))[0], apply('Assign', ref=b, value=c(-X))[0]])
    chosen = apply('RefSelect', index=i, inputs=[a, b])[0]
    s.run(tf.identity(chosen), {i: 0})
    s.run(apply('AssignAdd', ref=chosen, value=c(X))[0], {i: 1})
    s.run([a, b])
    s.run(tf.identity(chosen), {i: 2}, error=True)
    s.run(tf.identity(chosen), {i: -1}, error=True)
    s.run(tf.identity(chosen), {i: [0, 1]}, error=True)
  with script('NoOp', 'control', covers=['NoOp', 'ControlTrigger']) as s:
    v = ref(shape=())
    init = apply('Assign', ref=v, value=c(1.0)).op
    s.run(targets=init)
    add = apply('AssignAdd', ref=v, value=c(2.0)).op
    with tf.control_dependencies([add]):
      done, trigger = tf.no_op(), apply('ControlTrigger').op
    s.run(targets=[done, trigger])
    s.run(v)
  with script('ControlTrigger', 'after_dead_branch', covers=['ControlTrigger', 'Switch']) as s:
    p = tf.placeholder(tf.bool, [])
    switch = apply('Switch', data=c(X), pred=p)
    with tf.control_dependencies([switch[0].op, tf.identity(switch[1])]):
      trigger = apply('ControlTrigger').op
    with tf.control_dependencies([trigger]):
      alive = tf.identity(c(X))
    s.run(alive, {p: False})
    s.run(alive, {p: True})


def conditionals():
  for which in (0, 1):
    with script('Merge', 'cond_gradient', covers=['Switch', 'Merge']) as s:
      x, p = tf.placeholder(tf.float64, [2, 2]), tf.placeholder(tf.bool, [])
      y = tf.cond(p, lambda: x * x, lambda: tf.sin(x) * 2.0)
      feeds = {x: X, p: bool(which)}
      s.run(y, dict(feeds))
      s.gradients([y], [x], dict(feeds))
      s.static_shapes(y)
  with script('Merge', 'cond_nested_gradient', covers=['Switch', 'Merge']) as s:
    x, p, q = tf.placeholder(tf.float64, [2, 2]), tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: tf.cond(q, lambda: x * x * x, lambda: tf.exp(x)), lambda: x)
    for a in (True, False):
      for b in (True, False):
        s.run(y, {x: X, p: a, q: b})
    s.gradients([y], [x], {x: X, p: True, q: False})
  with script('Merge', 'cond_side_effects', covers=['Switch', 'Merge']) as s:
    v, p = ref(shape=()), tf.placeholder(tf.bool, [])
    s.run(apply('Assign', ref=v, value=c(1.0))[0])
    y = tf.cond(p, lambda: tf.identity(apply('AssignAdd', ref=v, value=c(10.0))[0]), lambda: tf.constant(0.0))
    s.run(y, {p: False})
    s.run(v)
    s.run(y, {p: True})
    s.run(v)
  with script('Merge', 'case', covers=['Switch', 'Merge']) as s:
    x = tf.placeholder(tf.float32, [])
    y = tf.case([(x < 1.0, lambda: x * 2), (x < 2.0, lambda: x * 3)], default=lambda: -x)
    for value in (0.5, 1.5, 2.5):
      s.run(y, {x: value})


LOOP = ['Enter', 'Exit', 'LoopCond', 'Merge', 'NextIteration', 'Switch']


def loops():
  for parallel in (1, 10):
    with script('Enter', 'power_%d' % parallel, covers=LOOP) as s:
      x, n = tf.placeholder(tf.float64, [2, 2]), tf.placeholder(tf.int32, [])
      _, y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), [0, tf.ones([2, 2], tf.float64)],
                           parallel_iterations=parallel)
      for k in (0, 1, 5):
        s.run(y, {x: X, n: k})
      s.gradients([y], [x], {x: X, n: 4})
      s.static_shapes(y)
  with script('Enter', 'two_variables', covers=LOOP) as s:
    a, b = tf.placeholder(tf.float64, [3]), tf.placeholder(tf.float64, [3])
    _, y, z = tf.while_loop(lambda i, y, z: i < 6, lambda i, y, z: (i + 1, z, y * 0.5 + tf.sin(z)), [0, a, b])
    feeds = {a: [0.5, 1, -1], b: [2.0, 0.25, 1]}
    s.run([y, z], dict(feeds))
    s.gradients([y, z], [a, b], dict(feeds))
  with script('Enter', 'nested', covers=LOOP) as s:
    x = tf.placeholder(tf.float64, [2])
    def outer(i, y):
      _, z = tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * x + 1.0), [0, y])
      return i + 1, z
    _, y = tf.while_loop(lambda i, y: i < 4, outer, [0, tf.ones([2], tf.float64)])
    s.run(y, {x: [0.5, 2]})
    s.gradients([y], [x], {x: [0.5, 1.5]})
  with script('Enter', 'cond_inside', covers=LOOP) as s:
    x = tf.placeholder(tf.float64, [2])
    def body(i, y):
      return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: y * x, lambda: y + x)
    _, y = tf.while_loop(lambda i, y: i < 5, body, [0, tf.ones([2], tf.float64)])
    s.run(y, {x: [0.5, 2]})
    s.gradients([y], [x], {x: [0.5, 1.5]})
  with script('Enter', 'constant_inside', covers=LOOP) as s:
    x, w = tf.placeholder(tf.float64, [2, 2]), tf.placeholder(tf.float64, [2, 2])
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(tf.matmul(y, w))), [0, x])
    feeds = {x: X / 4, w: np.array([[0.5, -0.25], [1, 0.75]])}
    s.run(y, dict(feeds))
    s.gradients([y], [x, w], dict(feeds))
  with script('Enter', 'growing', covers=LOOP) as s:
    _, y = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.concat([y, [tf.cast(i, tf.float32)]], 0)),
                         [0, tf.zeros([0])], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])
    s.run([y, tf.shape(y)])
    s.static_shapes(y)
  with script('Enter', 'never', covers=LOOP) as s:
    y = tf.while_loop(lambda i: i < 0, lambda i: i + 1, [tf.constant(7)])
    s.run(y)
  with script('Enter', 'many_iterations', covers=LOOP) as s:
    i, y = tf.while_loop(lambda i, y: i < 1000, lambda i, y: (i + 1, y + tf.cast(i, tf.int64)), [0, tf.constant(0, tf.int64)])
    s.run([i, y])
  with script('Enter', 'error_inside', covers=LOOP) as s:
    x = tf.placeholder(tf.float32, None)
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.reshape(y, [5])), [0, x],
                      shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)])[1]
    s.run(y, {x: np.ones(4, np.float32)}, error=True)
    s.run(y, {x: np.ones(5, np.float32)})
  with script('Enter', 'variable_inside', covers=LOOP) as s:
    v = ref(shape=())
    s.run(apply('Assign', ref=v, value=c(1.0))[0])
    def body(i):
      with tf.control_dependencies([apply('AssignAdd', ref=v, value=c(2.0)).op]):
        return i + 1
    s.run(tf.while_loop(lambda i: i < 5, body, [tf.constant(0)], parallel_iterations=1))
    s.run(v)
  with script('RefEnter', 'loop', covers=['RefEnter', 'RefSwitch', 'RefMerge', 'RefNextIteration', 'RefExit']) as s:
    v = ref(shape=())
    s.run(apply('Assign', ref=v, value=c(1.0))[0])
    enter = apply('RefEnter', data=v, frame_name='f')[0]
    i_enter = apply('Enter', data=tf.constant(0), frame_name='f')[0]
    merge, i_merge = apply('RefMerge', inputs=[enter, enter])[0], apply('Merge', inputs=[i_enter, i_enter])[0]
    three = apply('Enter', data=tf.constant(3), frame_name='f', is_constant=True)[0]
    cond = apply('LoopCond', input=apply('Less', x=i_merge, y=three)[0])[0]
    switch, i_switch = apply('RefSwitch', data=merge, pred=cond), apply('Switch', data=i_merge, pred=cond)
    with tf.control_dependencies([i_switch[1].op, tf.identity(i_switch[1])]):
      one = tf.constant(1)
      ten = tf.constant(10.0)
    add = apply('AssignAdd', ref=switch[1], value=ten)[0]
    following = apply('RefNextIteration', data=add)[0]
    i_following = apply('NextIteration', data=apply('AddV2', x=i_switch[1], y=one)[0])[0]
    merge.op._update_input(1, following)
    i_merge.op._update_input(1, i_following)
    s.run([tf.identity(apply('RefExit', data=switch[0])[0]), apply('Exit', data=i_switch[0])[0]])
    s.run(v)


def checks():
  with script('Assert', 'both') as s:
    p = tf.placeholder(tf.bool, None)
    check = apply('Assert', condition=p, data=[tf.constant('value'), tf.constant([1, 2, 3, 4])], summarize=2).op
    s.run(targets=check, feeds={p: True})
    s.run(targets=check, feeds={p: False}, error=True)
    s.run(targets=check, feeds={p: [True, True]}, error=True)
  with script('Print', 'passes') as s:
    x = tf.placeholder(tf.float64, [2, 2])
    y = apply('Print', input=x, data=[x, tf.constant('s')], message='here: ', first_n=1)[0]
    s.run(y, {x: X})
    s.run(y, {x: X * 2})
    s.gradients([y * y], [x], {x: X})
  op('LoopCond', np.array(True), types=None)
  with script('PrintV2', 'line') as s:
    x = tf.placeholder(tf.string, None)
    line = apply('PrintV2', input=x).op
    s.run(targets=line, feeds={x: np.array('hello', object)})
    s.run(targets=line, feeds={x: np.array(['a', 'b'], object)}, error=True)
