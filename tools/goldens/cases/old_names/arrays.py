# SPDX-License-Identifier: Apache-2.0
"""TensorArrays whose handles are strings."""
from cases.old_names.common import old_graph
from record import apply, script, tf


class Array:
  """A TensorArray of version 1 ('') or 2 ('V2')."""

  def __init__(self, version, size, dtype=tf.float32, flow=0.0, handle=None, **attrs):
    self.version, self.dtype, self.flow = version, dtype, tf.convert_to_tensor(flow)
    self.handle = handle if handle is not None else apply('TensorArray' + version, size=size, dtype=dtype, **attrs)[0]

  def _apply(self, op, **kwargs):
    version = '' if op in ('Pack', 'Unpack') else self.version
    flow = {} if op == 'Close' else dict(flow_in=self.flow)
    return apply('TensorArray' + op + version, handle=self.handle, **flow, **kwargs)

  def _with(self, op, **kwargs):
    return Array(self.version, 0, self.dtype, self._apply(op, **kwargs)[0], self.handle)

  def write(self, index, value):
    return self._with('Write', index=index, value=tf.constant(value, self.dtype))

  def scatter(self, indices, value):
    return self._with('Scatter', indices=indices, value=tf.constant(value, self.dtype))

  def split(self, value, lengths):
    return self._with('Split', value=tf.constant(value, self.dtype), lengths=tf.constant(lengths, tf.int64))

  def unpack(self, value):
    return self._with('Unpack', value=tf.constant(value, self.dtype))

  def read(self, index, dtype=None):
    return self._apply('Read', index=index, dtype=dtype or self.dtype)[0]

  def gather(self, indices, **attrs):
    return self._apply('Gather', indices=tf.constant(indices, tf.int32), dtype=self.dtype, **attrs)[0]

  def concat(self, **attrs):
    return list(self._apply('Concat', dtype=self.dtype, **attrs).outputs)

  def pack(self, **attrs):
    return self._apply('Pack', dtype=self.dtype, **attrs)[0]

  def size(self):
    return self._apply('Size')[0]

  def close(self):
    return self._apply('Close').op

  def grad(self, source='g'):
    handle = apply('TensorArrayGrad' + self.version, handle=self.handle, flow_in=self.flow, source=source)[0]
    return Array(self.version, 0, self.dtype, self.flow, handle)


ROWS = [[1.0, 2], [3, -4], [5, 6]]


def arrays(version):
  producer = 15 if version == '' else 25

  def case(op, label, make, error=False, shapes=False):
    with script('TensorArray' + op + ('' if op.endswith('ack') else version), label) as s:
      old_graph(producer)
      fetches = make()
      s.run(fetches, error=error)
      if shapes:
        s.static_shapes(*fetches)

  def array(size=3, **attrs):
    return Array(version, size, **attrs)

  for t in (tf.float32, tf.int64, tf.bool, tf.complex64, tf.string):
    values = {tf.int64: [[1, 2], [3, -4], [5, 6]], tf.bool: [[True, False]] * 3, tf.string: [['a', 'b'], ['', 'c'], ['d', 'e']]}.get(t, ROWS)
    def everything(t=t, values=values):
      a = array(dtype=t, clear_after_read=False).scatter([2, 0, 1], values)
      return [a.read(0), a.gather([1, 1, 0]), a.size(), a.flow] + a.concat()
    case('', t.name, everything, shapes=True)
  case('Write', 'then_read', lambda: [array().write(0, [1.0]).write(2, [3.0, 4]).read(2)], shapes=True)
  case('Write', 'grows', lambda: [(lambda a: a.size())(array(0, dynamic_size=True).write(4, [1.0]))])
  case('Read', 'zeros', lambda: [array(element_shape=[2]).read(1)])
  case('Gather', 'empty', lambda: [array(0).gather([], element_shape=[2])])
  case('Concat', 'uneven', lambda: array().write(0, [1.0, 2]).write(1, [3.0]).write(2, [4.0, 5]).concat())
  case('Split', 'parts', lambda: [(lambda a: a.read(1))(array().split(ROWS, [1, 2, 0]))])
  bad = {'write_range': lambda: array().write(3, [1.0]).flow, 'write_twice': lambda: array().write(0, [1.0]).write(0, [1.0]).flow,
         'read_range': lambda: array().read(-1), 'read_unwritten': lambda: array().read(0), 'read_type': lambda: array().read(0, tf.int32),
         'gather_range': lambda: array().scatter([0, 1, 2], ROWS).gather([3]), 'scatter_range': lambda: array().scatter([0, 1, 3], ROWS).flow,
         'split_lengths': lambda: array().split(ROWS, [1, 1, 3]).flow, 'size_negative': lambda: array(-1).size()}
  for label, make in bad.items():
    case('', label, lambda make=make: [make()], error=True)

  def gradients():
    a = array(clear_after_read=False).scatter([0, 1, 2], ROWS)
    g = a.grad()
    added = g.write(0, [1.0, 1]).write(0, [2.0, 3])
    same = Array(version, 0, tf.float32, added.flow, a.grad().handle)
    return [same.read(0), added.read(2), g.size()]
  case('Grad', 'adds', gradients)
  case('Grad', 'sources', lambda: [(lambda a: Array(version, 0, tf.float32, a.grad('g').write(0, [1.0, 2]).flow,
                                                     a.grad('h').handle).read(0))(array(element_shape=[2]))])

  def closed():
    a = array()
    with tf.control_dependencies([a.close()]):
      return [tf.identity(1.0)]
  case('Close', 'closes', closed)

  def used_after():
    a = array()
    with tf.control_dependencies([a.close()]):
      return [a.write(0, [1.0]).flow]
  case('Close', 'used_after', used_after, error=True)


