# SPDX-License-Identifier: Apache-2.0
"""tf.losses and tf.metrics."""
from cases_math import A, B, c, fed, k

L = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
P = [[0.2, 0.7, 0.1], [0.4, 0.3, 0.9]]
W = [[1.0], [0.0]]


def streaming(make):
    """The value after two updates, and what the updates gave."""
    def case(tf):
        value, update = make(tf)
        graph = tf.get_default_graph()
        graph._golden_init = tf.local_variables_initializer()
        names = [v.op.name for v in tf.local_variables()]
        assert names == [v.op.name for v in tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)]
        with tf.control_dependencies([update]):
            after = tf.identity(tf.add_n([tf.cast(tf.reduce_sum(v.read_value()), tf.float64) for v in tf.local_variables()]))
        return [update, after, tf.constant(names)]
    return case


def with_all(tf, name, *args, **kwargs):
    function = getattr(tf.losses, name)
    out = [function(*args, **kwargs), function(*args, weights=2.0, **kwargs),
           function(*args, weights=tf.constant(W), **kwargs)]
    for r in ("NONE", "SUM", "MEAN", "SUM_OVER_BATCH_SIZE"):
        out.append(function(*args, weights=tf.constant(W), reduction=getattr(tf.losses.Reduction, r), **kwargs))
    return out + [tf.losses.get_total_loss()] if "sum" in kwargs else out


def collected(tf):
    tf.losses.mean_squared_error(L, c(tf, P))
    tf.losses.add_loss(tf.constant(3.0))
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(0.5))
    return [tf.losses.get_total_loss(), tf.losses.get_regularization_loss(), tf.add_n(tf.losses.get_losses())]


def at_thresholds(name):
    return streaming(lambda tf: getattr(tf.metrics, name)(k(tf, [1, 0, 1, 0]), k(tf, [0.9, 0.4, 0.35, 0.1]), [0.3, 0.5]))


