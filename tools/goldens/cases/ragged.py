# SPDX-License-Identifier: Apache-2.0
"""Ragged tensors, counts as sparse tensors, maps of tensors, and other values packed into variants."""
import numpy as np

from record import apply, script, tf

I32, I64, F, STR = tf.int32, tf.int64, tf.float32, tf.string
OUTER, INNER = [0, 2, 2, 3], [0, 1, 4, 6]
VALUES = np.arange(6.0) + 1


def ints(*values, dtype=I64):
  return tf.constant(list(values), dtype)


def ranges():
  for dtype in ('int32', 'int64', 'float', 'double'):
    with script('RaggedRange', dtype) as s:
      t = tf.as_dtype(dtype)
      vectors = apply('RaggedRange', starts=tf.constant([0, 5, 8, 3], t), limits=tf.constant([3, 5, 2, 9], t),
                      deltas=tf.constant([1, 1, -2, 4], t), Tsplits=I64)
      scalars = apply('RaggedRange', starts=tf.constant(0, t), limits=tf.constant([2, 4], t), deltas=tf.constant(1, t), Tsplits=I32)
      s.run(vectors.outputs + scalars.outputs)
  with script('RaggedRange', 'errors') as s:
    starts, limits, deltas = (tf.placeholder(I32, None) for _ in range(3))
    out = apply('RaggedRange', starts=starts, limits=limits, deltas=deltas).outputs
    s.run(out, {starts: 1, limits: 2, deltas: 1})
    for a, b, c in ((0, 1, 0), ([1, 2], [1, 2, 3], 1), ([[1]], 1, 1)):
      s.run(out, {starts: a, limits: b, deltas: c}, error=True)


def conversions():
  for dtype in ('float', 'string'):
    with script('RaggedTensorToSparse', dtype) as s:
      values = np.array([['a', 'b'], ['c', 'd'], ['e', 'f'], ['g', ''], ['i', 'j'], ['k', 'l']], object)
      flat = tf.constant(values) if dtype == 'string' else tf.constant(VALUES, F)
      s.run(apply('RaggedTensorToSparse', rt_nested_splits=[ints(*OUTER), ints(*INNER)], rt_dense_values=flat).outputs)
  with script('RaggedTensorToSparse', 'errors') as s:
    splits, values = tf.placeholder(I64, None), tf.placeholder(F, None)
    out = apply('RaggedTensorToSparse', rt_nested_splits=[splits], rt_dense_values=values).outputs
    s.run(out, {splits: [0, 2], values: [1, 2]})
    for a in ([1, 2], [0, 3], [0, 3, 2], []):
      s.run(out, {splits: a, values: [1, 2]}, error=True)
  for label, shape, types, parts in (
      ('splits', [-1, -1], ['ROW_SPLITS'], [[0, 2, 2, 6]]), ('cut', [2, 3], ['ROW_SPLITS'], [[0, 2, 2, 6]]),
      ('rowids', [-1, 3], ['FIRST_DIM_SIZE', 'VALUE_ROWIDS'], [4, [0, 0, 2, 2, 2, 2]]),
      ('nested', [-1, 2, -1], ['ROW_SPLITS', 'ROW_SPLITS'], [OUTER, INNER]),
      ('mixed', [4, -1, 2], ['FIRST_DIM_SIZE', 'VALUE_ROWIDS', 'ROW_SPLITS'], [3, [0, 0, 2], INNER])):
    with script('RaggedTensorToTensor', label) as s:
      partitions = [tf.constant(p, I64) for p in parts]
      s.run([apply('RaggedTensorToTensor', shape=tf.constant(shape, I64), values=tf.constant(VALUES, F), default_value=tf.constant(-1.0),
                   row_partition_tensors=partitions, row_partition_types=types)[0],
             apply('RaggedTensorToTensor', shape=tf.constant(-1, I64), values=tf.constant(list('abcdef')), default_value=tf.constant('?'),
                   row_partition_tensors=partitions, row_partition_types=types)[0]])
  with script('RaggedTensorToTensor', 'default') as s:
    values, default = tf.placeholder(F, None), tf.placeholder(F, None)
    out = apply('RaggedTensorToTensor', shape=tf.constant([-1, 3, 2], I64), values=values, default_value=default,
                row_partition_tensors=[ints(0, 2, 3)], row_partition_types=['ROW_SPLITS']).outputs
    flat = np.arange(6).reshape(3, 2)
    s.run(out, {values: flat, default: [8, 9]})
    s.run(out, {values: flat, default: [7]})
    for v, d in ((flat, [1, 2, 3]), (flat, [[1]]), (flat[:, :1], 0)):
      s.run(out, {values: v, default: d}, error=True)


