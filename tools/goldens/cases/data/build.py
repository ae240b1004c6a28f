# SPDX-License-Identifier: Apache-2.0
"""What cases of datasets are built of."""
import numpy as np
from tensorflow.python.framework import function

from record import apply, tf

I, F, STR = tf.int64, tf.float32, tf.string
SCALAR = tf.TensorShape([])


def const(value):
  return tf.constant(value, I)


def slices(values, dtype=I):
  value = tf.constant(values, dtype)
  return apply('TensorSliceDataset', components=[value], output_shapes=[value.shape[1:]])[0]


def numbers(n):
  return slices(np.arange(n))


def dataset(op, source, types=(I,), shapes=(SCALAR,), **kw):
  return apply(op, input_dataset=source, output_types=list(types), output_shapes=list(shapes), **kw)[0]


def inside(make, captured=(), types=(I,), shapes=(SCALAR,)):
  """What make(*captured) gives, made by a function: MakeIterator of TensorFlow 2.21 cannot take every dataset itself."""
  @function.Defun(I, *[c.dtype for c in captured], func_name='Inside')
  def f(zero, *args):
    return make(*args)
  return dataset('FlatMapDataset', slices([0]), types, shapes, other_arguments=list(captured), f=f)


class Iterator:
  """An initializable iterator over a dataset."""

  def __init__(self, source, types=(I,), shapes=(SCALAR,), name='it'):
    self.handle = apply('IteratorV2', shared_name=name, container='', output_types=list(types), output_shapes=list(shapes))[0]
    self.init = apply('MakeIterator', dataset=source, iterator=self.handle).op
    self.next = apply('IteratorGetNext', iterator=self.handle, output_types=list(types), output_shapes=list(shapes)).outputs

  def drain(self, s, n, feeds=None, end=True):
    s.run(targets=self.init, feeds=feeds)
    for _ in range(n):
      s.run(self.next)
    if end:
      s.run(self.next, error=True)
      s.run(self.next, error=True)
