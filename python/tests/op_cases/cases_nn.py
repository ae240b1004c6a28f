# SPDX-License-Identifier: Apache-2.0
"""tf.nn without variables."""
import numpy as np
from cases_math import A, B, c, fed, grads

_R = np.random.RandomState(0)
IMG = _R.rand(1, 6, 6, 2).astype(np.float32)
K = _R.rand(3, 3, 2, 3).astype(np.float32)
K_T = _R.rand(3, 3, 3, 2).astype(np.float32)
K1 = _R.rand(3, 2, 3).astype(np.float32)
SEQ = _R.rand(2, 5, 2).astype(np.float32)
K_P = _R.rand(1, 1, 4, 3).astype(np.float32)
K_D = _R.rand(3, 3, 2, 2).astype(np.float32)
TABLE = np.arange(20, dtype=np.float32).reshape(10, 2)


def sparse(tf, values, dtype):
    return tf.SparseTensor([[0, 0], [0, 2], [2, 1]], tf.constant(values, dtype), [3, 3])


def sampled(tf):
    labels, inputs = tf.constant([[1], [3]], tf.int64), tf.constant([[1.0, 2.0], [0.5, -1.0]])
    values = (tf.constant([0, 4, 6], tf.int64), tf.constant([[0.4], [0.3]]), tf.constant([0.5, 0.2, 0.1]))
    args = (tf.constant(TABLE), tf.constant(TABLE[:, 0]), labels, inputs, 3, 10)
    return [tf.nn.nce_loss(*args, sampled_values=values), tf.nn.sampled_softmax_loss(*args, sampled_values=values),
            tf.nn.sampled_softmax_loss(*args, sampled_values=values, remove_accidental_hits=False)]


def norm_grad(tf):
    x = tf.constant(IMG)
    y, _, _ = tf.nn.fused_batch_norm(x, [1.0, 2.0], [0.5, 0.1])
    return tf.gradients(y * y, x)


