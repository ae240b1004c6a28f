# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.training.contrib_training import add_gradients_summaries as add_gradients_summaries
from millstream.training.contrib_training import clip_gradient_norms as clip_gradient_norms
from millstream.training.contrib_training import multiply_gradients as multiply_gradients
from millstream.training.contrib_training import slim_create_train_op as create_train_op
from millstream.training.contrib_training import slim_train as train
from millstream.training.contrib_training import train_step as train_step

__all__ = [
    "add_gradients_summaries",
    "clip_gradient_norms",
    "create_train_op",
    "multiply_gradients",
    "train",
    "train_step",
]
