# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.metrics.at_k import average_precision_at_k as average_precision_at_k
from millstream.ops.metrics.at_k import average_precision_at_k as sparse_average_precision_at_k
from millstream.ops.metrics.at_k import precision_at_k as precision_at_k
from millstream.ops.metrics.at_k import precision_at_k as sparse_precision_at_k
from millstream.ops.metrics.at_k import precision_at_top_k as precision_at_top_k
from millstream.ops.metrics.at_k import recall_at_k as recall_at_k
from millstream.ops.metrics.at_k import recall_at_top_k as recall_at_top_k
from millstream.ops.metrics.metrics import accuracy as accuracy
from millstream.ops.metrics.metrics import false_negatives as false_negatives
from millstream.ops.metrics.metrics import false_positives as false_positives
from millstream.ops.metrics.metrics import mean as mean
from millstream.ops.metrics.metrics import mean_absolute_error as mean_absolute_error
from millstream.ops.metrics.metrics import mean_cosine_distance as mean_cosine_distance
from millstream.ops.metrics.metrics import mean_iou as mean_iou
from millstream.ops.metrics.metrics import mean_per_class_accuracy as mean_per_class_accuracy
from millstream.ops.metrics.metrics import mean_relative_error as mean_relative_error
from millstream.ops.metrics.metrics import mean_squared_error as mean_squared_error
from millstream.ops.metrics.metrics import mean_tensor as mean_tensor
from millstream.ops.metrics.metrics import percentage_below as percentage_below
from millstream.ops.metrics.metrics import precision as precision
from millstream.ops.metrics.metrics import recall as recall
from millstream.ops.metrics.metrics import root_mean_squared_error as root_mean_squared_error
from millstream.ops.metrics.metrics import true_negatives as true_negatives
from millstream.ops.metrics.metrics import true_positives as true_positives
from millstream.ops.metrics.thresholds import auc as auc
from millstream.ops.metrics.thresholds import false_negatives_at_thresholds as false_negatives_at_thresholds
from millstream.ops.metrics.thresholds import false_positives_at_thresholds as false_positives_at_thresholds
from millstream.ops.metrics.thresholds import precision_at_thresholds as precision_at_thresholds
from millstream.ops.metrics.thresholds import recall_at_thresholds as recall_at_thresholds
from millstream.ops.metrics.thresholds import sensitivity_at_specificity as sensitivity_at_specificity
from millstream.ops.metrics.thresholds import specificity_at_sensitivity as specificity_at_sensitivity
from millstream.ops.metrics.thresholds import true_negatives_at_thresholds as true_negatives_at_thresholds
from millstream.ops.metrics.thresholds import true_positives_at_thresholds as true_positives_at_thresholds

__all__ = [
    "accuracy",
    "auc",
    "average_precision_at_k",
    "false_negatives",
    "false_negatives_at_thresholds",
    "false_positives",
    "false_positives_at_thresholds",
    "mean",
    "mean_absolute_error",
    "mean_cosine_distance",
    "mean_iou",
    "mean_per_class_accuracy",
    "mean_relative_error",
    "mean_squared_error",
    "mean_tensor",
    "percentage_below",
    "precision",
    "precision_at_k",
    "precision_at_thresholds",
    "precision_at_top_k",
    "recall",
    "recall_at_k",
    "recall_at_thresholds",
    "recall_at_top_k",
    "root_mean_squared_error",
    "sensitivity_at_specificity",
    "sparse_average_precision_at_k",
    "sparse_precision_at_k",
    "specificity_at_sensitivity",
    "true_negatives",
    "true_negatives_at_thresholds",
    "true_positives",
    "true_positives_at_thresholds",
]
