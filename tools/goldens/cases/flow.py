# SPDX-License-Identifier: Apache-2.0
"""Control flow of TensorFlow 1, TensorArrays, stacks, queues, accumulators, assertions."""
import numpy as np

from cases.state import c, ref
from record import apply, convert, op, script, tf

TYPES = ('float', 'double', 'half', 'bfloat16', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'complex64',
         'complex128', 'bool', 'string')
X = np.array([[1.0, -2], [3, 4]])


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


def tensor_arrays():
  for t in TYPES:
    with script('TensorArrayV3', t) as s:
      ta = tf.TensorArray(t, 3, clear_after_read=False)
      x = convert(np.array([[1.0, 2], [3, -4], [5, 6]]), t)
      ta = ta.unstack(tf.constant(x, t))
      s.run([ta.read(0), ta.stack(), ta.gather([2, 0]), ta.concat(), ta.size()])
  with script('TensorArrayConcatV3', 'uneven') as s:
    ta = tf.TensorArray(tf.float32, 3, infer_shape=False).write(0, [1.0, 2]).write(1, [3.0]).write(2, [4.0, 5, 6])
    concat = apply('TensorArrayConcatV3', handle=ta.handle, flow_in=ta.flow, dtype=tf.float32)
    s.run([concat[0], concat[1]])
  with script('TensorArraySplitV3', 'parts') as s:
    x = tf.placeholder(tf.float32, [6, 2])
    ta = tf.TensorArray(tf.float32, 3, infer_shape=False).split(x, [1, 3, 2])
    s.run([ta.read(0), ta.read(1), ta.read(2)], {x: np.arange(12.0).reshape(6, 2)})
  with script('TensorArrayV3', 'dynamic') as s:
    ta = tf.TensorArray(tf.float32, 0, dynamic_size=True).write(3, [1.0]).write(0, [2.0]).write(1, [0.0]).write(2, [7.0])
    s.run([ta.stack(), ta.size()])
  with script('TensorArrayV3', 'unwritten_zeros') as s:
    ta = tf.TensorArray(tf.float32, 3, element_shape=[2]).write(1, [1.0, 2])
    s.run(ta.read(0))
    s.run(ta.read(1))
  index = {'write_out_of_range': lambda ta: ta.write(5, [1.0]).flow, 'write_negative': lambda ta: ta.write(-1, [1.0]).flow,
           'write_twice': lambda ta: ta.write(0, [1.0]).write(0, [2.0]).flow, 'read_out_of_range': lambda ta: ta.read(3),
           'read_twice': lambda ta: _read_twice(ta),
           'read_unwritten': lambda ta: ta.read(0), 'stack_unwritten': lambda ta: ta.write(0, [1.0]).stack(),
           'gather_out_of_range': lambda ta: ta.unstack([[1.0], [2], [3]]).gather([3]),
           'scatter_mismatch': lambda ta: ta.scatter([0, 1], tf.placeholder_with_default([[1.0], [2], [3]], None)).flow,
           'concat_mismatch': lambda ta: ta.write(0, [[1.0]]).write(1, [[1.0, 2]]).write(2, [[1.0]]).concat(),
           'split_lengths': lambda ta: ta.split([1.0, 2], [1, 2, 1]).flow,
           'split_count': lambda ta: ta.split([1.0, 2], [1, 1]).flow}
  for name, make in index.items():
    with script('TensorArrayV3', name) as s:
      s.run(make(tf.TensorArray(tf.float32, 3, infer_shape=False)), error=True)
  with script('TensorArrayCloseV3', 'closed') as s:
    ta = tf.TensorArray(tf.float32, 2).write(0, [1.0])
    close = apply('TensorArrayCloseV3', handle=ta.handle).op
    s.run(ta.flow, targets=[])
    with tf.control_dependencies([ta.flow]):
      close = apply('TensorArrayCloseV3', handle=ta.handle).op
    s.run(targets=close)
    with tf.control_dependencies([close]):
      size = apply('TensorArraySizeV3', handle=ta.handle, flow_in=tf.constant(0.0))[0]
    s.run(size, error=True)
  def gradient(name, make):
    with script('TensorArrayGradV3', name) as s:
      x = tf.placeholder(tf.float64, [3, 2])
      y = make(x)
      feeds = {x: np.array([[1.0, 2], [3, -4], [5, 6]])}
      s.run(y, dict(feeds))
      s.gradients([y], [x], dict(feeds))
  def array():
    return tf.TensorArray(tf.float64, 3, clear_after_read=False)
  gradient('stack', lambda x: array().unstack(x * x).stack())
  gradient('read', lambda x: (lambda ta: ta.read(0) * ta.read(2) + ta.read(0))(array().unstack(x)))
  gradient('write', lambda x: array().write(0, x[0] * 2).write(2, x[1] * x[2]).write(1, x[1]).stack())
  gradient('gather', lambda x: tf.ensure_shape(array().unstack(x).gather([2, 0]), [2, 2]))
  gradient('concat', lambda x: tf.ensure_shape(array().unstack(x).concat(), [6]))
  gradient('split', lambda x: tf.ensure_shape(array().split(x, [1, 1, 1]).read(1), [1, 2]))
  gradient('scatter', lambda x: array().scatter([1, 0, 2], x * 3.0).stack())
  with script('TensorArrayV3', 'loop_gradient') as s:
    x = tf.placeholder(tf.float64, [4, 2])
    inputs = tf.TensorArray(tf.float64, 4).unstack(x)
    outputs = tf.TensorArray(tf.float64, 4)
    def step(i, h, out):
      h = tf.tanh(h * 0.5 + inputs.read(i))
      return i + 1, h, out.write(i, h)
    _, h, out = tf.while_loop(lambda i, h, out: i < 4, step, [0, tf.zeros([2], tf.float64), outputs])
    y = tf.ensure_shape(out.stack(), [4, 2])
    feeds = {x: np.arange(8.0).reshape(4, 2) / 8 - 0.5}
    s.run([y, h], dict(feeds))
    s.gradients([y, h], [x], dict(feeds))


