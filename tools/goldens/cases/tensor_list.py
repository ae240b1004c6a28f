# SPDX-License-Identifier: Apache-2.0
"""Lists of tensors: one op at a time, and the loops of TensorFlow 2, whose gradients keep values in them."""
import contextlib

import numpy as np

from cases.state import c
from record import apply, script, tf
from tensorflow.python.ops import control_flow_util

TYPES = ('float', 'double', 'half', 'bfloat16', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'complex64',
         'complex128', 'bool', 'string')
X = np.array([[1.0, -2], [3, 4], [5, -6]])


def ints(*values):
  return tf.constant(list(values), tf.int32)


def unknown():
  return tf.constant(-1, tf.int32)


def empty(shape, dtype=tf.float32, most=-1):
  return apply('EmptyTensorList', element_shape=shape, max_num_elements=most, element_dtype=dtype)[0]


def reserve(shape, n, dtype=tf.float32):
  return apply('TensorListReserve', element_shape=shape, num_elements=n, element_dtype=dtype)[0]


def push(handle, tensor):
  return apply('TensorListPushBack', input_handle=handle, tensor=tensor)[0]


def pop(handle, shape, dtype=tf.float32):
  return apply('TensorListPopBack', input_handle=handle, element_shape=shape, element_dtype=dtype)


def get(handle, i, shape=-1, dtype=tf.float32):
  return apply('TensorListGetItem', input_handle=handle, index=i, element_shape=tf.constant(shape, tf.int32), element_dtype=dtype)[0]


def put(handle, i, item, **kw):
  return apply('TensorListSetItem', input_handle=handle, index=i, item=item, **kw)[0]


def stack(handle, shape=-1, dtype=tf.float32, **kw):
  return apply('TensorListStack', input_handle=handle, element_shape=tf.constant(shape, tf.int32), element_dtype=dtype, **kw)[0]


def rows(tensor, shape=-1):
  return apply('TensorListFromTensor', tensor=tensor, element_shape=tf.constant(shape, tf.int32))[0]


def gather(handle, indices, shape=-1, dtype=tf.float32):
  return apply('TensorListGather', input_handle=handle, indices=indices, element_shape=tf.constant(shape, tf.int32),
               element_dtype=dtype)[0]


def concat(handle, shape=-1, lengths=(), dtype=tf.float32):
  return apply('TensorListConcatV2', input_handle=handle, element_shape=tf.constant(shape, tf.int32),
               leading_dims=tf.constant(lengths, tf.int64, [len(lengths)]), element_dtype=dtype)


def split(tensor, lengths, shape=-1):
  return apply('TensorListSplit', tensor=tensor, element_shape=tf.constant(shape, tf.int32),
               lengths=tf.constant(lengths, tf.int64))[0]


def length(handle):
  return apply('TensorListLength', input_handle=handle)[0]


def element_shape(handle, dtype=tf.int32):
  return apply('TensorListElementShape', input_handle=handle, shape_type=dtype)[0]


def every_type():
  for t in TYPES:
    with script('TensorListPushBack', t) as s:
      handle = push(push(empty(ints(2), t), c(X[0], t)), c(X[1], t))
      popped = pop(handle, ints(2), t)
      s.run([length(handle), stack(handle, dtype=t), popped[1], length(popped[0]), element_shape(popped[0])])
    with script('TensorListSetItem', t) as s:
      handle = put(reserve(ints(2), 3, t), 1, c(X[2], t))
      s.run([get(handle, 1, dtype=t), get(handle, 0, dtype=t), stack(handle, dtype=t), gather(handle, ints(1, 2, 1), dtype=t)])
    with script('TensorListFromTensor', t) as s:
      handle = rows(c(X, t), [2])
      s.run([stack(handle, [2], t), get(handle, 2, dtype=t), length(handle)])
    with script('TensorListConcatV2', t) as s:
      handle = split(c(X, t), [1, 0, 2])
      joined = concat(handle, dtype=t)
      s.run([length(handle), joined[0], joined[1], get(handle, 2, dtype=t)])


