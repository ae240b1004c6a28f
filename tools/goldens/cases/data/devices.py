# SPDX-License-Identifier: Apache-2.0
"""Generators, options, compressed elements. (Iterators over several devices end the process or never end in sessions of TensorFlow 2.21.)"""
import numpy as np
from tensorflow.python.framework import function

from cases.data.build import F, I, SCALAR, STR, Iterator, dataset, numbers
from record import apply, script, tf


def generator(limit, start):
  """Gives a start that is captured, below a limit; the state is a string of that number."""
  @function.Defun(I, func_name='Init')
  def init(start):
    return tf.as_string(start)

  @function.Defun(STR, I, func_name='Next')
  def following(state, limit):
    number = tf.string_to_number(state, I)
    check = tf.Assert(number < limit, ['over'])
    with tf.control_dependencies([check]):
      return tf.identity(number), tf.identity(state)

  @function.Defun(STR, func_name='Finalize')
  def finalize(state):
    return tf.constant(0, I)
  return apply('GeneratorDataset', init_func_other_args=[start], next_func_other_args=[limit], finalize_func_other_args=[], init_func=init,
               next_func=following, finalize_func=finalize, output_types=[I, STR], output_shapes=[SCALAR, SCALAR])[0]


def ending(n):
  """Takes from a queue, whose end is OutOfRange."""
  queue = apply('FIFOQueueV2', component_types=[I], shapes=[SCALAR], shared_name='feed')[0]
  fill = apply('QueueEnqueueManyV2', handle=queue, components=[tf.range(tf.constant(n, I))]).op
  with tf.control_dependencies([fill]):
    close = apply('QueueCloseV2', handle=queue).op

  @function.Defun(tf.resource, func_name='InitQueue')
  def init(queue):
    return tf.constant(3, I)

  @function.Defun(I, tf.resource, func_name='NextOfQueue')
  def following(state, queue):
    return state + apply('QueueDequeueV2', handle=queue, component_types=[I])[0]

  @function.Defun(I, func_name='FinalizeQueue')
  def finalize(state):
    return state
  d = apply('GeneratorDataset', init_func_other_args=[queue], next_func_other_args=[queue], finalize_func_other_args=[], init_func=init,
            next_func=following, finalize_func=finalize, output_types=[I], output_shapes=[SCALAR])[0]
  return d, close


def generators():
  with script('GeneratorDataset', 'state', covers=['GeneratorDataset']) as s:
    limit, start = tf.placeholder(I, []), tf.placeholder(I, [])
    it = Iterator(generator(limit, start), (I, STR), (SCALAR, SCALAR))
    s.run(targets=it.init, feeds={limit: 20, start: 5})
    s.run(it.next)
    s.run(it.next)
    s.run(targets=it.init, feeds={limit: 3, start: 5})
    s.run(it.next, error=True)
  with script('GeneratorDataset', 'until_the_end', covers=['GeneratorDataset']) as s:
    d, close = ending(3)
    it = Iterator(d)
    s.run(targets=close)
    it.drain(s, 3)


def parts():
  one, two = b'\x20\x01', b'\x28\x00'  # messages of one field each
  with script('GetOptions', 'merged') as s:
    a = dataset('OptionsDataset', numbers(3), serialized_options=one)
    b = dataset('TakeDataset', a, count=tf.constant(2, I))
    for d in (numbers(3), a, b):
      s.run(apply('GetOptions', input_dataset=d)[0])
    Iterator(dataset('OptionsDataset', b, serialized_options=two)).drain(s, 2)
  for label, components in (('plain', [np.arange(6, dtype=np.float32).reshape(2, 3), np.array([True, False]), np.complex64([1 + 2j])]),
                            ('strings', [np.array([[b'one', b''], [b'three', b'x' * 1000]], object), np.int64(7)]),
                            ('empty', [np.zeros([0, 2], np.float64), np.array([], object)])):
    with script('CompressElement', label) as s:
      tensors = [tf.constant(c, STR if c.dtype == object else c.dtype) for c in components]
      packed = apply('CompressElement', components=tensors)[0]
      for types in ([t.dtype for t in tensors], [tf.int8] * len(tensors), [F]):
        shapes = [t.shape for t in tensors] if len(types) == len(tensors) else [None]
        made = apply('UncompressElement', compressed=packed, output_types=types, output_shapes=shapes)
        s.run(made.outputs, error=types[0] != tensors[0].dtype or len(types) != len(tensors))
  with script('UncompressElement', 'other') as s:
    s.run(apply('UncompressElement', compressed=numbers(2), output_types=[I], output_shapes=[None]).outputs, error=True)


def devices():
  generators()
  parts()