def gathers():
  for label, indices in (('vector', [2, 0, 0]), ('matrix', [[0, 1], [2, 2]]), ('empty', np.zeros([0], np.int64))):
    with script('RaggedGather', label) as s:
      rank = np.ndim(indices)
      out = apply('RaggedGather', params_nested_splits=[ints(*OUTER), ints(*INNER)], params_dense_values=tf.constant(VALUES, F),
                  indices=tf.constant(indices, I64), OUTPUT_RAGGED_RANK=rank + 1)
      s.run(out.outputs)
  with script('RaggedGather', 'errors') as s:
    splits, indices = tf.placeholder(I64, None), tf.placeholder(I32, [None])
    out = apply('RaggedGather', params_nested_splits=[splits], params_dense_values=tf.constant(list('abc')), indices=indices,
                OUTPUT_RAGGED_RANK=1)
    out = out.outputs
    s.run(out, {splits: [0, 2, 3], indices: [1, 0]})
    for a, b in (([0, 2, 3], [2]), ([0, 2, 3], [-1]), ([0, 4], [0]), ([0, 2, 1], [0]), ([-1, 2], [0])):
      s.run(out, {splits: a, indices: b}, error=True)
  for dtype in ('float', 'int64', 'string'):
    with script('RaggedFillEmptyRows', dtype) as s:
      t = tf.as_dtype(dtype)
      values, default = (['a', 'b', 'c'], '?') if t == STR else ([1, 2, 3], -1)
      s.run(apply('RaggedFillEmptyRows', value_rowids=ints(1, 3, 3), values=tf.constant(values, t), nrows=tf.constant(5, I64),
                  default_value=tf.constant(default, t)).outputs)
  with script('RaggedFillEmptyRowsGrad') as s:
    s.run(apply('RaggedFillEmptyRowsGrad', reverse_index_map=ints(1, 3), grad_values=tf.constant([1.0, 2, 4, 8, 16])).outputs)


def variants():
  with script('RaggedTensorToVariant', 'batched') as s:
    encoded = apply('RaggedTensorToVariant', rt_nested_splits=[ints(*OUTER), ints(*INNER)], rt_dense_values=tf.constant(VALUES, F),
                    batched_input=True)[0]
    out = apply('RaggedTensorFromVariant', encoded_ragged=encoded, input_ragged_rank=1, output_ragged_rank=2, Tvalues=F)
    row = apply('RaggedTensorFromVariant', encoded_ragged=encoded[2], input_ragged_rank=-1, output_ragged_rank=1, Tvalues=F)
    s.run(out.outputs + row.outputs + [tf.shape(encoded)])
  with script('RaggedTensorToVariant', 'whole') as s:
    encoded = apply('RaggedTensorToVariant', rt_nested_splits=[ints(0, 1, 3, dtype=I32)], rt_dense_values=tf.constant(list('abc')),
                    batched_input=False)[0]
    out = apply('RaggedTensorFromVariant', encoded_ragged=tf.stack([encoded, encoded]), input_ragged_rank=1, output_ragged_rank=2,
                Tvalues=STR, Tsplits=I32)
    s.run(out.outputs)
    wrong = apply('RaggedTensorFromVariant', encoded_ragged=encoded, input_ragged_rank=-1, output_ragged_rank=1, Tvalues=F, Tsplits=I32)
    s.run(wrong.outputs, error=True)
    deeper = apply('RaggedTensorFromVariant', encoded_ragged=encoded, input_ragged_rank=-1, output_ragged_rank=2, Tvalues=STR, Tsplits=I32)
    s.run(deeper.outputs, error=True)
  with script('RaggedTensorToVariantGradient') as s:
    x = tf.constant(VALUES, F)
    encoded = apply('RaggedTensorToVariant', rt_nested_splits=[ints(0, 2, 6)], rt_dense_values=x, batched_input=True)[0]
    s.run(apply('RaggedTensorToVariantGradient', encoded_ragged_grad=encoded, row_splits=ints(0, 2, 6),
                dense_values_shape=ints(6, dtype=I32), Tvalues=F).outputs)


