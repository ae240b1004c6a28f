# SPDX-License-Identifier: Apache-2.0
"""Every metric of tf.metrics, over four batches."""

import tensorflow as tf, numpy as np

rs = np.random.RandomState(0)
L = rs.randint(0, 2, 40)
P = np.clip(L * 0.3 + rs.rand(40) * 0.7, 0, 1).astype(np.float32)
C = rs.randint(0, 4, 40)
CP = np.where(rs.rand(40) < 0.6, C, rs.randint(0, 4, 40))
S = rs.rand(40, 6).astype(np.float32)
l = tf.placeholder(tf.int64, [None])
p = tf.placeholder(tf.float32, [None])
c = tf.placeholder(tf.int64, [None])
cp = tf.placeholder(tf.int64, [None])
s_ = tf.placeholder(tf.float32, [None, 6])
w = tf.placeholder_with_default(tf.ones([10]), [None])
M = tf.metrics
ms = {
    "auc": M.auc(l, p),
    "aucpr": M.auc(l, p, curve="PR", num_thresholds=50, summation_method="careful_interpolation"),
    "acc": M.accuracy(c, cp, weights=w),
    "prec": M.precision(l, tf.cast(p > 0.5, tf.int64)),
    "rec": M.recall(l, tf.cast(p > 0.5, tf.int64)),
    "pt": M.precision_at_thresholds(l, p, [0.2, 0.6]),
    "rt": M.recall_at_thresholds(l, p, [0.2, 0.6]),
    "fn": M.false_negatives(l, p > 0.5),
    "tp": M.true_positives(l, p > 0.5),
    "tn": M.true_negatives(l, p > 0.5),
    "fp": M.false_positives(l, p > 0.5),
    "miou": M.mean_iou(c, cp, 4),
    "mpc": M.mean_per_class_accuracy(c, cp, 4),
    "rk": M.recall_at_k(tf.expand_dims(c, 1), s_, 2),
    "pk": M.precision_at_k(tf.expand_dims(c, 1), s_, 2),
    "apk": M.average_precision_at_k(tf.expand_dims(c, 1), s_, 3),
    "pk1": M.precision_at_k(tf.expand_dims(c, 1), s_, 2, class_id=1),
    "sas": M.sensitivity_at_specificity(l, p, 0.7),
    "ssp": M.specificity_at_sensitivity(l, p, 0.7),
    "mean": M.mean(p, w),
    "mt": M.mean_tensor(tf.reshape(tf.stack([p, p * 2]), [2, 10])),
    "mae": M.mean_absolute_error(p, p * 0.9),
    "mse": M.mean_squared_error(p, p * 0.9),
    "rmse": M.root_mean_squared_error(p, p * 0.5),
    "mre": M.mean_relative_error(p, p * 0.9, p),
    "cos": M.mean_cosine_distance(tf.nn.l2_normalize(s_, 1), tf.nn.l2_normalize(s_ * s_, 1), 1),
    "pb": M.percentage_below(p, 0.4),
    "fpt": M.false_positives_at_thresholds(l, p, [0.3, 0.7]),
    "tnt": M.true_negatives_at_thresholds(l, p, [0.3, 0.7]),
    "fnt": M.false_negatives_at_thresholds(l, p, [0.3, 0.7]),
    "ttp": M.true_positives_at_thresholds(l, p, [0.3, 0.7]),
}
names = sorted(ms)
print(
    len(tf.local_variables()),
    sorted(set((v.op.name.split("/")[0] for v in tf.local_variables()))),
    len(tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)),
)
with tf.Session() as s:
    s.run(tf.local_variables_initializer())
    for i in range(4):
        k = slice(i * 10, i * 10 + 10)
        u = s.run([ms[n][1] for n in names], {l: L[k], p: P[k], c: C[k], cp: CP[k], s_: S[k]})
    for n, a, b in zip(names, u, s.run([ms[n][0] for n in names])):
        print(n, np.asarray(a).tolist(), np.asarray(b).tolist())
    print(s.run(tf.confusion_matrix(C, CP, 4)))
    print(s.run(tf.math.confusion_matrix([0, 1, 1], [1, 1, 0], weights=[0.5, 1, 2], dtype=tf.float32)))
    m, u = M.mean(tf.constant([1.0, 2.0]), metrics_collections=["mc"], updates_collections="uc", name="nm")
    print(tf.get_collection("mc"), tf.get_collection("uc"))
    pc, pu = M.precision_at_top_k(tf.constant([[1], [2]], tf.int64), tf.constant([[1, 2], [0, 3]], tf.int64))
    s.run(tf.local_variables_initializer())
    print(s.run(pu))
    spl = tf.SparseTensor([[0, 0], [0, 2], [1, 0]], tf.constant([1, 3, 2], tf.int64), [2, 3])
    sc = tf.constant([[0.1, 0.5, 0.2, 0.9], [0.3, 0.1, 0.0, 0.4]])
    al = [
        M.average_precision_at_k(spl, sc, 2),
        M.recall_at_k(spl, sc, 2, weights=[1.0, 0.5]),
        M.precision_at_k(spl, sc, 3),
        M.recall_at_top_k(spl, tf.constant([[1, 2], [0, 3]], tf.int64), k=2),
        M.sparse_average_precision_at_k(spl, sc, 3),
    ]
    s.run(tf.local_variables_initializer())
    print(s.run([u for _, u in al]))
