# SPDX-License-Identifier: Apache-2.0
"""Streaming metrics over batches, resetting them, confusion matrices, losses with weights and reductions."""
import numpy as np
import tensorflow as tf

rs = np.random.RandomState(5)
labels = tf.placeholder(tf.int64, [None])
scores = tf.placeholder(tf.float32, [None, 3])
predictions = tf.argmax(scores, 1)
positive = tf.cast(labels > 0, tf.int64)
probability = tf.nn.softmax(scores)[:, 1]
with tf.variable_scope("metrics") as scope:
    pairs = {
        "accuracy": tf.metrics.accuracy(labels, predictions),
        "mean": tf.metrics.mean(scores),
        "precision": tf.metrics.precision(positive, tf.cast(predictions > 0, tf.int64)),
        "recall": tf.metrics.recall(positive, tf.cast(predictions > 0, tf.int64)),
        "auc": tf.metrics.auc(positive, probability),
        "pr": tf.metrics.auc(positive, probability, curve="PR", summation_method="careful_interpolation"),
        "mse": tf.metrics.mean_squared_error(tf.cast(positive, tf.float32), probability),
        "rmse": tf.metrics.root_mean_squared_error(tf.cast(positive, tf.float32), probability),
        "mae": tf.metrics.mean_absolute_error(tf.cast(positive, tf.float32), probability),
        "iou": tf.metrics.mean_iou(labels, predictions, 3),
        "per class": tf.metrics.mean_per_class_accuracy(labels, predictions, 3),
        "weighted": tf.metrics.accuracy(labels, predictions, weights=tf.cast(labels + 1, tf.float32)),
        "tp": tf.metrics.true_positives(positive, tf.cast(predictions > 0, tf.int64)),
        "below": tf.metrics.percentage_below(probability, 0.3),
        "recall at 2": tf.metrics.recall_at_k(labels, scores, 2),
        "precision at 1": tf.metrics.precision_at_k(labels, scores, 1),
        "sensitivity": tf.metrics.sensitivity_at_specificity(positive, probability, 0.5),
    }
thresholds = tf.metrics.precision_at_thresholds(positive, probability, [0.2, 0.4])
values = {k: v for k, (v, _) in pairs.items()}
updates = {k: u for k, (_, u) in pairs.items()}
reset = tf.variables_initializer(tf.get_collection(tf.GraphKeys.LOCAL_VARIABLES, scope="metrics"))
with tf.Session() as sess:
    sess.run(tf.local_variables_initializer())
    batches = [(rs.randint(0, 3, 16), rs.randn(16, 3)) for _ in range(4)]
    for y, s in batches:
        last = sess.run([updates, thresholds[1]], {labels: y, scores: s})[0]
    now = sess.run(values)
    for name in sorted(now):
        print("%s %.5f %s" % (name, now[name], np.allclose(last[name], now[name])))
    print(sess.run(thresholds[0]))
    sess.run(reset)
    print("after reset", sess.run(values["accuracy"]), sess.run(values["mean"]))
    y, s = batches[0]
    print(sess.run(tf.confusion_matrix(labels, predictions, 3), {labels: y, scores: s}))

    t, p = tf.constant(rs.rand(4, 3), tf.float32), tf.constant(rs.rand(4, 3), tf.float32)
    w = tf.constant([[1.0], [0.0], [2.0], [0.5]])
    hot = tf.one_hot([0, 2, 1, 1], 3)
    losses = [
        tf.losses.mean_squared_error(t, p), tf.losses.mean_squared_error(t, p, weights=w),
        tf.losses.mean_squared_error(t, p, reduction=tf.losses.Reduction.SUM), tf.losses.absolute_difference(t, p, weights=0.5),
        tf.losses.huber_loss(t, 3 * p, delta=0.5), tf.losses.log_loss(tf.round(t), p),
        tf.losses.hinge_loss(tf.round(t), p), tf.losses.cosine_distance(tf.nn.l2_normalize(t, 1), tf.nn.l2_normalize(p, 1), axis=1),
        tf.losses.sigmoid_cross_entropy(tf.round(t), p, label_smoothing=0.1), tf.losses.softmax_cross_entropy(hot, p, weights=w[:, 0]),
        tf.losses.softmax_cross_entropy(hot, p, label_smoothing=0.2), tf.losses.sparse_softmax_cross_entropy([0, 2, 1, 1], p),
        tf.losses.mean_pairwise_squared_error(t, p),
    ]
    print(np.array(sess.run(losses)))
    print(len(tf.losses.get_losses()), sess.run(tf.losses.get_total_loss()))
    print(sess.run(tf.losses.mean_squared_error(t, p, reduction="none", loss_collection=None)).shape)
    print(sess.run([tf.nn.in_top_k(p, [0, 1, 2, 0], 2), tf.nn.top_k(p, 2).indices, tf.nn.l2_loss(p), tf.nn.zero_fraction(tf.round(p))]))
