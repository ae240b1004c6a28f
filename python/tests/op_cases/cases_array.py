# SPDX-License-Identifier: Apache-2.0
"""Shapes, joining, splitting, choosing elements."""
import numpy as np
from cases_math import A, B, c, fed, grads

C3 = np.arange(24).reshape(2, 3, 4).astype(np.float32).tolist()


def image(tf, h=4, w=4, d=2):
    return tf.constant(np.arange(h * w * d, dtype=np.float32).reshape(1, h, w, d))


CASES = {
    "identity": lambda tf: [tf.identity(A), tf.identity(c(tf), name="i")],
    "shape": lambda tf: [tf.shape(c(tf)), tf.shape(fed(tf, A, [None, 3])), tf.shape(A, out_type=tf.int64), tf.shape(3.0)],
    "shape_n": lambda tf: tf.shape_n([c(tf), tf.constant([1.0, 2.0])]),
    "size": lambda tf: [tf.size(c(tf)), tf.size(fed(tf, A))], "rank": lambda tf: [tf.rank(c(tf)), tf.rank(fed(tf, A))],
    "reshape": lambda tf: [tf.reshape(c(tf), [3, -1]), tf.reshape(A, (6,), name="r")],
    "expand_dims": lambda tf: [tf.expand_dims(c(tf), 0), tf.expand_dims(A, axis=-1), tf.expand_dims(A, dim=1)],
    "squeeze": lambda tf: [tf.squeeze([[1.0], [2.0]]), tf.squeeze([[[1.0]]], [0]), tf.squeeze([[1.0]], squeeze_dims=1)],
    "concat": lambda tf: [tf.concat([A, B], 0), tf.concat([c(tf), B], axis=-1, name="j"), tf.concat([c(tf)], 1)],
    "stack": lambda tf: [tf.stack([1, 2]), tf.stack([c(tf), tf.constant(B)]), tf.stack([A, B], axis=2)],
    "unstack": lambda tf: [tf.unstack(c(tf)), tf.unstack(A, axis=1, name="u")],
    "split": lambda tf: [tf.split(c(tf), 3, 1), tf.split(c(tf), [1, 2], axis=1), tf.split(A, 2)],
    "transpose": lambda tf: [tf.transpose(c(tf)), tf.transpose(C3, [1, 0, 2])],
    "transpose_unknown": lambda tf: tf.transpose(fed(tf, A)), "reshape_scalar": lambda tf: tf.reshape([1.0], []),
    "stack_mixed": lambda tf: tf.stack([c(tf), B]),
    "slice": lambda tf: [tf.slice(c(tf), [0, 1], [2, 2]), tf.slice(A, [1, 0], [-1, 1])],
    "strided_slice": lambda tf: [tf.strided_slice(c(tf), [0, 0], [2, 3], [1, 2]), tf.strided_slice(A, [0], [1])],
    "getitem": lambda tf: [c(tf)[0], c(tf)[:, 1:], c(tf)[..., tf.newaxis], c(tf)[1, ::2], c(tf)[-1, -1]],
    "zeros": lambda tf: [tf.zeros([2, 3]), tf.zeros(3, tf.int32), tf.zeros([50, 30]), tf.zeros(tf.shape(fed(tf, A)))],
    "ones": lambda tf: [tf.ones([2]), tf.ones([40, 30], tf.float64), tf.ones((2,), tf.bool)],
    "zeros_like": lambda tf: [tf.zeros_like(A), tf.zeros_like(fed(tf, A)), tf.zeros_like(c(tf), tf.int32)],
    "ones_like": lambda tf: [tf.ones_like(A), tf.ones_like(fed(tf, A)), tf.ones_like(c(tf), dtype=tf.int64)],
    "fill": lambda tf: tf.fill([2, 3], 7), "eye": lambda tf: [tf.eye(2), tf.eye(2, 3), tf.eye(2, batch_shape=[2])],
    "pad": lambda tf: [tf.pad(c(tf), [[1, 0], [0, 2]]), tf.pad(c(tf), [[0, 1], [1, 1]], "REFLECT"),
                       tf.pad(A, [[0, 1], [0, 0]], constant_values=9.0), tf.pad(A, [[1, 1], [0, 0]], mode="symmetric")],
    "reverse": lambda tf: tf.reverse(c(tf), [1]), "tile": lambda tf: tf.tile(c(tf), [2, 1]),
    "unique": lambda tf: [tf.unique([3, 1, 3, 2]), tf.unique_with_counts([3, 1, 3, 2])],
    "broadcast": lambda tf: [tf.broadcast_to([1, 2], [2, 2]), tf.broadcast_dynamic_shape([2, 1], [1, 3])],
    "meshgrid": lambda tf: [tf.meshgrid([1, 2], [3, 4, 5]), tf.meshgrid([1, 2], [3, 4, 5], indexing="ij")],
    "gather": lambda tf: [tf.gather(c(tf), [1, 0]), tf.gather(A, [0, 2], axis=1), tf.gather(C3, [[1], [0]], batch_dims=1)],
    "gather_batch_axis": lambda tf: tf.gather(C3, [[1, 0], [2, 3]], axis=2, batch_dims=1),
    "gather_nd": lambda tf: [tf.gather_nd(c(tf), [[0, 1], [1, 2]]), tf.gather_nd(C3, [[1], [0]], batch_dims=1)],
    "batch_gather": lambda tf: tf.batch_gather(C3, [[1], [0]]), "scatter_nd": lambda tf: tf.scatter_nd([[1], [3]], [5, 6], [5]),
    "where": lambda tf: [tf.where([True, False, True]), tf.where([[True, False, True]] * 2, A, B), tf.where([True, False], A, B)],
    "boolean_mask": lambda tf: [tf.boolean_mask(c(tf), [True, False]), tf.boolean_mask(A, [[True, False, True]] * 2),
                                tf.boolean_mask(A, [True, False, True], axis=1)],
    "one_hot": lambda tf: [tf.one_hot([0, 2, -1], 3), tf.one_hot([1], 2, on_value=5, off_value=-1, axis=0),
                           tf.one_hot(1, 3, dtype=tf.int32), tf.one_hot([1], 2, True, False)],
    "sequence_mask": lambda tf: [tf.sequence_mask([1, 3], 4), tf.sequence_mask([[1], [2]]), tf.sequence_mask([1], 2, tf.float32)],
    "reverse_sequence": lambda tf: [tf.reverse_sequence(C3, [1, 3], seq_axis=1, batch_axis=0),
                                    tf.reverse_sequence(A, [2, 1], seq_dim=1)],
    "space": lambda tf: [tf.space_to_depth(image(tf), 2), tf.depth_to_space(image(tf, 2, 2, 4), 2)],
    "space_batch": lambda tf: [tf.space_to_batch(image(tf), [[0, 0], [0, 0]], 2), tf.space_to_batch_nd(image(tf), [2, 2], [[0, 0], [0, 0]]),
                               tf.batch_to_space_nd(tf.ones([4, 2, 2, 1]), [2, 2], [[0, 1], [0, 0]])],
    "repeat": lambda tf: [tf.repeat([1, 2], 2), tf.repeat(A, [1, 2], axis=0)], "roll": lambda tf: tf.roll([1, 2, 3, 4], 1, 0),
    "searchsorted": lambda tf: [tf.searchsorted([1, 3, 5], [0, 3, 6]), tf.searchsorted([1, 3, 5], [3], side="right")],
    "sort": lambda tf: [tf.sort(A), tf.sort(A, axis=0, direction="DESCENDING"), tf.argsort(A)],
    "bitcast": lambda tf: tf.bitcast([1.0], tf.int32), "stop_gradient": lambda tf: grads(tf, lambda x: x * tf.stop_gradient(x), A),
    "invert_permutation": lambda tf: tf.invert_permutation([2, 0, 1]), "parallel_stack": lambda tf: tf.parallel_stack([A, B]),
    "dynamic": lambda tf: [tf.dynamic_partition([1, 2, 3], [0, 1, 0], 2), tf.dynamic_stitch([[0, 2], [1]], [[1, 3], [2]])],
    "identity_n": lambda tf: tf.identity_n([A, 1]), "matrix_transpose": lambda tf: tf.matrix_transpose(fed(tf, [A], [None, 2, 3])),
    "grad_array": lambda tf: grads(tf, lambda x, y: tf.gather(tf.concat([x, y], 1)[:, 1:], [1, 0, 1]), A, B),
    "grad_stack": lambda tf: grads(tf, lambda x, y: tf.tile(tf.transpose(tf.stack([x, y], 2)), [1, 1, 2]) ** 2.0, A, B),
    "grad_split": lambda tf: grads(tf, lambda x: tf.square(tf.split(x, 3, 1)[1]) + tf.pad(x, [[0, 0], [0, 1]])[:, :1], A),
    "grad_gather_nd": lambda tf: grads(tf, lambda x: tf.gather_nd(x, [[0, 1], [1, 2]]) ** 2.0, A),
    "print": lambda tf: tf.Print(c(tf), [c(tf)], "msg"), "tuple": lambda tf: tf.tuple([c(tf), tf.constant(1)]),
    "ensure_shape": lambda tf: tf.ensure_shape(fed(tf, A), [None, 3]), "check_numerics": lambda tf: tf.check_numerics(A, "bad"),
    "verify_finite": lambda tf: tf.verify_tensor_all_finite(A, "bad"),
    "error_concat_order": lambda tf: tf.concat(0, [A, B]), "error_split_order": lambda tf: tf.split(0, 2, c(tf)),
    "error_expand": lambda tf: tf.expand_dims(A), "error_unstack": lambda tf: tf.unstack(fed(tf, A)),
    "error_where": lambda tf: tf.where([True], [1]), "error_reshape": lambda tf: tf.reshape(c(tf), [4]),
    "error_mask": lambda tf: tf.boolean_mask(A, True), "error_stack_axis": lambda tf: tf.stack([A, B], axis=5),
    "error_pad": lambda tf: tf.pad(A, [[0, 0], [0, 0]], "NO"), "error_squeeze": lambda tf: tf.squeeze(A, [1], squeeze_dims=[1]),
    "error_finite": lambda tf: tf.check_numerics([np.nan], "bad"), "error_gather": lambda tf: tf.gather(A, [5]),
}
OTHER_NODES = {k for k in CASES if k.startswith("grad_")} | {
    "stop_gradient", "transpose_unknown", "reshape_scalar", "stack_mixed", "gather", "gather_batch_axis", "gather_nd", "batch_gather", "repeat", "roll", "searchsorted", "sort",
    "meshgrid", "reverse_sequence", "eye", "parallel_stack", "strided_slice"}
