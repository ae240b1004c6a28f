# SPDX-License-Identifier: Apache-2.0
"""Functions of elements, reductions, matrices."""
import numpy as np

A = [[1.0, -2.0, 3.0], [4.0, 5.5, -6.0]]
B = [[0.5, 2.0, 1.0], [2.0, -1.5, 3.0]]
I = [[1, 5, 3], [-4, 2, 6]]
J = [[2, 3, -4], [5, 7, 2]]
P = [[0.3, 1.7, 2.2], [0.9, 0.1, 3.3]]


def fed(tf, value, shape=None, dtype=None):
    """A placeholder that is fed with `value`."""
    x = tf.placeholder(dtype or tf.float32, shape)
    graph = tf.get_default_graph()
    if not hasattr(graph, "_golden_feeds"):
        graph._golden_feeds = {}
    graph._golden_feeds[x] = value
    return x


V = [[1.0], [2.0], [3.0]]


def k(tf, v):
    return tf.constant(v)


def c(tf, v=A):
    return tf.constant(v, name="c")


def grads(tf, f, *values):
    xs = [tf.constant(v, name="x") for v in values]
    return tf.gradients(f(*xs), xs)


def custom(tf):
    @tf.custom_gradient
    def f(x, y):
        return x * y, lambda dz: (dz * 10.0, dz * y)
    x, y = c(tf), k(tf, B)
    z = f(x, y)
    return [z] + tf.gradients(z * 2.0, [x, y])


