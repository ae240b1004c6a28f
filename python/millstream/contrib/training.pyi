# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.training.bucketing import bucket as bucket
from millstream.training.bucketing import bucket_by_sequence_length as bucket_by_sequence_length
from millstream.training.checkpoint_utils import checkpoints_iterator as checkpoints_iterator
from millstream.training.contrib_evaluation import StopAfterNEvalsHook as StopAfterNEvalsHook
from millstream.training.contrib_evaluation import SummaryAtEndHook as SummaryAtEndHook
from millstream.training.contrib_evaluation import evaluate_once as evaluate_once
from millstream.training.contrib_evaluation import evaluate_repeatedly as evaluate_repeatedly
from millstream.training.contrib_evaluation import get_or_create_eval_step as get_or_create_eval_step
from millstream.training.contrib_evaluation import wait_for_new_checkpoint as wait_for_new_checkpoint
from millstream.training.contrib_training import add_gradients_summaries as add_gradients_summaries
from millstream.training.contrib_training import clip_gradient_norms as clip_gradient_norms
from millstream.training.contrib_training import clip_gradient_norms_fn as clip_gradient_norms_fn
from millstream.training.contrib_training import create_train_op as create_train_op
from millstream.training.contrib_training import multiply_gradients as multiply_gradients
from millstream.training.contrib_training import train as train
from millstream.training.device_setter import GreedyLoadBalancingStrategy as GreedyLoadBalancingStrategy
from millstream.training.device_setter import RandomStrategy as RandomStrategy
from millstream.training.device_setter import byte_size_load_fn as byte_size_load_fn
from millstream.training.hparams import HParams as HParams
from millstream.training.hparams import parse_values as parse_values

__all__ = [
    "GreedyLoadBalancingStrategy",
    "HParams",
    "RandomStrategy",
    "StopAfterNEvalsHook",
    "SummaryAtEndHook",
    "add_gradients_summaries",
    "bucket",
    "bucket_by_sequence_length",
    "byte_size_load_fn",
    "checkpoints_iterator",
    "clip_gradient_norms",
    "clip_gradient_norms_fn",
    "create_train_op",
    "evaluate_once",
    "evaluate_repeatedly",
    "get_or_create_eval_step",
    "multiply_gradients",
    "parse_values",
    "train",
    "wait_for_new_checkpoint",
]