CASES = {
    "mean_squared_error": lambda tf: with_all(tf, "mean_squared_error", L, P),
    "absolute": lambda tf: with_all(tf, "absolute_difference", L, P),
    "log_loss": lambda tf: with_all(tf, "log_loss", L, P), "hinge": lambda tf: with_all(tf, "hinge_loss", L, A),
    "huber": lambda tf: with_all(tf, "huber_loss", A, B, delta=2.0),
    "cosine": lambda tf: with_all(tf, "cosine_distance", L, P, axis=1),
    "sigmoid": lambda tf: with_all(tf, "sigmoid_cross_entropy", L, A, label_smoothing=0.1),
    "softmax": lambda tf: [tf.losses.softmax_cross_entropy(L, A),
                           tf.losses.softmax_cross_entropy(L, A, weights=tf.constant([1.0, 3.0]), label_smoothing=0.2)],
    "sparse_softmax": lambda tf: [tf.losses.sparse_softmax_cross_entropy([1, 0], A),
                                  tf.losses.sparse_softmax_cross_entropy([[1], [0]], tf.constant(A), weights=0.5),
                                  tf.losses.sparse_softmax_cross_entropy(fed(tf, [1, 0], [None], tf.int32),
                                                                         fed(tf, A, [None, 3]))],
    "pairwise": lambda tf: [tf.losses.mean_pairwise_squared_error(L, P),
                            tf.losses.mean_pairwise_squared_error(L, P, weights=tf.constant(W))],
    "weighted": lambda tf: tf.losses.compute_weighted_loss(c(tf), fed(tf, W, [None, 1])),
    "zero": lambda tf: tf.losses.mean_squared_error(L, P, weights=0.0),
    "collected": collected,
    "accuracy": streaming(lambda tf: tf.metrics.accuracy([0, 1, 2, 1], [0, 1, 1, 1])),
    "accuracy_weights": streaming(lambda tf: tf.metrics.accuracy([0, 1, 2, 1], [0, 1, 1, 1], weights=[1.0, 2.0, 3.0, 0.0])),
    "accuracy_column": streaming(lambda tf: tf.metrics.accuracy(tf.constant([[0], [1]]), tf.constant([0, 0]), name="acc")),
    "mean": streaming(lambda tf: tf.metrics.mean(A)), "mean_weights": streaming(lambda tf: tf.metrics.mean(A, weights=W)),
    "mean_tensor": streaming(lambda tf: tf.metrics.mean_tensor(A)),
    "mae": streaming(lambda tf: tf.metrics.mean_absolute_error(L, P)),
    "mse": streaming(lambda tf: tf.metrics.mean_squared_error(L, P)),
    "rmse": streaming(lambda tf: tf.metrics.root_mean_squared_error(L, P)),
    "relative": streaming(lambda tf: tf.metrics.mean_relative_error(L, P, B)),
    "cosine_metric": streaming(lambda tf: tf.metrics.mean_cosine_distance(L, P, 1)),
    "below": streaming(lambda tf: tf.metrics.percentage_below(P, 0.5)),
    "tp": streaming(lambda tf: tf.metrics.true_positives([1, 0, 1, 0], [1, 1, 0, 0])),
    "fp": streaming(lambda tf: tf.metrics.false_positives([1, 0, 1, 0], [1, 1, 0, 0])),
    "tn": streaming(lambda tf: tf.metrics.true_negatives([1, 0, 1, 0], [1, 1, 0, 0])),
    "fn": streaming(lambda tf: tf.metrics.false_negatives([1, 0, 1, 0], [1, 1, 0, 0], weights=[1.0, 2.0, 3.0, 4.0])),
    "precision": streaming(lambda tf: tf.metrics.precision([1, 0, 1, 0], [1, 1, 0, 0])),
    "recall": streaming(lambda tf: tf.metrics.recall([1, 0, 1, 0], [1, 1, 0, 0], weights=[1.0, 2.0, 3.0, 4.0])),
    "auc": streaming(lambda tf: tf.metrics.auc(k(tf, [1, 0, 1, 0, 1]), k(tf, [0.9, 0.4, 0.35, 0.1, 0.6]))),
    "auc_pr": streaming(lambda tf: tf.metrics.auc(k(tf, [1, 0, 1, 0, 1]), k(tf, [0.9, 0.4, 0.35, 0.1, 0.6]), curve="PR",
                                                  summation_method="careful_interpolation")),
    "auc_weights": streaming(lambda tf: tf.metrics.auc(k(tf, [1, 0, 1, 0]), k(tf, [0.9, 0.4, 0.35, 0.1]),
                                                       weights=[1.0, 2.0, 1.0, 0.5], num_thresholds=50)),
    "at_thresholds": streaming(lambda tf: tf.metrics.precision_at_thresholds(k(tf, [1, 0, 1, 0]),
                                                                             k(tf, [0.9, 0.4, 0.35, 0.1]), [0.3, 0.5])),
    "recall_thresholds": streaming(lambda tf: tf.metrics.recall_at_thresholds(k(tf, [1, 0, 1, 0]),
                                                                              k(tf, [0.9, 0.4, 0.35, 0.1]), [0.3, 0.5])),
    "tp_thresholds": at_thresholds("true_positives_at_thresholds"),
    "fp_thresholds": at_thresholds("false_positives_at_thresholds"),
    "tn_thresholds": at_thresholds("true_negatives_at_thresholds"),
    "fn_thresholds": at_thresholds("false_negatives_at_thresholds"),
    "sensitivity": streaming(lambda tf: tf.metrics.sensitivity_at_specificity(k(tf, [1, 0, 1, 0]),
                                                                              k(tf, [0.9, 0.4, 0.35, 0.1]), 0.5)),
    "specificity": streaming(lambda tf: tf.metrics.specificity_at_sensitivity(k(tf, [1, 0, 1, 0]),
                                                                              k(tf, [0.9, 0.4, 0.35, 0.1]), 0.5)),
    "recall_at_k": streaming(lambda tf: tf.metrics.recall_at_k(tf.constant([[1], [2]], tf.int64), P, 2)),
    "precision_at_k": streaming(lambda tf: tf.metrics.precision_at_k(tf.constant([[1], [2]], tf.int64), P, 2)),
    "mean_iou": streaming(lambda tf: tf.metrics.mean_iou(k(tf, [0, 1, 2, 1]), k(tf, [0, 1, 1, 1]), 3)),
    "per_class": streaming(lambda tf: tf.metrics.mean_per_class_accuracy(k(tf, [0, 1, 2, 1]), k(tf, [0, 1, 1, 1]), 3)),
    "error_weights": lambda tf: tf.losses.mean_squared_error(L, P, weights=[1.0, 2.0, 3.0, 4.0]),
    "error_reduction": lambda tf: tf.losses.mean_squared_error(L, P, reduction="no"),
    "error_none": lambda tf: tf.losses.mean_squared_error(None, P),
    "error_shape": lambda tf: tf.losses.mean_squared_error([1.0], P),
}
OTHER_NODES = set(CASES)