def equal_nodes():
  """Two writes that are written alike are still two; a handle may be any two strings."""
  with script('TensorArrayWriteV2', 'alike') as s:
    old_graph(25)
    g = Array('V2', 2, clear_after_read=False).grad()
    first, second = g.write(0, 3.0), g.write(0, 3.0)
    s.run(Array('V2', 0, tf.float32, first.flow + second.flow, g.handle).read(0))
  for label, handle in (('unknown', ['_tensor_arrays', 'none']), ('one_string', ['_tensor_arrays'])):
    with script('TensorArraySizeV2', label) as s:
      old_graph(25)
      s.run(apply('TensorArraySizeV2', handle=tf.placeholder_with_default(handle, None), flow_in=0.0)[0], error=True)
  with script('TensorArraySizeV2', 'constant') as s:
    old_graph(25)
    s.run(apply('TensorArraySizeV2', handle=tf.constant(['_tensor_arrays', 'none']), flow_in=0.0)[0], error=True)


def array_loops():
  for version, producer in (('', 15), ('V2', 25)):
    with script('TensorArray' + version, 'loop') as s:
      old_graph(producer)
      a = Array(version, 4, clear_after_read=False)
      def step(i, flow):
        value = tf.cast(i, tf.float32) * 3
        flow = apply('TensorArrayWrite' + version, handle=a.handle, index=i, value=value, flow_in=flow)[0]
        return i + 1, tf.ensure_shape(flow, [])
      i, flow = tf.while_loop(lambda i, _: i < 2, step, [0, a.flow], parallel_iterations=1)
      done = Array(version, 0, tf.float32, flow, a.handle)
      s.run([done.read(0), done.read(1), i])


def whole_arrays():
  def case(op, label, make, error=False):
    with script('TensorArray' + op, label) as s:
      old_graph(15)
      s.run(make(), error=error)
  array = lambda size=3, **attrs: Array('', size, **attrs)
  case('Pack', 'rows', lambda: [array().unpack(ROWS).pack()])
  case('Pack', 'written', lambda: [array(2, dtype=tf.string).write(0, 'a').write(1, 'b').pack()])
  case('Pack', 'grown', lambda: [array(1, dynamic_size=True).unpack(ROWS).pack()])
  case('Pack', 'zeros', lambda: [array(element_shape=[2]).write(1, [1.0, 2]).pack()])
  case('Pack', 'empty', lambda: [array(0).pack(element_shape=[2, 3])])
  case('Pack', 'empty_of_unknown_shape', lambda: [array(0).pack()], error=True)
  case('Pack', 'uneven', lambda: [array(2).write(0, [1.0]).write(1, [1.0, 2]).pack()], error=True)
  case('Pack', 'unwritten', lambda: [array(2).write(0, [1.0]).pack()], error=True)
  case('Unpack', 'gradient', lambda: [array().unpack(ROWS).grad().unpack(ROWS).pack()])
  case('Unpack', 'gradient_of_grown', lambda: [array(1, dynamic_size=True).unpack(ROWS).grad().write(1, [1.0, 2]).pack()])
  case('Unpack', 'too_few', lambda: [array(4).unpack(ROWS).flow], error=True)
  case('Unpack', 'too_many', lambda: [array(2).unpack(ROWS).flow], error=True)
  case('Unpack', 'fewer_than_dynamic', lambda: [array(4, dynamic_size=True).unpack(ROWS).flow], error=True)
  case('Unpack', 'scalar', lambda: [array(4)._apply('Unpack', value=tf.constant(1))[0]], error=True)