def making():
  with script('EmptyTensorList', 'shapes') as s:
    for shape in (ints(2, 3), ints(-1, 3), unknown(), tf.constant([], tf.int32), tf.constant([4], tf.int64)):
      handle = empty(shape)
      s.run([element_shape(handle), element_shape(handle, tf.int64), length(handle)])
  with script('EmptyTensorList', 'errors', covers=['EmptyTensorList']) as s:
    shape, most = tf.placeholder(tf.int32, None), tf.placeholder(tf.int32, None)
    n = length(empty(shape, most=most))
    s.run(n, {shape: 3, most: -1}, error=True)
    s.run(n, {shape: [-2], most: -1}, error=True)
    s.run(n, {shape: [2], most: [1, 2]}, error=True)
    s.run(n, {shape: [2], most: 5})
  with script('TensorListReserve', 'errors', covers=['TensorListReserve']) as s:
    n = tf.placeholder(tf.int32, None)
    count = length(reserve(ints(2), n))
    for value in (0, 5):
      s.run(count, {n: value})
    for value in (-1, [1, 2]):
      s.run(count, {n: value}, error=True)
  with script('TensorListResize', 'sizes') as s:
    n = tf.placeholder(tf.int32, None)
    resized = apply('TensorListResize', input_handle=rows(c(X), [2]), size=n)[0]
    for value in (0, 2, 5):
      s.run([length(resized), stack(resized, [2])], {n: value})
    s.run(length(resized), {n: -1}, error=True)
  with script('TensorListPushBack', 'errors', covers=['TensorListPushBack', 'TensorListPopBack']) as s:
    x = tf.placeholder(tf.float32, None)
    s.run(length(push(empty(ints(2)), x)), {x: [1.0, 2]})
    s.run(length(push(empty(ints(2)), x)), {x: [1.0, 2, 3]}, error=True)
    s.run(length(push(empty(ints(-1)), x)), {x: 1.0}, error=True)
    s.run(length(push(push(empty(unknown(), most=1), x), x)), {x: 1.0}, error=True)
    s.run(pop(empty(ints(2)), ints(2))[1], error=True)
    s.run(pop(reserve(ints(2), 1), ints(2))[1])
    s.run(pop(reserve(unknown(), 1), unknown())[1], error=True)
    s.run(pop(reserve(unknown(), 1), ints(3))[1])


def items():
  with script('TensorListGetItem', 'places') as s:
    i = tf.placeholder(tf.int32, None)
    item = get(rows(c(X)), i)
    for value in (0, 2):
      s.run(item, {i: value})
    for value in (-1, 3):
      s.run(item, {i: value}, error=True)
  with script('TensorListGetItem', 'unset', covers=['TensorListGetItem', 'TensorListSetItem']) as s:
    s.run(get(reserve(unknown(), 3), 1), error=True)
    s.run(get(reserve(unknown(), 3), 1, [2, 2]))
    s.run(get(put(reserve(unknown(), 3), 0, c(X)), 1))
    s.run(get(put(put(reserve(unknown(), 3), 0, c(X)), 1, c(X[0])), 2), error=True)
    s.run(get(reserve(ints(-1, 2), 3), 1, [3, -1]))
    shape = tf.placeholder(tf.int32, None)
    s.run(apply('TensorListGetItem', input_handle=reserve(ints(3, 2), 3), index=1, element_shape=shape, element_dtype=tf.float32)[0],
          {shape: [2, 2]}, error=True)
  with script('TensorListSetItem', 'errors', covers=['TensorListSetItem']) as s:
    i, x = tf.placeholder(tf.int32, None), tf.placeholder(tf.float32, None)
    handle = put(reserve(ints(2), 2), i, x)
    s.run(stack(handle), {i: 1, x: [1.0, 2]})
    for at, value in ((2, [1.0, 2]), (0, [1.0]), (0, 1.0)):  # TensorFlow itself crashes at -1
      s.run(stack(handle), {i: at, x: value}, error=True)
    grown = put(reserve(ints(2), 2), i, x, resize_if_index_out_of_bounds=True)
    s.run([length(grown), stack(grown)], {i: 4, x: [1.0, 2]})
  with script('TensorListSetItem', 'lists_are_values') as s:
    handle = rows(c(X))
    changed = put(handle, 1, c(-X[0]))
    s.run([stack(handle), stack(changed), stack(push(changed, c(X[1])))])


