# SPDX-License-Identifier: Apache-2.0
"""TensorArrays and stacks."""
import numpy as np

from cases.flow.common import TYPES, X
from cases.state import c
from record import apply, convert, script, tf


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
