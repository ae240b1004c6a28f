# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.estimators.canned import add_metrics as add_metrics
from millstream.estimators.early_stopping import make_early_stopping_hook as make_early_stopping_hook
from millstream.estimators.early_stopping import read_eval_metrics as read_eval_metrics
from millstream.estimators.early_stopping import stop_if_higher_hook as stop_if_higher_hook
from millstream.estimators.early_stopping import stop_if_lower_hook as stop_if_lower_hook
from millstream.estimators.early_stopping import stop_if_no_decrease_hook as stop_if_no_decrease_hook
from millstream.estimators.early_stopping import stop_if_no_increase_hook as stop_if_no_increase_hook
from millstream.estimators.heads import BinaryClassHead as binary_classification_head
from millstream.estimators.heads import MultiClassHead as multi_class_head
from millstream.estimators.heads import regression_head as regression_head

__all__ = [
    "add_metrics",
    "binary_classification_head",
    "make_early_stopping_hook",
    "multi_class_head",
    "read_eval_metrics",
    "regression_head",
    "stop_if_higher_hook",
    "stop_if_lower_hook",
    "stop_if_no_decrease_hook",
    "stop_if_no_increase_hook",
]
