# SPDX-License-Identifier: Apache-2.0
"""Functions of matrices, pseudo-inverses, LU, tridiagonal systems, special functions."""

import tensorflow as tf, numpy as np

np.set_printoptions(precision=5, suppress=True)


def show(name, f):
    tf.reset_default_graph()
    tf.set_random_seed(7)
    try:
        fetched = f()
        with tf.Session() as s:
            s.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
            print(name, s.run(fetched))
    except Exception as e:
        print(name, type(e).__name__)


A = np.array([[4., 1., 0.], [1., 3., 1.], [0., 1., 2.]])
show("expm", lambda: (tf.linalg.expm(A), tf.linalg.expm(A * 30.0 / 4.0), tf.linalg.expm(np.stack([A, A * 0.1]).astype(np.float32))))
show("logm", lambda: tf.linalg.logm(A.astype(np.complex64)))
show("sqrtm", lambda: (tf.linalg.sqrtm(A), tf.matrix_square_root(A)))
show("pinv", lambda: (tf.linalg.pinv(A[:2]), tf.linalg.pinv(np.ones([3, 2])), tf.linalg.matrix_rank(np.ones([3, 2])), tf.linalg.matrix_rank(A)))
show("lu", lambda: (tf.linalg.lu(A), tf.linalg.lu_solve(*tf.linalg.lu(A), rhs=np.ones([3, 1])), tf.linalg.lu_matrix_inverse(*tf.linalg.lu(A)), tf.linalg.lu_reconstruct(*tf.linalg.lu(A)), tf.linalg.lu_reconstruct(*tf.linalg.lu(np.stack([A, A[::-1]])))))
D = np.array([[1.0, 1.0, 0.0], [4.0, 3.0, 2.0], [0.0, 1.0, 1.0]])
show("tridiagonal", lambda: (tf.linalg.tridiagonal_solve(tf.constant(D), tf.constant([1.0, 2.0, 3.0], tf.float64)), tf.linalg.tridiagonal_solve(tf.constant(D), tf.ones([3, 2], tf.float64)), tf.linalg.tridiagonal_solve([tf.constant(d) for d in D], tf.ones([3, 2], tf.float64), diagonals_format="sequence"), tf.linalg.tridiagonal_matmul(tf.constant(D), tf.ones([3, 2], tf.float64))))
m = tf.math
show("special", lambda: (m.bessel_i0(1.0), m.bessel_i0e(1.0), m.bessel_i1(1.0), m.bessel_i1e(1.0), m.erfcinv(0.5), m.special.dawsn(1.0), m.special.expint(1.0), m.special.fresnel_cos(0.5), m.special.fresnel_sin(0.5), m.special.spence(0.5), m.special.bessel_j0(0.5), m.special.bessel_y1(0.5), m.special.bessel_k0e(0.5)))
show("stateless", lambda: (tf.random.stateless_categorical([[1.0, 2.0]], 4, [1, 2]), tf.random.stateless_gamma([3], [1, 2], [2.0, 1.0, 4.0]), tf.random.stateless_poisson([3], [1, 2], 4.0), tf.random.stateless_binomial([3], [1, 2], 10.0, 0.3), tf.random.stateless_multinomial([[1.0, 2.0]], 3, [3, 4])))
show("quantize", lambda: (tf.fake_quant_with_min_max_args([-7.0, 0.3, 5.5]), tf.fake_quant_with_min_max_vars([-7.0, 0.33, 5.5], -1.0, 2.0, num_bits=4), tf.quantize([0.1, 0.8], 0.0, 1.0, tf.quint8)[1:], tf.dequantize(tf.quantize([0.1, 0.8], 0.0, 1.0, tf.quint8)[0], 0.0, 1.0), tf.quantization.quantize_and_dequantize([0.1, 0.55], 0.0, 1.0, range_given=True, num_bits=4)))
show("collapse", lambda: tf.nn.collapse_repeated([[1, 1, 2, 2], [3, 4, 4, 4]], [4, 3]))
show("scatter", lambda: (tf.tensor_scatter_nd_max([1, 5, 3], [[0], [1]], [4, 4]), tf.tensor_scatter_nd_min([1, 5, 3], [[0], [1]], [4, 4])))