def _read_twice(ta):
  ta = ta.write(0, [1.0])
  first = ta.read(0)
  with tf.control_dependencies([first]):
    return ta.read(0)


def stacks():
  for t in TYPES:
    with script('StackV2', t) as s:
      handle = apply('StackV2', max_size=tf.constant(5), elem_type=tf.as_dtype(t), stack_name='s')[0]
      a = apply('StackPushV2', handle=handle, elem=c(X, t))[0]
      with tf.control_dependencies([a]):
        b = apply('StackPushV2', handle=handle, elem=c(X[0], t))[0]
      with tf.control_dependencies([b]):
        first = apply('StackPopV2', handle=handle, elem_type=tf.as_dtype(t))[0]
      with tf.control_dependencies([first]):
        second = apply('StackPopV2', handle=handle, elem_type=tf.as_dtype(t))[0]
      with tf.control_dependencies([second]):
        close = apply('StackCloseV2', handle=handle).op
      s.run([a, b, first, second], targets=close)
  with script('StackPopV2', 'empty') as s:
    handle = apply('StackV2', max_size=tf.constant(-1), elem_type=tf.float32)[0]
    s.run(apply('StackPopV2', handle=handle, elem_type=tf.float32)[0], error=True)
  with script('StackPushV2', 'overflow') as s:
    handle = apply('StackV2', max_size=tf.constant(1), elem_type=tf.float32)[0]
    a = apply('StackPushV2', handle=handle, elem=c(X))[0]
    with tf.control_dependencies([a]):
      b = apply('StackPushV2', handle=handle, elem=c(X))[0]
    s.run(b, error=True)
  with script('StackPushV2', 'wrong_type') as s:
    handle = apply('StackV2', max_size=tf.constant(1), elem_type=tf.float32)[0]
    s.run(apply('StackPushV2', handle=handle, elem=tf.constant(1))[0], error=True)


