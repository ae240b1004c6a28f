# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.contrib.legacy_attention import attention_decoder as attention_decoder
from millstream.ops.contrib.legacy_attention import embedding_attention_decoder as embedding_attention_decoder
from millstream.ops.contrib.legacy_attention import embedding_attention_seq2seq as embedding_attention_seq2seq
from millstream.ops.contrib.legacy_attention import embedding_tied_rnn_seq2seq as embedding_tied_rnn_seq2seq
from millstream.ops.contrib.legacy_attention import model_with_buckets as model_with_buckets
from millstream.ops.contrib.legacy_attention import one2many_rnn_seq2seq as one2many_rnn_seq2seq
from millstream.ops.contrib.legacy_seq2seq import basic_rnn_seq2seq as basic_rnn_seq2seq
from millstream.ops.contrib.legacy_seq2seq import embedding_rnn_decoder as embedding_rnn_decoder
from millstream.ops.contrib.legacy_seq2seq import embedding_rnn_seq2seq as embedding_rnn_seq2seq
from millstream.ops.contrib.legacy_seq2seq import rnn_decoder as rnn_decoder
from millstream.ops.contrib.legacy_seq2seq import sequence_loss as sequence_loss
from millstream.ops.contrib.legacy_seq2seq import sequence_loss_by_example as sequence_loss_by_example
from millstream.ops.contrib.legacy_seq2seq import tied_rnn_seq2seq as tied_rnn_seq2seq

__all__ = [
    "attention_decoder",
    "basic_rnn_seq2seq",
    "embedding_attention_decoder",
    "embedding_attention_seq2seq",
    "embedding_rnn_decoder",
    "embedding_rnn_seq2seq",
    "embedding_tied_rnn_seq2seq",
    "model_with_buckets",
    "one2many_rnn_seq2seq",
    "rnn_decoder",
    "sequence_loss",
    "sequence_loss_by_example",
    "tied_rnn_seq2seq",
]
