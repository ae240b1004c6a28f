# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.contrib.crf import crf_binary_score as crf_binary_score
from millstream.ops.contrib.crf import crf_decode as crf_decode
from millstream.ops.contrib.crf import crf_log_likelihood as crf_log_likelihood
from millstream.ops.contrib.crf import crf_log_norm as crf_log_norm
from millstream.ops.contrib.crf import crf_sequence_score as crf_sequence_score
from millstream.ops.contrib.crf import crf_unary_score as crf_unary_score
from millstream.ops.contrib.crf import viterbi_decode as viterbi_decode

__all__ = [
    "crf_binary_score",
    "crf_decode",
    "crf_log_likelihood",
    "crf_log_norm",
    "crf_sequence_score",
    "crf_unary_score",
    "viterbi_decode",
]