def queues():
  for op_name, attrs in (('FIFOQueueV2', {}), ('RandomShuffleQueueV2', dict(seed=5, seed2=9))):
    def queue(types=(tf.float32, tf.int32), shapes=((2,), ()), capacity=10, **kw):
      return apply(op_name, component_types=list(types), shapes=list(shapes), capacity=capacity, **{**attrs, **kw})[0]
    with script(op_name, 'basics') as s:
      q = queue()
      a, b = tf.placeholder(tf.float32, None), tf.placeholder(tf.int32, None)
      enqueue = apply('QueueEnqueueV2', handle=q, components=[a, b]).op
      many = apply('QueueEnqueueManyV2', handle=q, components=[a, b]).op
      size, closed = apply('QueueSizeV2', handle=q)[0], apply('QueueIsClosedV2', handle=q)[0]
      types = [tf.float32, tf.int32]
      dequeue = apply('QueueDequeueV2', handle=q, component_types=types)
      n = tf.placeholder(tf.int32, [])
      dequeue_many = apply('QueueDequeueManyV2', handle=q, n=n, component_types=types)
      up_to = apply('QueueDequeueUpToV2', handle=q, n=n, component_types=types)
      s.run([size, closed])
      s.run(targets=enqueue, feeds={a: [1.0, 2], b: 7})
      s.run(targets=many, feeds={a: np.arange(8.0).reshape(4, 2), b: [1, 2, 3, 4]})
      s.run(size)
      s.run(dequeue.outputs)
      s.run(dequeue_many.outputs, {n: 2})
      s.run(dequeue_many.outputs, {n: 0})
      s.run(size)
      s.run(targets=many, feeds={a: np.zeros([0, 2]), b: np.zeros([0], np.int32)})
      s.run(targets=enqueue, feeds={a: [1.0, 2, 3], b: 7}, error=True)
      s.run(targets=many, feeds={a: np.zeros([3, 2]), b: [1, 2]}, error=True)
      s.run(dequeue_many.outputs, {n: -1}, error=True)
      s.run(targets=apply('QueueCloseV2', handle=q).op)
      s.run([size, closed])
      s.run(targets=enqueue, feeds={a: [1.0, 2], b: 7}, error=True)
      s.run(dequeue_many.outputs, {n: 3}, error=True)
      s.run(up_to.outputs, {n: 5})
      s.run(up_to.outputs, {n: 5}, error=True)
      s.run(dequeue.outputs, error=True)
    with script(op_name, 'shared') as s:
      p, q = queue(shared_name='q'), queue(shared_name='q')
      s.run(targets=apply('QueueEnqueueV2', handle=p, components=[tf.constant([1.0, 2]), tf.constant(3)]).op)
      s.run(apply('QueueDequeueV2', handle=q, component_types=[tf.float32, tf.int32]).outputs)
    with script(op_name, 'shared_mismatch') as s:
      p, q = queue(shared_name='q'), queue(shared_name='q', capacity=11)
      s.run(apply('QueueSizeV2', handle=p)[0])
      s.run(apply('QueueSizeV2', handle=q)[0], error=True)
    with script(op_name, 'no_shapes') as s:
      q = queue((tf.string,), ())
      x = tf.placeholder(tf.string, None)
      enqueue = apply('QueueEnqueueV2', handle=q, components=[x]).op
      dequeue = apply('QueueDequeueV2', handle=q, component_types=[tf.string])
      s.run(targets=enqueue, feeds={x: np.array(['a', 'b'], object)})
      s.run(dequeue.outputs)
      s.run(targets=enqueue, feeds={x: np.array('c', object)})
      s.run(dequeue.outputs)
      s.run(apply('QueueDequeueManyV2', handle=q, n=tf.constant(1), component_types=[tf.string]).outputs, error=True)
    with script(op_name, 'wrong_types') as s:
      q = queue()
      s.run(targets=apply('QueueEnqueueV2', handle=q, components=[tf.constant([1.0, 2])]).op, error=True)
      s.run(targets=apply('QueueEnqueueV2', handle=q, components=[tf.constant([1.0, 2]), tf.constant(2.0)]).op, error=True)
      s.run(apply('QueueDequeueV2', handle=q, component_types=[tf.float32, tf.float32]).outputs, error=True)
  with script('RandomShuffleQueueV2', 'order') as s:
    q = apply('RandomShuffleQueueV2', component_types=[tf.int32], shapes=[()], capacity=-1, min_after_dequeue=2, seed=17, seed2=3)[0]
    s.run(targets=apply('QueueEnqueueManyV2', handle=q, components=[tf.range(12)]).op)
    one = apply('QueueDequeueV2', handle=q, component_types=[tf.int32])
    many = apply('QueueDequeueManyV2', handle=q, n=tf.constant(5), component_types=[tf.int32])
    s.run(one.outputs)
    s.run(one.outputs)
    s.run(many.outputs)
    s.run(targets=apply('QueueCloseV2', handle=q).op)
    s.run(many.outputs)


