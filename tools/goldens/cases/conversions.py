# SPDX-License-Identifier: Apache-2.0
"""Casts of quantized types, numbers in variants, layouts that the CPU does not have, variants in messages."""
import numpy as np
from tensorflow.core.framework import tensor_pb2, tensor_shape_pb2

from record import apply, op, script, tf

STORAGE = {tf.qint8: tf.int8, tf.quint8: tf.uint8, tf.qint16: tf.int16, tf.quint16: tf.uint16, tf.qint32: tf.int32}


def casts():
  for t, storage in STORAGE.items():
    low, high = np.iinfo(storage.as_numpy_dtype).min, np.iinfo(storage.as_numpy_dtype).max
    codes = np.array([low, 0, 1, 77, high], storage.as_numpy_dtype)
    with script('Cast', t.name) as s:
      x = tf.bitcast(tf.constant(codes), t)
      s.run([tf.cast(x, to) for to in (tf.int8, tf.uint8, tf.int16, tf.int32, tf.int64, tf.float32, tf.float64, tf.bool)])
      for of in (tf.int32, tf.float32, tf.float64, tf.half, tf.bool):
        y = tf.cast(tf.constant([0, 1, 77], of) if of != tf.bool else tf.constant([True, False]), t)
        s.run(tf.bitcast(y, storage))
      s.run([tf.bitcast(tf.cast(x, to), STORAGE[to]) for to in STORAGE])


def variants():
  def number(kind, dtype, *values, shape=()):
    dims = [tensor_shape_pb2.TensorShapeProto.Dim(size=d) for d in shape]
    return tf.constant(tensor_pb2.TensorProto(
        dtype=tf.variant.as_datatype_enum, tensor_shape=tensor_shape_pb2.TensorShapeProto(dim=dims),
        variant_val=[tensor_pb2.VariantTensorDataProto(type_name=kind, metadata=np.array(v, dtype).tobytes()) for v in values]))

  text = lambda x: apply('AsString', input=x)[0]
  with script('AsString', 'variants') as s:
    s.run(text(number('int', np.int32, 17)))
    s.run(text(number('float', np.float32, 2.5)))
    s.run(text(number('double', np.float64, -0.25)))
    s.run(text(number('bool', np.bool_, True)))
    s.run(text(number('int', np.int32, 3, -4, shape=[2])))
  with script('AddN', 'variants') as s:
    s.run(text(apply('AddN', inputs=[number('int', np.int32, v) for v in (1, 2, -10)])[0]))
    s.run(text(apply('AddN', inputs=[number('float', np.float32, v) for v in (0.5, 2)])[0]))
    s.run(text(apply('AddN', inputs=[number('int', np.int32, 1), number('float', np.float32, 2)])[0]), error=True)
  with script('ZerosLike', 'variants') as s:
    s.run(text(apply('ZerosLike', x=number('int', np.int32, 7))[0]))
    s.run(text(apply('ZerosLike', x=number('double', np.float64, 7))[0]))


def layouts():
  for name in ('DepthToSpace', 'SpaceToDepth'):
    op(name, np.ones([1, 4, 2, 2]), label='NCHW', block_size=2, data_format='NCHW', error=True)


def serialized(value):
  with tf.Session(graph=value.graph) as session:
    return session.run(apply('SerializeTensor', tensor=value)[0])


def messages():
  with tf.Graph().as_default():
    shape = tf.constant([-1], tf.int32)
    items = apply('TensorListReserve', element_shape=shape, num_elements=4, element_dtype=tf.float32)[0]
    items = apply('TensorListSetItem', input_handle=items, index=1, item=tf.constant([1.5, 2]))[0]
    items = apply('TensorListSetItem', input_handle=items, index=2, item=tf.constant([3.0]))[0]
    kept = serialized(items)
  take = lambda handle, i: apply('TensorListGetItem', input_handle=handle, index=i, element_shape=[-1], element_dtype=tf.float32)[0]
  with script('ParseTensor', 'list') as s:
    bytes_in = tf.placeholder(tf.string, [])
    parsed = apply('ParseTensor', serialized=bytes_in, out_type=tf.variant)[0]
    s.run([apply('TensorListLength', input_handle=parsed)[0], take(parsed, 1), take(parsed, 2)], {bytes_in: kept})
    again = apply('ParseTensor', serialized=apply('SerializeTensor', tensor=parsed)[0], out_type=tf.variant)[0]
    s.run([apply('TensorListLength', input_handle=again)[0], take(again, 1), take(again, 2)], {bytes_in: kept})
  with script('SerializeTensor', 'lists_in_lists') as s:
    inner = apply('TensorListFromTensor', tensor=tf.constant([[1.0, 2], [3, 4]]), element_shape=tf.constant([2]))[0]
    outer = apply('EmptyTensorList', element_shape=tf.constant([], tf.int32), max_num_elements=5, element_dtype=tf.variant)[0]
    outer = apply('TensorListPushBack', input_handle=outer, tensor=inner)[0]
    back = apply('ParseTensor', serialized=apply('SerializeTensor', tensor=outer)[0], out_type=tf.variant)[0]
    first = apply('TensorListGetItem', input_handle=back, index=0, element_shape=tf.constant([], tf.int32), element_dtype=tf.variant)[0]
    s.run(apply('TensorListStack', input_handle=first, element_shape=[-1], element_dtype=tf.float32)[0])
  with script('SerializeTensor', 'ragged') as s:
    x = apply('RaggedTensorToVariant', rt_nested_splits=[tf.constant([0, 2, 3], tf.int64)], rt_dense_values=tf.constant([5, 6, 7]),
              batched_input=False)[0]
    back = apply('ParseTensor', serialized=apply('SerializeTensor', tensor=x)[0], out_type=tf.variant)[0]
    out = apply('RaggedTensorFromVariant', encoded_ragged=back, input_ragged_rank=1, output_ragged_rank=1, Tvalues=tf.int32,
                Tsplits=tf.int64)
    s.run([out[0], out[1]])


def cases():
  casts()
  variants()
  layouts()
  messages()