CASES = {
    "relu": lambda tf: [tf.nn.relu(A), tf.nn.relu6(A), tf.nn.elu(A), tf.nn.selu(A), tf.nn.leaky_relu(A),
                        tf.nn.leaky_relu(c(tf), 0.1)],
    "crelu": lambda tf: tf.nn.crelu(A), "soft": lambda tf: [tf.nn.softplus(A), tf.nn.softsign(A), tf.nn.sigmoid(A),
                                                            tf.nn.tanh(A)],
    "swish": lambda tf: tf.nn.swish(A), "softmax": lambda tf: [tf.nn.softmax(A), tf.nn.softmax(c(tf), name="p"),
                                                               tf.nn.log_softmax(A)],
    "softmax_axis": lambda tf: [tf.nn.softmax(A, axis=0), tf.nn.softmax([A, B]), tf.nn.log_softmax(A, dim=0)],
    "sigmoid_xent": lambda tf: tf.nn.sigmoid_cross_entropy_with_logits(labels=B, logits=c(tf)),
    "weighted_xent": lambda tf: tf.nn.weighted_cross_entropy_with_logits(labels=tf.constant(B), logits=c(tf),
                                                                         pos_weight=2.0),
    "weighted_old": lambda tf: tf.nn.weighted_cross_entropy_with_logits(targets=tf.constant(B), logits=c(tf),
                                                                        pos_weight=2.0),
    "softmax_xent": lambda tf: [tf.nn.softmax_cross_entropy_with_logits(labels=[[0.0, 1.0, 0.0]] * 2, logits=c(tf)),
                                tf.nn.softmax_cross_entropy_with_logits_v2(labels=[[0.0, 1.0, 0.0]] * 2, logits=c(tf)),
                                tf.nn.softmax_cross_entropy_with_logits_v2(labels=[[[0.0, 1.0, 0.0]] * 2], logits=[A])],
    "softmax_xent_axis": lambda tf: tf.nn.softmax_cross_entropy_with_logits_v2(
        labels=tf.constant([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]), logits=c(tf), axis=0),
    "sparse_xent": lambda tf: [tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 2], logits=c(tf)),
                               tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[[0, 2]], logits=[A])],
    "dropout": lambda tf: [tf.nn.dropout(c(tf), keep_prob=0.5, seed=1), tf.nn.dropout(c(tf), rate=0.3, seed=2),
                           tf.nn.dropout(c(tf), tf.constant(0.5), seed=3), tf.nn.dropout(c(tf), 1.0),
                           tf.nn.dropout(c(tf), 0.5, noise_shape=[2, 1], seed=4)],
    "bias_add": lambda tf: [tf.nn.bias_add(A, [1.0, 2.0, 3.0]), tf.nn.xw_plus_b(A, [[1.0], [2.0], [3.0]], [0.5]),
                            tf.nn.relu_layer(A, [[1.0], [2.0], [3.0]], [0.5])],
    "l2": lambda tf: [tf.nn.l2_loss(A), tf.nn.l2_normalize(c(tf), 1), tf.nn.l2_normalize(A, dim=0),
                      tf.nn.zero_fraction([0.0, 1.0])],
    "top_k": lambda tf: [tf.nn.top_k(c(tf), 2), tf.nn.in_top_k([[0.1, 0.9], [0.8, 0.2]], [1, 1], 1)],
    "moments": lambda tf: [tf.nn.moments(c(tf), [0]), tf.nn.moments(tf.constant(IMG), [0, 1, 2], keep_dims=True),
                           tf.nn.weighted_moments(A, [0], [[1.0], [3.0]])],
    "sufficient": lambda tf: tf.nn.normalize_moments(*tf.nn.sufficient_statistics(c(tf), [0])),
    "batch_norm": lambda tf: [tf.nn.batch_normalization(c(tf), tf.constant([0.1, 0.2, 0.3]), tf.constant([1.0, 2.0, 3.0]),
                                                        [0.0, 0.1, 0.2], [1.0, 1.5, 2.0], 1e-3),
                              tf.nn.batch_normalization(c(tf), 0.5, tf.constant(2.0), None, None, 1e-3)],
    "fused_batch_norm": lambda tf: [tf.nn.fused_batch_norm(fed(tf, IMG), [1.0, 2.0], [0.5, 0.1])[0],
                                    tf.nn.fused_batch_norm(fed(tf, IMG), [1.0, 2.0], [0.5, 0.1], [0.1, 0.2], [1.0, 2.0],
                                                           is_training=False)[0]],
    "lrn": lambda tf: tf.nn.lrn(IMG, 1, 1.0, 0.5, 0.5),
    "log_poisson": lambda tf: tf.nn.log_poisson_loss(B, c(tf), compute_full_loss=False),
    "conv2d": lambda tf: [tf.nn.conv2d(IMG, K, [1, 1, 1, 1], "SAME"),
                          tf.nn.conv2d(IMG, K, strides=[1, 2, 2, 1], padding="VALID", name="c2")],
    "conv2d_more": lambda tf: [tf.nn.conv2d(IMG, K, 2, "SAME"),
                               tf.nn.conv2d(IMG, K, [1, 1, 1, 1], [[0, 0], [1, 2], [2, 0], [0, 0]])],
    "conv2d_transpose": lambda tf: tf.nn.conv2d_transpose(IMG, K_T, [1, 12, 12, 3], [1, 2, 2, 1]),
    "conv1d": lambda tf: [tf.nn.conv1d(SEQ, K1, 1, "SAME"), tf.nn.conv1d(SEQ, K1, stride=2, padding="VALID")],
    "depthwise": lambda tf: [tf.nn.depthwise_conv2d(IMG, K_D, [1, 1, 1, 1], "SAME"),
                             tf.nn.separable_conv2d(IMG, K_D, K_P, [1, 1, 1, 1], "VALID")],
    "atrous": lambda tf: tf.nn.atrous_conv2d(IMG, K, 2, "SAME"),
    "convolution": lambda tf: tf.nn.convolution(IMG, K, "SAME", strides=[2, 2]),
    "pool": lambda tf: [tf.nn.max_pool(IMG, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
                        tf.nn.avg_pool(IMG, [1, 3, 3, 1], [1, 1, 1, 1], "VALID"),
                        tf.nn.max_pool(IMG, 2, 2, "VALID")],
    "pool_general": lambda tf: [tf.nn.pool(tf.constant(IMG), [2, 2], "MAX", "SAME"),
                                tf.nn.pool(tf.constant(SEQ), [2], "AVG", "VALID", strides=[2])],
    "pool_argmax": lambda tf: tf.nn.max_pool_with_argmax(IMG, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
    "embedding": lambda tf: [tf.nn.embedding_lookup(TABLE, [1, 3]),
                             tf.nn.embedding_lookup(tf.constant(TABLE), [[1, 3], [0, 2]], max_norm=3.0)],
    "embedding_mod": lambda tf: tf.nn.embedding_lookup([tf.constant(TABLE[0::3]), tf.constant(TABLE[1::3]),
                                                        tf.constant(TABLE[2::3])], [[0, 1], [5, 9]]),
    "embedding_div": lambda tf: tf.nn.embedding_lookup([tf.constant(TABLE[:4]), tf.constant(TABLE[4:7]),
                                                        tf.constant(TABLE[7:])], [0, 3, 4, 9], "div"),
    "embedding_sparse": lambda tf: [tf.nn.embedding_lookup_sparse(tf.constant(TABLE), sparse(tf, [1, 3, 0], tf.int64), None,
                                                                  combiner=k)
                                    for k in ("sum", "mean", "sqrtn")],
    "embedding_weights": lambda tf: [tf.nn.embedding_lookup_sparse(tf.constant(TABLE), sparse(tf, [1, 3, 0], tf.int64),
                                                                   sparse(tf, [0.5, 2.0, 3.0], tf.float32),
                                                                   combiner=k) for k in ("sum", "mean", "sqrtn")],
    "sampled": sampled,
    "sampler": lambda tf: [tf.nn.log_uniform_candidate_sampler([[1]], 1, 3, True, 10, seed=3)[1:],
                           tf.nn.uniform_candidate_sampler([[1]], 1, 3, True, 10, seed=3)],
    "grad_nn": lambda tf: grads(tf, lambda x: tf.nn.softmax_cross_entropy_with_logits(
        labels=B, logits=tf.nn.relu(x) + tf.nn.elu(x)), A),
    "grad_xent": lambda tf: grads(tf, lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1], logits=x), A),
    "grad_sigmoid": lambda tf: grads(tf, lambda x: tf.nn.sigmoid_cross_entropy_with_logits(labels=B, logits=x), A),
    "grad_conv": lambda tf: grads(tf, lambda x, k: tf.nn.max_pool(tf.nn.conv2d(x, k, [1, 1, 1, 1], "SAME"), [1, 2, 2, 1],
                                                                  [1, 2, 2, 1], "VALID"), IMG, K),
    "grad_depthwise": lambda tf: grads(tf, lambda x, k: tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], "SAME") ** 2.0, IMG, K_D),
    "grad_transpose": lambda tf: grads(tf, lambda x, k: tf.nn.conv2d_transpose(x, k, [1, 12, 12, 3], [1, 2, 2, 1]) ** 2.0,
                                       IMG, K_T),
    "grad_norm": norm_grad,
    "grad_embedding": lambda tf: [tf.convert_to_tensor(g) for g in grads(tf, lambda t: tf.nn.embedding_lookup(t, [1, 3, 1]),
                                                                         TABLE)],
    "positional": lambda tf: tf.nn.sparse_softmax_cross_entropy_with_logits([0, 1], c(tf)),
    "error_xent_none": lambda tf: tf.nn.softmax_cross_entropy_with_logits(labels=A),
    "error_sparse_rank": lambda tf: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[[0]], logits=A),
    "error_keep": lambda tf: tf.nn.dropout(A, 1.5),
    "error_sigmoid": lambda tf: tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0], logits=A),
    "error_strategy": lambda tf: tf.nn.embedding_lookup([TABLE, TABLE], [1], "no"),
    "error_conv": lambda tf: tf.nn.conv2d(IMG, K1, [1, 1, 1, 1], "SAME"),
}
OTHER_NODES = {k for k in CASES if k.startswith("grad_")} | {
    "crelu", "softmax_axis", "softmax_xent", "softmax_xent_axis", "sparse_xent", "moments", "sufficient", "embedding_mod",
    "embedding_div", "embedding_sparse",
    "embedding_weights", "sampled", "sampler", "pool_general", "atrous", "convolution", "conv2d_transpose", "log_poisson",
    "swish", "l2", "depthwise", "positional"}
TOLERANCE = {"grad_norm": 1e-3}