def counts():
  data = np.array([[3, 1, 1], [0, 7, 3]])
  for dtype in ('int32', 'int64', 'float', 'double'):
    with script('DenseCountSparseOutput', dtype) as s:
      weights = tf.constant(np.arange(6).reshape(2, 3) + 1, dtype)
      none = tf.constant([], dtype)
      s.run(apply('DenseCountSparseOutput', values=tf.constant(data, I32), weights=weights, binary_output=False).outputs +
            apply('DenseCountSparseOutput', values=tf.constant(data, I64), weights=none, binary_output=True, minlength=10).outputs +
            apply('DenseCountSparseOutput', values=tf.constant(data[0], I64), weights=none, binary_output=False, maxlength=3).outputs)
  with script('DenseCountSparseOutput', 'errors') as s:
    values, weights = tf.placeholder(I64, None), tf.placeholder(F, None)
    out = apply('DenseCountSparseOutput', values=values, weights=weights, binary_output=False).outputs
    s.run(out, {values: [1, 1], weights: [1, 2]})
    for v, w in ((1, []), ([-1], []), ([1, 2], [1]), (np.zeros([0, 2]), [])):
      s.run(out, {values: v, weights: w}, error=True)
  with script('SparseCountSparseOutput') as s:
    indices, values = tf.placeholder(I64, None), tf.placeholder(I32, None)
    out = apply('SparseCountSparseOutput', indices=indices, values=values, dense_shape=ints(3, 4), weights=tf.constant([], F),
                     binary_output=False).outputs
    s.run(out, {indices: [[0, 1], [0, 3], [2, 0]], values: [5, 5, 1]})
    for i, v in (([[0, 1]], [1, 2]), ([[3, 0]], [1]), ([[0, 1]], [-1]), ([0, 1], [1])):
      s.run(out, {indices: i, values: v}, error=True)
  with script('RaggedCountSparseOutput') as s:
    splits, values = tf.placeholder(I64, None), tf.placeholder(I64, None)
    out = apply('RaggedCountSparseOutput', splits=splits, values=values, weights=tf.constant([], I64), binary_output=False).outputs
    s.run(out, {splits: [0, 3, 3, 5], values: [2, 2, 9, 1, 0]})
    for a, v in (([0], [1]), ([1, 2], [1, 2]), ([0, 1], [1, 2]), ([0, 1], [-1])):
      s.run(out, {splits: a, values: v}, error=True)


def maps():
  with script('TensorMapInsert', 'items') as s:
    key, other = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    m = apply('EmptyTensorMap')[0]
    one = apply('TensorMapInsert', input_handle=m, key=key, value=tf.constant('x'))[0]
    two = apply('TensorMapInsert', input_handle=one, key=other, value=tf.constant('y'))[0]
    same = apply('TensorMapInsert', input_handle=two, key=key, value=tf.constant('z'))[0]
    less = apply('TensorMapErase', input_handle=same, key=other, value_dtype=STR)[0]
    find = lambda handle, k, t=STR: apply('TensorMapLookup', input_handle=handle, key=k, value_dtype=t)[0]
    size = lambda handle: apply('TensorMapSize', input_handle=handle)[0]
    has = lambda handle, k: apply('TensorMapHasKey', input_handle=handle, key=k)[0]
    s.run([size(m), size(one), size(two), size(same), size(less), find(two, key), find(same, key), has(less, other), has(less, key),
           apply('TensorMapStackKeys', input_handle=less, key_dtype=F)[0]])
    s.run(find(less, other), error=True)
    s.run(find(less, key, F), error=True)
    s.run(size(apply('TensorMapErase', input_handle=m, key=key, value_dtype=STR)[0]), error=True)
    s.run(apply('TensorMapStackKeys', input_handle=m, key_dtype=F)[0], error=True)
    s.run(apply('TensorMapStackKeys', input_handle=less, key_dtype=I32)[0], error=True)


def composites():
  from tensorflow.core.protobuf import composite_tensor_variant_pb2, struct_pb2
  def metadata(kind):
    return composite_tensor_variant_pb2.CompositeTensorVariantMetadata(
        type_spec_proto=struct_pb2.TypeSpecProto(type_spec_class=kind)).SerializeToString()
  sparse, ragged = struct_pb2.TypeSpecProto.SPARSE_TENSOR_SPEC, struct_pb2.TypeSpecProto.RAGGED_TENSOR_SPEC
  with script('CompositeTensorVariantFromComponents') as s:
    packed = apply('CompositeTensorVariantFromComponents', components=[tf.constant([1, 2]), tf.constant('x')], metadata=metadata(sparse))[0]
    unpack = lambda kind, types: apply('CompositeTensorVariantToComponents', encoded=packed, metadata=metadata(kind),
                                       Tcomponents=types).outputs
    s.run(unpack(sparse, [I32, STR]))
    for kind, types in ((ragged, [I32, STR]), (sparse, [I32]), (sparse, [I32, F])):
      s.run(unpack(kind, types), error=True)


def cases():
  ranges()
  conversions()
  gathers()
  variants()
  counts()
  maps()
  composites()
