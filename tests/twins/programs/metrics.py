# SPDX-License-Identifier: Apache-2.0
"""Metrics over many steps."""
from functools import partial

import millstream as tf


def _floats():
    return (tf.placeholder(tf.float32, [None, 3], name="labels"), tf.placeholder(tf.float32, [None, 3], name="predictions"))


def _classes():
    return (tf.placeholder(tf.int64, [None], name="labels"), tf.placeholder(tf.int64, [None], name="predictions"))


def _bools():
    return (tf.placeholder(tf.bool, [None], name="labels"), tf.placeholder(tf.bool, [None], name="predictions"))


def _scores():
    return (tf.placeholder(tf.bool, [None], name="labels"), tf.placeholder(tf.float32, [None], name="predictions"))


def _mean(**kwargs):
    tf.metrics.mean(tf.placeholder(tf.float32, [None, 3], name="values"), **kwargs)


def _mean_weighted():
    _mean(weights=tf.placeholder(tf.float32, [None, 1], name="weights"))


def _with(inputs, metric, **kwargs):
    metric(*inputs(), **kwargs)


def _relative():
    labels, predictions = _floats()
    tf.metrics.mean_relative_error(labels, predictions, normalizer=tf.placeholder(tf.float32, [None, 3], name="normalizer"))


def _weighted_accuracy():
    tf.metrics.accuracy(*_classes(), weights=tf.placeholder(tf.float32, [None], name="weights"),
                        metrics_collections=["values"], updates_collections=["updates"], name="right")


def _precision_weighted():
    tf.metrics.precision(*_bools(), weights=tf.placeholder(tf.float32, [None], name="weights"))


def _weighted_iou():
    tf.metrics.mean_iou(*_classes(), num_classes=3, weights=tf.placeholder(tf.float32, [None], name="weights"),
                        metrics_collections=["values"], updates_collections=["updates"], name="overlap")


PROGRAMS = {
    "mean": _mean,
    "mean.weighted": _mean_weighted,
    "mean_tensor": lambda: tf.metrics.mean_tensor(tf.placeholder(tf.float32, [4, 3], name="values")),
    "accuracy": partial(_with, _classes, tf.metrics.accuracy),
    "accuracy.weighted": _weighted_accuracy,
    "mean_absolute_error": partial(_with, _floats, tf.metrics.mean_absolute_error),
    "mean_squared_error": partial(_with, _floats, tf.metrics.mean_squared_error),
    "root_mean_squared_error": partial(_with, _floats, tf.metrics.root_mean_squared_error),
    "mean_relative_error": _relative,
    "mean_cosine_distance": partial(_with, _floats, tf.metrics.mean_cosine_distance, dim=1),
    "percentage_below": lambda: tf.metrics.percentage_below(tf.placeholder(tf.float32, [None], name="values"), 0.5),
    "true_positives": partial(_with, _bools, tf.metrics.true_positives),
    "false_positives": partial(_with, _bools, tf.metrics.false_positives),
    "true_negatives": partial(_with, _bools, tf.metrics.true_negatives),
    "false_negatives": partial(_with, _bools, tf.metrics.false_negatives),
    "precision": partial(_with, _bools, tf.metrics.precision),
    "precision.weighted": _precision_weighted,
    "recall": partial(_with, _bools, tf.metrics.recall),
    "mean_iou": partial(_with, _classes, tf.metrics.mean_iou, num_classes=3),
    "mean_iou.floats": partial(_with, _floats, tf.metrics.mean_iou, num_classes=4),
    "mean_iou.weighted": _weighted_iou,
    "auc": partial(_with, _scores, tf.metrics.auc, num_thresholds=5),
    "auc.pr": partial(_with, _scores, tf.metrics.auc, num_thresholds=5, curve="PR", summation_method="careful_interpolation"),
    "precision_at_thresholds": partial(_with, _scores, tf.metrics.precision_at_thresholds, thresholds=[0.25, 0.5]),
    "recall_at_thresholds": partial(_with, _scores, tf.metrics.recall_at_thresholds, thresholds=[0.25, 0.5]),
}
