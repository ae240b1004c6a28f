# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.contrib.attention import AttentionMechanism as AttentionMechanism
from millstream.ops.contrib.attention import AttentionWrapper as AttentionWrapper
from millstream.ops.contrib.attention import AttentionWrapperState as AttentionWrapperState
from millstream.ops.contrib.attention import BahdanauAttention as BahdanauAttention
from millstream.ops.contrib.attention import LuongAttention as LuongAttention
from millstream.ops.contrib.beam_search import BeamSearchDecoder as BeamSearchDecoder
from millstream.ops.contrib.beam_search import BeamSearchDecoderOutput as BeamSearchDecoderOutput
from millstream.ops.contrib.beam_search import BeamSearchDecoderState as BeamSearchDecoderState
from millstream.ops.contrib.beam_search import FinalBeamSearchDecoderOutput as FinalBeamSearchDecoderOutput
from millstream.ops.contrib.beam_search import gather_tree as gather_tree
from millstream.ops.contrib.seq2seq import BasicDecoder as BasicDecoder
from millstream.ops.contrib.seq2seq import BasicDecoderOutput as BasicDecoderOutput
from millstream.ops.contrib.seq2seq import CustomHelper as CustomHelper
from millstream.ops.contrib.seq2seq import Decoder as Decoder
from millstream.ops.contrib.seq2seq import GreedyEmbeddingHelper as GreedyEmbeddingHelper
from millstream.ops.contrib.seq2seq import Helper as Helper
from millstream.ops.contrib.seq2seq import InferenceHelper as InferenceHelper
from millstream.ops.contrib.seq2seq import SampleEmbeddingHelper as SampleEmbeddingHelper
from millstream.ops.contrib.seq2seq import ScheduledEmbeddingTrainingHelper as ScheduledEmbeddingTrainingHelper
from millstream.ops.contrib.seq2seq import TrainingHelper as TrainingHelper
from millstream.ops.contrib.seq2seq import dynamic_decode as dynamic_decode
from millstream.ops.contrib.seq2seq import hardmax as hardmax
from millstream.ops.contrib.seq2seq import sequence_loss as sequence_loss
from millstream.ops.contrib.seq2seq import tile_batch as tile_batch

__all__ = [
    "AttentionMechanism",
    "AttentionWrapper",
    "AttentionWrapperState",
    "BahdanauAttention",
    "BasicDecoder",
    "BasicDecoderOutput",
    "BeamSearchDecoder",
    "BeamSearchDecoderOutput",
    "BeamSearchDecoderState",
    "CustomHelper",
    "Decoder",
    "FinalBeamSearchDecoderOutput",
    "GreedyEmbeddingHelper",
    "Helper",
    "InferenceHelper",
    "LuongAttention",
    "SampleEmbeddingHelper",
    "ScheduledEmbeddingTrainingHelper",
    "TrainingHelper",
    "dynamic_decode",
    "gather_tree",
    "hardmax",
    "sequence_loss",
    "tile_batch",
]
