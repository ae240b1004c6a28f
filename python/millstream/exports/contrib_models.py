# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.seq2seq, contrib.rnn, contrib.crf, contrib.legacy_seq2seq; tf.distributions; HParams."""


def _in(spaces, names):
    return " ".join(f"{space}.{n.partition('=')[0]}={n.partition('=')[2] or n}" for space in spaces for n in names.split())


_DISTRIBUTIONS = """Distribution Normal Uniform Bernoulli Categorical Laplace RegisterKL kl_divergence
    ReparameterizationType FULLY_REPARAMETERIZED NOT_REPARAMETERIZED"""

EXPORTS = {
    "millstream.ops.contrib.text_preprocessing": _in(["contrib.learn.preprocessing"], """
        VocabularyProcessor CategoricalVocabulary tokenizer"""),
    "millstream.ops.contrib.model_analyzer": "contrib.slim.model_analyzer=",
    "millstream.training.hparams": "contrib.training.HParams contrib.training.parse_values",
    "millstream.ops.contrib.seq2seq": _in(["contrib.seq2seq"], """
        Helper CustomHelper TrainingHelper ScheduledEmbeddingTrainingHelper GreedyEmbeddingHelper SampleEmbeddingHelper
        InferenceHelper Decoder BasicDecoder BasicDecoderOutput dynamic_decode sequence_loss hardmax tile_batch"""),
    "millstream.ops.contrib.beam_search": _in(["contrib.seq2seq"], """
        BeamSearchDecoder BeamSearchDecoderOutput BeamSearchDecoderState FinalBeamSearchDecoderOutput gather_tree"""),
    "millstream.ops.contrib.attention": _in(["contrib.seq2seq"], """
        AttentionMechanism LuongAttention BahdanauAttention AttentionWrapper AttentionWrapperState"""),
    "millstream.ops.contrib.rnn": _in(["contrib.rnn"], """
        LayerNormBasicLSTMCell LSTMBlockCell GRUBlockCell GRUBlockCellV2 UGRNNCell OutputProjectionWrapper
        InputProjectionWrapper EmbeddingWrapper HighwayWrapper AttentionCellWrapper stack_bidirectional_dynamic_rnn
        stack_bidirectional_rnn transpose_batch_time"""),
    "millstream.ops.contrib.cells": _in(["contrib.rnn"], "NASCell LSTMBlockFusedCell FusedRNNCellAdaptor TimeReversedFusedRNN"),
    "millstream.ops.contrib.crf": _in(["contrib.crf"], """
        crf_unary_score crf_binary_score crf_sequence_score crf_log_norm crf_log_likelihood viterbi_decode crf_decode"""),
    "millstream.ops.contrib.legacy_seq2seq": _in(["contrib.legacy_seq2seq"], """
        rnn_decoder basic_rnn_seq2seq tied_rnn_seq2seq embedding_rnn_decoder embedding_rnn_seq2seq sequence_loss
        sequence_loss_by_example"""),
    "millstream.ops.contrib.legacy_attention": _in(["contrib.legacy_seq2seq"], """
        attention_decoder embedding_attention_decoder embedding_attention_seq2seq embedding_tied_rnn_seq2seq model_with_buckets
        one2many_rnn_seq2seq"""),
    "millstream.ops.random.distributions_more": _in(["distributions", "contrib.distributions"], """
        Exponential Gamma Beta StudentT Dirichlet Multinomial DirichletMultinomial"""),
    "millstream.ops.random.distributions": _in(["distributions", "contrib.distributions"], _DISTRIBUTIONS) + " " + _in(
        ["contrib.distributions"], "OneHotCategorical MultivariateNormalDiag"),
}