CASES = {
    "add": lambda tf: tf.add(A, B), "add_named": lambda tf: tf.add(c(tf), 2, name="plus"),
    "subtract": lambda tf: tf.subtract(A, B), "multiply": lambda tf: tf.multiply(c(tf), 3.0),
    "divide": lambda tf: tf.divide(c(tf), B), "divide_named": lambda tf: tf.divide(c(tf), B, name="d"),
    "div": lambda tf: [tf.div(c(tf), B), tf.div(tf.constant(I), J)], "truediv": lambda tf: tf.truediv(tf.constant(I), J),
    "realdiv": lambda tf: tf.realdiv(A, B), "floordiv": lambda tf: [tf.floordiv(I, J), tf.floordiv(A, B)],
    "floor_div": lambda tf: tf.floor_div(I, J), "floormod": lambda tf: [tf.floormod(I, J), tf.mod(A, B)],
    "truncatediv": lambda tf: tf.truncatediv(I, J), "truncatemod": lambda tf: tf.truncatemod(I, J),
    "div_no_nan": lambda tf: tf.div_no_nan(A, [0.0, 1.0, 2.0]), "divide_no_nan": lambda tf: tf.math.divide_no_nan(A, 0.0),
    "scalar_mul": lambda tf: tf.scalar_mul(2.0, c(tf)), "pow": lambda tf: tf.pow(P, 2.0), "abs": lambda tf: tf.abs(A),
    "abs_complex": lambda tf: tf.abs(tf.constant([3 + 4j])), "negative": lambda tf: tf.negative(A),
    "sign": lambda tf: tf.sign(A), "square": lambda tf: tf.square(A), "sqrt": lambda tf: tf.sqrt(P),
    "rsqrt": lambda tf: tf.rsqrt(P), "reciprocal": lambda tf: tf.reciprocal(P), "exp": lambda tf: tf.exp(P),
    "expm1": lambda tf: tf.expm1(P), "log": lambda tf: tf.log(P), "log1p": lambda tf: tf.log1p(P),
    "sinh": lambda tf: tf.sinh(P), "cosh": lambda tf: tf.cosh(P), "tan": lambda tf: tf.tan(P), "sin": lambda tf: tf.sin(P),
    "cos": lambda tf: tf.cos(P), "asin": lambda tf: tf.asin([0.3]), "acos": lambda tf: tf.acos([0.3]),
    "atan": lambda tf: tf.atan(P), "atan2": lambda tf: tf.atan2(A, B), "asinh": lambda tf: tf.asinh(P),
    "acosh": lambda tf: tf.acosh([1.5]), "atanh": lambda tf: tf.atanh([0.5]), "tanh": lambda tf: tf.tanh(A),
    "sigmoid": lambda tf: tf.sigmoid(A), "log_sigmoid": lambda tf: tf.log_sigmoid(c(tf)), "erf": lambda tf: tf.erf(P),
    "erfc": lambda tf: tf.erfc(P), "lgamma": lambda tf: tf.lgamma(P), "digamma": lambda tf: tf.digamma(P),
    "lbeta": lambda tf: tf.lbeta(P), "floor": lambda tf: tf.floor(A), "ceil": lambda tf: tf.ceil(P),
    "round": lambda tf: [tf.round([0.5, 1.5, 2.6]), tf.round([1, 2])], "rint": lambda tf: tf.rint([0.5, 1.5]),
    "maximum": lambda tf: tf.maximum(A, 0.0), "minimum": lambda tf: tf.minimum(c(tf), B),
    "squared_difference": lambda tf: tf.squared_difference(A, B), "equal": lambda tf: tf.equal(I, [1, 2, 3]),
    "not_equal": lambda tf: tf.not_equal(I, J), "less": lambda tf: tf.less(I, J),
    "less_equal": lambda tf: tf.less_equal(I, I),
    "greater": lambda tf: tf.greater(I, J), "greater_equal": lambda tf: tf.greater_equal(A, 1.0),
    "logical": lambda tf: [tf.logical_and(True, [True, False]), tf.logical_or(False, [True, False]), tf.logical_not([True])],
    "logical_xor": lambda tf: tf.logical_xor([True, False], [True, True]),
    "is_x": lambda tf: [tf.is_nan([1.0, np.nan]), tf.is_inf([1.0, np.inf]), tf.is_finite([1.0, np.inf])],
    "cast": lambda tf: [tf.cast([1.7, -2.7], tf.int32), tf.cast(c(tf), tf.float32), tf.cast(I, "float64")],
    "to_x": lambda tf: [tf.to_float(tf.constant(I)), tf.to_double(I), tf.to_int32([1.5]), tf.to_int64([1.5])],
    "saturate_cast": lambda tf: tf.saturate_cast([300.0, -5.0, 7.0], tf.uint8),
    "complex": lambda tf: [tf.complex([1.0], [2.0]), tf.real(tf.constant([1 + 2j])), tf.imag(tf.constant([1 + 2j])),
                           tf.conj(tf.constant([1 + 2j])), tf.real([1.0])],
    "add_n": lambda tf: [tf.add_n([c(tf), tf.constant(B)]), tf.add_n([tf.constant(B)]), tf.add_n([A, B], name="s")],
    "accumulate_n": lambda tf: tf.accumulate_n([tf.constant(A), tf.constant(B), tf.constant(A)]),
    "range": lambda tf: [tf.range(5), tf.range(2, 11, 3), tf.range(1.0, 2.0, 0.25), tf.range(3, dtype=tf.int64)],
    "linspace": lambda tf: tf.lin_space(0.0, 1.0, 5, name="l"), "argmax": lambda tf: [tf.argmax(A, 1), tf.argmax(A)],
    "argmin": lambda tf: tf.argmin(A, axis=1, output_type=tf.int32), "arg_dimension": lambda tf: tf.argmax(A, dimension=1),
    "cumsum": lambda tf: [tf.cumsum(A, 1), tf.cumsum(A, exclusive=True, reverse=True)], "cumprod": lambda tf: tf.cumprod(A),
    "reduce_sum": lambda tf: [tf.reduce_sum(A), tf.reduce_sum(c(tf), 1), tf.reduce_sum(A, [0, 1], keep_dims=True)],
    "reduce_old": lambda tf: tf.reduce_sum(A, reduction_indices=[1]),
    "reduce_unknown": lambda tf: tf.reduce_mean(fed(tf, A)), "reduce_mean": lambda tf: tf.reduce_mean(A, -1, keepdims=True),
    "reduce_more": lambda tf: [tf.reduce_prod(A, 0), tf.reduce_max(A), tf.reduce_min(A, axis=[1])],
    "reduce_bool": lambda tf: [tf.reduce_all([True, False]), tf.reduce_any([[True, False], [False, False]], 1)],
    "reduce_logsumexp": lambda tf: tf.reduce_logsumexp(A, 1),
    "count_nonzero": lambda tf: tf.count_nonzero([[0, 1], [2, 3]], 0),
    "reduce_std": lambda tf: [tf.math.reduce_std(A, 1), tf.math.reduce_variance(A)],
    "trace": lambda tf: tf.trace([[1.0, 2.0], [3.0, 4.0]]),
    "norm": lambda tf: [tf.norm(A), tf.norm(A, 1, 1), tf.norm(A, np.inf, axis=0, keepdims=True), tf.norm(A, 3, 0)],
    "bincount": lambda tf: [tf.bincount([1, 2, 2, 5]), tf.bincount([1, 2], minlength=6)],
    "segment": lambda tf: [tf.segment_sum(A, [0, 0]), tf.segment_mean(A, [0, 1]), tf.unsorted_segment_sum(A, [1, 0], 3)],
    "segment_more": lambda tf: [tf.segment_max(A, [0, 0]), tf.segment_min(A, [0, 0]), tf.segment_prod(A, [0, 0]),
                                tf.unsorted_segment_max(A, [1, 0], 2), tf.unsorted_segment_min(A, [1, 1], 2),
                                tf.unsorted_segment_prod(A, [1, 0], 2)],
    "unsorted_mean": lambda tf: [tf.unsorted_segment_mean(A, [1, 1], 3), tf.unsorted_segment_sqrt_n(A, [1, 1], 2)],
    "sparse_segment": lambda tf: [tf.sparse_segment_sum(A, [0, 1], [0, 0]), tf.sparse_segment_mean(A, [0, 1], [0, 0]),
                                  tf.sparse_segment_sqrt_n(A, [0, 1], [0, 0])],
    "confusion_matrix": lambda tf: [tf.confusion_matrix([0, 1, 2, 1], [0, 2, 2, 1]), tf.confusion_matrix(
        [0, 1], [1, 1], num_classes=3, dtype=tf.float32, weights=[0.5, 2.0])],
    "histogram": lambda tf: [tf.histogram_fixed_width([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], nbins=5),
                             tf.histogram_fixed_width_bins([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], nbins=5)],
    "matmul": lambda tf: [tf.matmul(A, B, transpose_b=True), tf.matmul(c(tf), B, adjoint_a=True, name="m")],
    "matmul_batch": lambda tf: tf.matmul([A, B], [B, A], transpose_a=True),
    "matmul_unknown": lambda tf: tf.matmul(fed(tf, A), [[1.0], [2.0], [3.0]]),
    "tensordot": lambda tf: [tf.tensordot(A, B, [[1], [1]]), tf.tensordot(A, [1.0, 2.0, 3.0], 1), tf.tensordot(A, B, 0)],
    "tensordot_unknown": lambda tf: tf.tensordot(fed(tf, A, [None, 3]), tf.constant(B), [[1], [1]]),
    "einsum": lambda tf: [tf.einsum("ij,kj->ik", c(tf), k(tf, B)), tf.einsum("ij->ji", c(tf)),
                          tf.einsum("ij,ij->", c(tf), k(tf, B)),
                          tf.einsum("bij,bjk->bik", k(tf, [A]), k(tf, [V])),
                          tf.einsum("ij,j->i", c(tf), k(tf, [1.0, 2.0, 3.0]))],
    "einsum_more": lambda tf: [tf.einsum("ii->i", k(tf, [[1.0, 2.0], [3.0, 4.0]])),
                               tf.einsum("...j,jk->...k", k(tf, [A, B]), k(tf, V)),
                               tf.einsum("ij,jk,kl->il", c(tf), k(tf, V), k(tf, [[2.0, 1.0]]))],
    "matvec": lambda tf: tf.linalg.matvec(A, [1.0, 2.0, 3.0]),
    "cross": lambda tf: tf.cross([1.0, 2.0, 3.0], [2.0, 0.0, 1.0]),
    "matrix": lambda tf: [tf.matrix_band_part(A, 0, -1), tf.matrix_transpose([A, B]), tf.matrix_diag([1.0, 2.0]),
                          tf.matrix_diag_part([[1.0, 2.0], [3.0, 4.0]]),
                          tf.matrix_set_diag([[1.0, 2.0], [3.0, 4.0]], [9.0, 8.0])],
    "diag": lambda tf: [tf.diag([1.0, 2.0]), tf.diag_part([[1.0, 2.0], [3.0, 4.0]])],
    "clip_by_value": lambda tf: tf.clip_by_value(A, -1.0, 2.0), "clip_by_norm": lambda tf: tf.clip_by_norm(c(tf), 2.0),
    "clip_by_average_norm": lambda tf: tf.clip_by_average_norm(A, 0.5),
    "global_norm": lambda tf: tf.global_norm([c(tf), None, tf.constant(B)]),
    "clip_by_global_norm": lambda tf: tf.clip_by_global_norm([c(tf), tf.constant(B)], 3.0)[0],
    "polyval": lambda tf: tf.math.polyval([2.0, 3.0, 1.0], tf.constant(A)),
    "xlogy": lambda tf: tf.math.xlogy([0.0, 2.0], [0.0, 3.0]),
    "zeta": lambda tf: [tf.zeta([2.0], [3.0]), tf.polygamma([1.0], [2.0])],
    "bitwise": lambda tf: [tf.bitwise.bitwise_and([6], [3]), tf.bitwise.bitwise_or([6], [3]),
                           tf.bitwise.bitwise_xor([6], [3]),
                           tf.bitwise.invert([6]), tf.bitwise.left_shift([6], [1]), tf.bitwise.right_shift([6], [1])],
    "normalize": lambda tf: [tf.linalg.normalize(c(tf), axis=1), tf.math.reciprocal_no_nan([0.0, 2.0]), tf.math.softplus(A)],
    "custom_gradient": custom,
    "grad_math": lambda tf: grads(tf, lambda x, y: tf.reduce_sum(tf.exp(tf.tanh(x) * y) / (1.0 + tf.square(y))), A, B),
    "grad_matmul": lambda tf: grads(tf, lambda x, y: tf.matmul(x, y, transpose_b=True), A, B),
    "grad_reduce": lambda tf: grads(tf, lambda x: tf.reduce_logsumexp(x, 1) + tf.reduce_max(x, 1) * tf.norm(x), A),
    "grad_clip": lambda tf: grads(tf, lambda x: tf.clip_by_norm(x, 2.0) + tf.clip_by_value(x, -1.0, 2.0), A),
    "grad_einsum": lambda tf: grads(tf, lambda x, y: tf.einsum("ij,kj->ik", x, y), A, B),
    "error_axes": lambda tf: tf.reduce_sum(A, 0, reduction_indices=0), "error_matmul": lambda tf: tf.matmul(c(tf), c(tf)),
    "error_add_n": lambda tf: tf.add_n([]), "error_dtype": lambda tf: tf.add(c(tf), tf.constant(I)),
    "error_transpose": lambda tf: tf.matmul(A, B, transpose_a=True, adjoint_a=True),
    "error_maxval": lambda tf: tf.random_uniform([2], dtype=tf.int32), "error_cast": lambda tf: tf.cast("a", tf.float32),
}
OTHER_NODES = {"normalize", "custom_gradient", "einsum", "einsum_more", "grad_math", "grad_matmul", "grad_reduce",
               "grad_clip", "grad_einsum", "matrix",
               "linspace", "trace", "bincount", "unsorted_mean", "sparse_segment", "confusion_matrix", "histogram",
               "tensordot_unknown", "cross"}