def whole_lists():
  with script('TensorListStack', 'shapes') as s:
    s.run([stack(empty(ints(2)), [2]), stack(empty(ints(2, -1)), [-1, 3]), stack(reserve(ints(2), 2))])
    s.run(stack(put(reserve(unknown(), 3), 1, c(X))))
    s.static_shapes(stack(empty(ints(2)), [2]), stack(empty(unknown()), -1), stack(empty(ints(2)), -1, num_elements=3))
  with script('TensorListStack', 'errors', covers=['TensorListStack']) as s:
    s.run(stack(empty(unknown())), error=True)
    s.run(stack(reserve(unknown(), 2)), error=True)
    s.run(stack(put(put(reserve(unknown(), 2), 0, c(X)), 1, c(X[0]))), error=True)
    s.run(stack(rows(c(X)), num_elements=2), error=True)
    s.run(stack(rows(c(X)), num_elements=3))
    s.run(stack(rows(c(X)), [3]), error=True)
  with script('TensorListFromTensor', 'errors', covers=['TensorListFromTensor']) as s:
    x = tf.placeholder(tf.float32, None)
    s.run(length(rows(x)), {x: X})
    s.run(length(rows(x)), {x: 1.0}, error=True)
    s.run(length(rows(x, [3])), {x: X}, error=True)
    s.run([length(rows(x, [-1])), element_shape(rows(x, [-1]))], {x: np.zeros((0, 2))})
  with script('TensorListGather', 'places') as s:
    i = tf.placeholder(tf.int32, [None])
    rows_of = gather(rows(c(X), [2]), i)
    for value in ([0, 2], [1, 1, 1], []):
      s.run(rows_of, {i: value})
    s.run(rows_of, {i: [3]}, error=True)
    s.run(gather(rows(c(X)), i), {i: []}, error=True)
    s.run(gather(reserve(unknown(), 2), i), {i: [1]}, error=True)
    s.run(gather(reserve(unknown(), 2), i, [2]), {i: [1, 0]})
  with script('TensorListScatter', 'places') as s:
    for indices in ([0, 1, 2], [4, 0, 2], [1, 1, 1]):
      handle = apply('TensorListScatter', tensor=c(X), indices=ints(*indices), element_shape=ints(2))[0]
      s.run([length(handle), stack(handle)])
    for indices in ([0, 1], [0, 1, -1]):
      s.run(length(apply('TensorListScatter', tensor=c(X), indices=ints(*indices), element_shape=ints(2))[0]), error=True)
    s.run(length(apply('TensorListScatter', tensor=c(X), indices=ints(0, 1, 2), element_shape=ints(3))[0]), error=True)
  with script('TensorListScatterV2', 'sizes') as s:
    n = tf.placeholder(tf.int32, [])
    handle = apply('TensorListScatterV2', tensor=c(X), indices=ints(3, 0, 2), element_shape=ints(2), num_elements=n)[0]
    for value in (-1, 4, 6):
      s.run([length(handle), stack(handle)], {n: value})
    s.run(length(handle), {n: -2}, error=True)
    s.run(length(handle), {n: 3}, error=True)
  with script('TensorListScatterIntoExistingList', 'places') as s:
    for indices in ([0, 1, 2], [3, 0, 2]):  # with a gap TensorFlow gives memory that nobody set
      handle = apply('TensorListScatterIntoExistingList', input_handle=rows(c(X * 10), [2]), tensor=c(X), indices=ints(*indices))[0]
      s.run([length(handle), stack(handle)])
  with script('TensorListPushBackBatch', 'rows') as s:
    handles = tf.stack([empty(ints(2)), rows(c(X), [2])])
    handles = apply('TensorListPushBackBatch', input_handles=handles, tensor=c(X[:2]))[0]
    s.run([stack(handles[0]), stack(handles[1])])
  with script('TensorListConcatLists', 'pairs') as s:
    both = apply('TensorListConcatLists', input_a=rows(c(X)), input_b=rows(c(-X)), element_dtype=tf.float32)[0]
    s.run([length(both), stack(both)])


