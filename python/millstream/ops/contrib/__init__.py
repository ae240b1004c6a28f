# SPDX-License-Identifier: Apache-2.0
"""tf.contrib: layers, framework, slim, rnn, seq2seq, crf and others."""
