# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.training.checkpoint_utils import checkpoints_iterator as checkpoints_iterator
from millstream.training.contrib_evaluation import evaluation_loop as evaluation_loop
from millstream.training.contrib_evaluation import slim_evaluate_once as evaluate_once
from millstream.training.contrib_evaluation import wait_for_new_checkpoint as wait_for_new_checkpoint

__all__ = [
    "checkpoints_iterator",
    "evaluate_once",
    "evaluation_loop",
    "wait_for_new_checkpoint",
]
