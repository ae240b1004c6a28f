# SPDX-License-Identifier: Apache-2.0
"""Ragged tensors: made, indexed, combined, reduced; strings that become ragged."""

import tensorflow as tf, numpy as np


def rag(name, f):
    tf.reset_default_graph()
    try:
        r = f()
        with tf.Session() as s:
            s.run(tf.tables_initializer())
            v = s.run(r)
        def p(v): return v.to_list() if hasattr(v, "to_list") else ([p(x) for x in v] if isinstance(v, (list, tuple)) else v)
        print(name, p(v))
    except Exception as e:
        print(name, "ERR", type(e).__name__)
R = lambda: tf.ragged.constant([[1, 2], [], [3, 4, 5]])
rag("const", R)
rag("parts", lambda: [R().values, R().row_splits, R().row_lengths(), R().value_rowids(), R().row_starts(), R().nrows(), R().bounding_shape(), R().to_tensor(), R().to_tensor(-1), R().row_limits()])
rag("from", lambda: [tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 1, 3]), tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 0, 1]), tf.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 2]), tf.RaggedTensor.from_tensor([[1, 0], [2, 3]], padding=0), tf.RaggedTensor.from_sparse(tf.SparseTensor([[0, 0], [1, 0]], [1, 2], [2, 2]))])
rag("arith", lambda: [R() + 1, R() * R(), -R(), tf.cast(R(), tf.float32) / 2.])
rag("reduce", lambda: [tf.reduce_sum(R(), axis=1), tf.reduce_mean(tf.cast(R(), tf.float32), axis=1), tf.reduce_max(R(), axis=1), tf.reduce_sum(R()), tf.reduce_sum(R(), axis=0)])
rag("concat", lambda: [tf.concat([R(), R()], axis=1), tf.concat([R(), R()], axis=0), tf.stack([R(), R()])])
rag("gather", lambda: [tf.gather(R(), [2, 0]), R()[0], R()[1:], R()[:, :1], R()[2, 1], tf.ragged.map_flat_values(lambda x: x * 2, R())])
rag("range", lambda: [tf.ragged.range([2, 0, 3]), tf.RaggedTensor.from_tensor([[1, 2]]).to_sparse(), tf.ragged.row_splits_to_segment_ids([0, 2, 2, 3])])
rag("bool", lambda: tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]]))
rag("expand", lambda: [tf.expand_dims(R(), 1), tf.tile(R(), [1, 2]), tf.where(R() > 2, R(), -R())])
rag("strings", lambda: [tf.strings.split(["a b c", "d"], result_type="RaggedTensor"), tf.string_split(["a,b", "c"], ",", result_type="RaggedTensor"), tf.strings.unicode_decode(["héllo", "a"], "UTF-8"), tf.strings.bytes_split(["ab", "c"]), tf.strings.ngrams(["a", "b", "c"], 2), tf.strings.unicode_split(["héy"], "UTF-8"), tf.strings.unicode_encode(tf.strings.unicode_decode(["hé"], "UTF-8"), "UTF-8")])
rag("emb", lambda: tf.nn.embedding_lookup(tf.constant([[1.], [2.], [3.], [4.], [5.], [6.]]), R()))
rag("rank3", lambda: tf.ragged.constant([[[1], [2, 3]], [[]]]))
rag("str", lambda: tf.ragged.constant([["a", "bc"], []]))
print(R().shape, R().dtype, R().ragged_rank, tf.is_ragged(R()) if hasattr(tf, "is_ragged") else "")
rag("slices", lambda: [R()[:, 1:], R()[-1], R()[:2], R()[..., :2], tf.ragged.constant([[[1], [2, 3]], [[4]]])[:, :, :1], R()[::2]])
rag("deep", lambda: [tf.reduce_sum(tf.ragged.constant([[[1], [2, 3]], [[4]]]), axis=2), tf.reduce_sum(tf.ragged.constant([[[1], [2, 3]], [[4]]]), axis=1), tf.ragged.constant([[[1], [2, 3]], [[4]]]).merge_dims(0, 1), tf.ragged.constant([[[1], [2, 3]], [[4]]]).to_tensor()])
rag("mean", lambda: [tf.reduce_mean(tf.ragged.constant([[1.0, 3.0], [5.0]]), axis=1, keepdims=True), tf.reduce_all(R() > 1, axis=1), tf.reduce_any(R() > 4, axis=1), tf.reduce_min(R(), axis=1), tf.reduce_prod(R(), axis=1)])
rag("with_tensor", lambda: [R() + [[10], [20], [30]], 2 * R(), R() > 2, tf.add(R(), 1), tf.strings.length(tf.ragged.constant([["ab"], []])), tf.square(R())])
rag("gradient", lambda: (lambda v: tf.gradients(tf.reduce_sum(tf.RaggedTensor.from_row_splits(v, [0, 1, 3]) * 2.0, axis=1), v))(tf.constant([1.0, 2.0, 3.0])))
