# SPDX-License-Identifier: Apache-2.0
"""Linear operators: products, systems, determinants and hints."""

import tensorflow as tf, numpy as np

np.set_printoptions(precision=5, suppress=True)


def show(name, f):
    tf.reset_default_graph()
    tf.set_random_seed(7)
    try:
        fetched = f()
        with tf.Session() as s:
            s.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
            print(name, [x + 0.0 if getattr(x, "dtype", None) == np.float64 else x for x in s.run(fetched)])
    except Exception as e:
        print(name, type(e).__name__)


A = np.array([[4., 1., 0.], [1., 3., 1.], [0., 1., 2.]])
def lo(o):
    x = np.ones([3, 2])
    return [o.to_dense(), o.matmul(x), o.solve(x), o.determinant(), o.log_abs_determinant(), o.trace(), o.diag_part(), o.shape_tensor(), o.matvec(np.ones(3)), tf.constant(str(o.shape)), o.add_to_tensor(A), o.inverse().to_dense(), tf.constant(str((o.is_square, o.is_self_adjoint, o.domain_dimension, o.batch_shape, o.tensor_rank)))]
LO = tf.linalg
for n, mk in (("full", lambda: LO.LinearOperatorFullMatrix(A, is_non_singular=True)), ("diag", lambda: LO.LinearOperatorDiag(np.array([1., 2., 3.]))), ("tril", lambda: LO.LinearOperatorLowerTriangular(np.tril(A))), ("eye", lambda: LO.LinearOperatorIdentity(3, dtype=tf.float64)), ("scaled", lambda: LO.LinearOperatorScaledIdentity(3, np.float64(2.))),
              ("comp", lambda: LO.LinearOperatorComposition([LO.LinearOperatorFullMatrix(A), LO.LinearOperatorDiag(np.array([1., 2., 3.]))])), ("block", lambda: LO.LinearOperatorBlockDiag([LO.LinearOperatorFullMatrix(A[:2, :2]), LO.LinearOperatorDiag(np.array([2.]))])), ("toep", lambda: LO.LinearOperatorToeplitz(np.array([4., 2., 1.]), np.array([4., 3., 2.]))), ("circ", lambda: LO.LinearOperatorCirculant(np.array([6., 4, 4]), input_output_dtype=tf.float64)), ("lowrank", lambda: LO.LinearOperatorLowRankUpdate(LO.LinearOperatorDiag(np.array([1., 2., 3.]), is_positive_definite=True, is_self_adjoint=True, is_non_singular=True), np.ones([3, 1]))), ("kron", lambda: LO.LinearOperatorKronecker([LO.LinearOperatorFullMatrix(A), LO.LinearOperatorDiag(np.array([2.]))])), ("house", lambda: LO.LinearOperatorHouseholder(np.array([0., 0., 1.]))), ("adj", lambda: LO.LinearOperatorAdjoint(LO.LinearOperatorFullMatrix(A))), ("inv", lambda: LO.LinearOperatorInversion(LO.LinearOperatorFullMatrix(A))), ("perm", lambda: LO.LinearOperatorPermutation([2, 0, 1], dtype=tf.float64)), ("zeros", lambda: LO.LinearOperatorZeros(3, dtype=tf.float64)), ("trid", lambda: LO.LinearOperatorTridiag(np.array([[3., 4., 0.], [1., -1., 2.], [0., 6., 7.]]), diagonals_format="compact"))):
    show("lo_" + n, lambda: lo(mk()))