def joining():
  with script('TensorListConcat', 'shapes') as s:
    handle = split(c(X), [2, 1])
    for shape in (tf.TensorShape(None), tf.TensorShape([None, 2]), tf.TensorShape([None, None])):
      s.run(apply('TensorListConcat', input_handle=handle, element_dtype=tf.float32, element_shape=shape).outputs)
    s.run(apply('TensorListConcat', input_handle=empty(unknown()), element_dtype=tf.float32, element_shape=[None, 2]).outputs)
    s.run(apply('TensorListConcat', input_handle=empty(unknown()), element_dtype=tf.float32, element_shape=None).outputs, error=True)
  with script('TensorListConcatV2', 'unset') as s:
    handle = put(reserve(ints(-1, 2), 3), 1, c(X))
    for lengths in ([], [1, 9, 2]):
      s.run(concat(handle, [-1, 2], lengths).outputs)
    s.run(concat(reserve(ints(-1, 2), 2), [-1, 2], [1]).outputs, error=True)
    s.run(concat(reserve(ints(2, 2), 2), [2, 2]).outputs)
    s.run(concat(reserve(unknown(), 2), -1, [1, 1]).outputs, error=True)
    s.run(concat(rows(c(X[0])), -1).outputs, error=True)
    s.run(concat(rows(c(X)), [3]).outputs, error=True)
    s.run(concat(empty(unknown()), [-1, 3]).outputs)
  with script('TensorListSplit', 'lengths') as s:
    x, n = tf.placeholder(tf.float32, None), tf.placeholder(tf.int64, None)
    handle = apply('TensorListSplit', tensor=x, element_shape=tf.constant(-1), lengths=n)[0]
    for lengths in ([3], [1, 2], [0, 3, 0]):
      s.run([length(handle), get(handle, 0)], {x: X, n: lengths})
    for lengths in ([4], [1, 1], [-1, 4], 3):
      s.run(length(handle), {x: X, n: lengths}, error=True)
    s.run(length(handle), {x: 1.0, n: [1]}, error=True)
    s.run(length(split(x, [3], [3, 3])), {x: X}, error=True)


def sums():
  with script('AddN', 'lists', covers=['AddN']) as s:
    total = tf.raw_ops.AddN(inputs=[rows(c(X)), rows(c(X * 2)), put(reserve(ints(2), 3), 0, c(X[1]))])
    s.run(stack(total))
    s.run(length(tf.raw_ops.AddN(inputs=[rows(c(X)), rows(c(X[:2]))])), error=True)
  with script('ZerosLike', 'lists', covers=['ZerosLike']) as s:
    zeros = tf.raw_ops.ZerosLike(x=put(rows(c(X)), 0, c(X)))
    s.run([length(zeros), get(zeros, 0), get(zeros, 1)])


def optionals():
  with script('OptionalFromValue', 'values') as s:
    some, none = apply('OptionalFromValue', components=[c(X), c(3, tf.int32)])[0], apply('OptionalNone')[0]
    s.run([apply('OptionalHasValue', optional=o)[0] for o in (some, none)])
    def value(o, types=(tf.float32, tf.int32), shapes=((3, 2), None)):
      return apply('OptionalGetValue', optional=o, output_types=types, output_shapes=shapes).outputs
    s.run(value(some))
    s.run(value(none), error=True)
    s.run(value(some, (tf.float32, tf.int64)), error=True)
    s.run(value(some, shapes=((2, 2), None)), error=True)
    s.run(value(some, (tf.float32,), ((3, 2),)), error=True)
    s.run(value(tf.raw_ops.ZerosLike(x=some)))
    s.run(value(rows(c(X))), error=True)


