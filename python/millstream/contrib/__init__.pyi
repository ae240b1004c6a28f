# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.contrib import checkpoint as checkpoint
from millstream.contrib import cluster_resolver as cluster_resolver
from millstream.contrib import crf as crf
from millstream.contrib import data as data
from millstream.contrib import distribute as distribute
from millstream.contrib import distributions as distributions
from millstream.contrib import eager as eager
from millstream.contrib import estimator as estimator
from millstream.contrib import feature_column as feature_column
from millstream.contrib import framework as framework
from millstream.contrib import function as function
from millstream.contrib import image as image
from millstream.contrib import layers as layers
from millstream.contrib import learn as learn
from millstream.contrib import legacy_seq2seq as legacy_seq2seq
from millstream.contrib import lookup as lookup
from millstream.contrib import losses as losses
from millstream.contrib import metrics as metrics
from millstream.contrib import opt as opt
from millstream.contrib import predictor as predictor
from millstream.contrib import proto as proto
from millstream.contrib import rnn as rnn
from millstream.contrib import seq2seq as seq2seq
from millstream.contrib import signal as signal
from millstream.contrib import slim as slim
from millstream.contrib import staging as staging
from millstream.contrib import stateless as stateless
from millstream.contrib import tensorboard as tensorboard
from millstream.contrib import tpu as tpu
from millstream.contrib import training as training
from millstream.contrib import util as util

__all__ = [
    "checkpoint",
    "cluster_resolver",
    "crf",
    "data",
    "distribute",
    "distributions",
    "eager",
    "estimator",
    "feature_column",
    "framework",
    "function",
    "image",
    "layers",
    "learn",
    "legacy_seq2seq",
    "lookup",
    "losses",
    "metrics",
    "opt",
    "predictor",
    "proto",
    "rnn",
    "seq2seq",
    "signal",
    "slim",
    "staging",
    "stateless",
    "tensorboard",
    "tpu",
    "training",
    "util",
]