def other_queues():
  for op_name in ('PaddingFIFOQueueV2', 'PaddingFIFOQueue'):
    suffix = 'V2' if op_name.endswith('V2') else ''
    with script(op_name, 'pads') as s:
      q = apply(op_name, component_types=[tf.float32, tf.int32], shapes=[[None, 2], []], capacity=10)[0]
      x, y = tf.placeholder(tf.float32, None), tf.placeholder(tf.int32, None)
      enqueue = apply('QueueEnqueue' + suffix, handle=q, components=[x, y]).op
      for n in (1, 3, 0):
        s.run(targets=enqueue, feeds={x: np.arange(2.0 * n).reshape(n, 2), y: n})
      s.run(apply('QueueDequeueMany' + suffix, handle=q, n=tf.constant(3), component_types=[tf.float32, tf.int32]).outputs)
      s.run(targets=enqueue, feeds={x: np.ones([2, 3]), y: 1}, error=True)
      s.run(targets=enqueue, feeds={x: np.ones([2, 2]), y: 1})
      s.run(apply('QueueDequeue' + suffix, handle=q, component_types=[tf.float32, tf.int32]).outputs)
  for op_name in ('PriorityQueueV2', 'PriorityQueue'):
    suffix = 'V2' if op_name.endswith('V2') else ''
    with script(op_name, 'sorts') as s:
      q = apply(op_name, component_types=[tf.string], shapes=[[]], capacity=10)[0]
      types = [tf.int64, tf.string]
      s.run(targets=apply('QueueEnqueueMany' + suffix, handle=q, components=[tf.constant([5, 1, 9, -2], tf.int64),
                                                                        tf.constant(['e', 'a', 'i', 'z'])]).op)
      s.run(targets=apply('QueueEnqueue' + suffix, handle=q, components=[tf.constant(3, tf.int64), tf.constant('c')]).op)
      s.run(apply('QueueDequeue' + suffix, handle=q, component_types=types).outputs)
      s.run(apply('QueueDequeueMany' + suffix, handle=q, n=tf.constant(3), component_types=types).outputs)
      s.run(targets=apply('QueueClose' + suffix, handle=q).op)
      s.run([apply('QueueSize' + suffix, handle=q)[0], apply('QueueIsClosed' + suffix, handle=q)[0]])
  for op_name in ('FIFOQueue', 'RandomShuffleQueue'):
    with script(op_name, 'by_reference') as s:
      q = apply(op_name, component_types=[tf.int32], shapes=[[]], capacity=5, **({} if op_name == 'FIFOQueue' else dict(seed=3, seed2=4)))[0]
      s.run(targets=apply('QueueEnqueueMany', handle=q, components=[tf.constant([1, 2, 3])]).op)
      s.run(targets=apply('QueueEnqueue', handle=q, components=[tf.constant(4)]).op)
      s.run(apply('QueueDequeue', handle=q, component_types=[tf.int32])[0])
      s.run(apply('QueueSize', handle=q)[0])
      s.run(targets=apply('QueueClose', handle=q).op)
      s.run(apply('QueueDequeueUpTo', handle=q, n=tf.constant(9), component_types=[tf.int32])[0])


def sparse_accumulators():
  for t in ('float', 'double', 'half'):
    for reduction in ('MEAN', 'SUM'):
      with script('SparseConditionalAccumulator', '%s_%s' % (t, reduction)) as s:
        a = apply('SparseConditionalAccumulator', dtype=tf.as_dtype(t), shape=[4, 2], reduction_type=reduction)[0]
        step, i, v = tf.placeholder(tf.int64, []), tf.placeholder(tf.int64, None), tf.placeholder(t, None)
        add = apply('SparseAccumulatorApplyGradient', handle=a, local_step=step, gradient_indices=i, gradient_values=v,
                    gradient_shape=tf.constant([4, 2], tf.int64), has_known_shape=True).op
        take = apply('SparseAccumulatorTakeGradient', handle=a, num_required=tf.constant(2), dtype=tf.as_dtype(t))
        s.run(targets=add, feeds={step: 0, i: [0, 2], v: convert(X, t)})
        s.run(targets=add, feeds={step: 0, i: [2, 3], v: convert(X * 3, t)})
        s.run(apply('AccumulatorNumAccumulated', handle=a)[0])
        s.run(take.outputs)
        s.run(targets=add, feeds={step: 0, i: [0], v: convert(X[:1], t)})
        s.run(targets=add, feeds={step: 5, i: [1], v: convert(X[:1], t)})
        s.run(targets=apply('AccumulatorSetGlobalStep', handle=a, new_global_step=tf.constant(7, tf.int64)).op)
        s.run(targets=add, feeds={step: 7, i: [0, 1], v: convert(X, t)})
        s.run(take.outputs)
        s.run(targets=add, feeds={step: 9, i: [0, 1, 2], v: convert(X, t)}, error=True)


