# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.contrib.metrics import accuracy as accuracy
from millstream.ops.contrib.metrics import aggregate_metric_map as aggregate_metric_map
from millstream.ops.contrib.metrics import aggregate_metrics as aggregate_metrics
from millstream.ops.contrib.metrics import streaming_accuracy as streaming_accuracy
from millstream.ops.contrib.metrics import streaming_auc as streaming_auc
from millstream.ops.contrib.metrics import streaming_false_negatives as streaming_false_negatives
from millstream.ops.contrib.metrics import streaming_false_positives as streaming_false_positives
from millstream.ops.contrib.metrics import streaming_mean as streaming_mean
from millstream.ops.contrib.metrics import streaming_mean_absolute_error as streaming_mean_absolute_error
from millstream.ops.contrib.metrics import streaming_mean_cosine_distance as streaming_mean_cosine_distance
from millstream.ops.contrib.metrics import streaming_mean_iou as streaming_mean_iou
from millstream.ops.contrib.metrics import streaming_mean_squared_error as streaming_mean_squared_error
from millstream.ops.contrib.metrics import streaming_percentage_less as streaming_percentage_less
from millstream.ops.contrib.metrics import streaming_precision as streaming_precision
from millstream.ops.contrib.metrics import streaming_recall as streaming_recall
from millstream.ops.contrib.metrics import streaming_recall_at_k as streaming_recall_at_k
from millstream.ops.contrib.metrics import streaming_root_mean_squared_error as streaming_root_mean_squared_error
from millstream.ops.contrib.metrics import streaming_true_negatives as streaming_true_negatives
from millstream.ops.contrib.metrics import streaming_true_positives as streaming_true_positives

__all__ = [
    "accuracy",
    "aggregate_metric_map",
    "aggregate_metrics",
    "streaming_accuracy",
    "streaming_auc",
    "streaming_false_negatives",
    "streaming_false_positives",
    "streaming_mean",
    "streaming_mean_absolute_error",
    "streaming_mean_cosine_distance",
    "streaming_mean_iou",
    "streaming_mean_squared_error",
    "streaming_percentage_less",
    "streaming_precision",
    "streaming_recall",
    "streaming_recall_at_k",
    "streaming_root_mean_squared_error",
    "streaming_true_negatives",
    "streaming_true_positives",
]