def gradients():
  def case(op, label, build, shape=(3, 2)):
    with script(op, 'gradient_' + label) as s:
      x = tf.placeholder(tf.float64, [3, 2])
      y = build(x)
      y.set_shape(shape)
      s.run(y, {x: X})
      s.gradients([y], [x], {x: X})

  D = tf.float64
  case('TensorListStack', 'rows', lambda x: stack(rows(x, [2]), [2], D) * x)
  case('TensorListPushBack', 'push', lambda x: stack(push(push(empty(ints(2), D), x[1]), x[0] * x[2]), [2], D), [2, 2])
  case('TensorListPopBack', 'pop', lambda x: pop(rows(x, [2]), ints(2), D)[1] * x[0], [2])
  case('TensorListPopBack', 'rest', lambda x: stack(pop(rows(x, [2]), ints(2), D)[0], [2], D), [2, 2])
  case('TensorListGetItem', 'item', lambda x: get(rows(x, [2]), 1, [2], D) * x[2], [2])
  case('TensorListSetItem', 'item', lambda x: stack(put(rows(x, [2]), 1, x[0] * x[2]), [2], D))
  case('TensorListGather', 'rows', lambda x: gather(rows(x, [2]), ints(2, 0, 1), [2], D))
  case('TensorListScatterV2', 'rows', lambda x: stack(apply(
      'TensorListScatterV2', tensor=x, indices=ints(3, 0, 1), element_shape=ints(2), num_elements=4)[0], [2], D), [4, 2])
  case('TensorListScatterIntoExistingList', 'rows', lambda x: stack(apply(
      'TensorListScatterIntoExistingList', input_handle=rows(x, [2]), tensor=x[:1] * x[1:2], indices=ints(2))[0], [2], D))
  case('TensorListConcatV2', 'pieces', lambda x: concat(split(x * x, [1, 2], [-1, 2]), [-1, 2], dtype=D)[0])
  case('TensorListResize', 'shorter', lambda x: stack(apply('TensorListResize', input_handle=rows(x, [2]), size=2)[0], [2], D), [2, 2])


@contextlib.contextmanager
def control_flow_v2():
  before = control_flow_util.ENABLE_CONTROL_FLOW_V2
  control_flow_util.ENABLE_CONTROL_FLOW_V2 = True
  try:
    yield
  finally:
    control_flow_util.ENABLE_CONTROL_FLOW_V2 = before


def loops():
  """Graphs as TensorFlow 2 makes them, gradients included."""
  with control_flow_v2():
    with script('StatelessWhile', 'power_with_gradient') as s:
      x, n = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int32, [])
      y = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * x + tf.sin(v)), [0, x])[1]
      dx = tf.gradients(y, x)[0]
      for count in (0, 1, 4):
        s.run([y, dx], {x: [0.5, -1.5], n: count})
    with script('StatelessWhile', 'tensor_array_with_gradient') as s:
      x = tf.placeholder(tf.float32, [3, 2])
      source = tf.TensorArray(tf.float32, 3, element_shape=[2]).unstack(x)
      def body(i, state, out):
        state = tf.tanh(state + source.read(i))
        return i + 1, state, out.write(i, state)
      out = tf.while_loop(lambda i, *_: i < 3, body, [0, tf.zeros([2]), tf.TensorArray(tf.float32, 3)])[2].stack()
      s.run([out, tf.gradients(out, x)[0]], {x: X})
    with script('StatelessWhile', 'nested_with_gradient') as s:
      x = tf.placeholder(tf.float32, [])
      def outer(i, v):
        return i + 1, tf.while_loop(lambda j, w: j < i, lambda j, w: (j + 1, w * x), [0, v])[1] + x
      y = tf.while_loop(lambda i, v: i < 3, outer, [0, x])[1]
      s.run([y, tf.gradients(y, x)[0]], {x: 1.5})
    with script('StatelessIf', 'with_gradient') as s:
      x, p = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.bool, [])
      y = tf.cond(p, lambda: tf.exp(x) * x, lambda: x * 3.0)
      dx = tf.gradients(y, x)[0]
      for taken in (True, False):
        s.run([y, dx], {x: [0.5, -1.5], p: taken})


def cases():
  every_type()
  making()
  items()
  whole_lists()
  joining()
  sums()
  optionals()
  gradients()
  loops()