def old_stacks():
  with script('Stack', 'by_reference') as s:
    handle = apply('Stack', elem_type=tf.float32, stack_name='s')[0]
    a = apply('StackPush', handle=handle, elem=c(X))[0]
    with tf.control_dependencies([a]):
      b = apply('StackPush', handle=handle, elem=c(X[0]))[0]
    with tf.control_dependencies([b]):
      first = apply('StackPop', handle=handle, elem_type=tf.float32)[0]
    with tf.control_dependencies([first]):
      second = apply('StackPop', handle=handle, elem_type=tf.float32)[0]
    with tf.control_dependencies([second]):
      close = apply('StackClose', handle=handle).op
    s.run([a, b, first, second], targets=close)
  with script('TensorArrayGradWithShape', 'prepends') as s:
    ta = tf.TensorArray(tf.float32, 2, element_shape=[2], clear_after_read=False).unstack([[1.0, 2], [3, 4]])
    grad = apply('TensorArrayGradWithShape', handle=ta.handle, flow_in=ta.flow, shape_to_prepend=tf.constant([3]), source='g')
    flow = apply('TensorArrayWriteV3', handle=grad[0], index=tf.constant(0), value=tf.ones([3, 2]), flow_in=grad[1])[0]
    s.run([apply('TensorArrayReadV3', handle=grad[0], index=tf.constant(0), flow_in=flow, dtype=tf.float32)[0],
           apply('TensorArraySizeV3', handle=grad[0], flow_in=flow)[0]])


def accumulators():
  for t in ('float', 'double', 'half'):
    for reduction in ('MEAN', 'SUM'):
      for resource in (False, True):
        kind = 'ResourceConditionalAccumulator' if resource else 'ConditionalAccumulator'
        prefix = 'ResourceAccumulator' if resource else 'Accumulator'
        with script(kind, '%s_%s' % (t, reduction)) as s:
          a = apply(kind, dtype=tf.as_dtype(t), shape=[2, 2], reduction_type=reduction)[0]
          g, step, n = tf.placeholder(t, None), tf.placeholder(tf.int64, []), tf.placeholder(tf.int32, [])
          add = apply(prefix + 'ApplyGradient', handle=a, local_step=step, gradient=g).op
          take = apply(prefix + 'TakeGradient', handle=a, num_required=n, dtype=tf.as_dtype(t))[0]
          count = apply(prefix + 'NumAccumulated', handle=a)[0]
          advance = apply(prefix + 'SetGlobalStep', handle=a, new_global_step=step).op
          s.run(count)
          s.run(targets=add, feeds={g: convert(X, t), step: 0})
          s.run(targets=add, feeds={g: convert(X * 3, t), step: 0})
          s.run(count)
          s.run(take, {n: 2})
          s.run(count)
          s.run(targets=add, feeds={g: convert(X, t), step: 0})  # stale: dropped
          s.run(count)
          s.run(targets=add, feeds={g: convert(X, t), step: 1})
          s.run(targets=advance, feeds={step: 5})
          s.run(targets=add, feeds={g: convert(X, t), step: 4})
          s.run(targets=add, feeds={g: convert(X * 2, t), step: 5})
          s.run(count)
          s.run(take, {n: 1})
          s.run(targets=advance, feeds={step: 1})
          s.run(targets=add, feeds={g: convert(X[0], t), step: 9}, error=True)
          s.run(take, {n: 0}, error=True)
  with script('ConditionalAccumulator', 'partial_shape') as s:
    a = apply('ConditionalAccumulator', dtype=tf.float32, shape=[None, 2])[0]
    g = tf.placeholder(tf.float32, None)
    add = apply('AccumulatorApplyGradient', handle=a, local_step=tf.constant(0, tf.int64), gradient=g).op
    s.run(targets=add, feeds={g: X})
    s.run(targets=add, feeds={g: X[:1]}, error=True)
    s.run(targets=add, feeds={g: [1.0]}, error=True)
    s.run(apply('AccumulatorTakeGradient', handle=a, num_required=tf.constant(1), dtype=tf.float32)[0])


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


def cases():
  switches()
  conditionals()
  loops()
  tensor_arrays()
  stacks()
  queues()
  other_queues()
  accumulators()
  sparse_accumulators()
  old_stacks()
  checks()
