# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.contrib.cells import FusedRNNCellAdaptor as FusedRNNCellAdaptor
from millstream.ops.contrib.cells import LSTMBlockFusedCell as LSTMBlockFusedCell
from millstream.ops.contrib.cells import NASCell as NASCell
from millstream.ops.contrib.cells import TimeReversedFusedRNN as TimeReversedFusedRNN
from millstream.ops.contrib.rnn import AttentionCellWrapper as AttentionCellWrapper
from millstream.ops.contrib.rnn import EmbeddingWrapper as EmbeddingWrapper
from millstream.ops.contrib.rnn import GRUBlockCell as GRUBlockCell
from millstream.ops.contrib.rnn import GRUBlockCellV2 as GRUBlockCellV2
from millstream.ops.contrib.rnn import HighwayWrapper as HighwayWrapper
from millstream.ops.contrib.rnn import InputProjectionWrapper as InputProjectionWrapper
from millstream.ops.contrib.rnn import LSTMBlockCell as LSTMBlockCell
from millstream.ops.contrib.rnn import LayerNormBasicLSTMCell as LayerNormBasicLSTMCell
from millstream.ops.contrib.rnn import OutputProjectionWrapper as OutputProjectionWrapper
from millstream.ops.contrib.rnn import UGRNNCell as UGRNNCell
from millstream.ops.contrib.rnn import stack_bidirectional_dynamic_rnn as stack_bidirectional_dynamic_rnn
from millstream.ops.contrib.rnn import stack_bidirectional_rnn as stack_bidirectional_rnn
from millstream.ops.contrib.rnn import transpose_batch_time as transpose_batch_time
from millstream.ops.rnn.rnn import static_bidirectional_rnn as static_bidirectional_rnn
from millstream.ops.rnn.rnn import static_rnn as static_rnn
from millstream.ops.rnn.rnn import static_state_saving_rnn as static_state_saving_rnn
from millstream.ops.rnn.rnn_cell import BasicLSTMCell as BasicLSTMCell
from millstream.ops.rnn.rnn_cell import BasicRNNCell as BasicRNNCell
from millstream.ops.rnn.rnn_cell import DeviceWrapper as DeviceWrapper
from millstream.ops.rnn.rnn_cell import DropoutWrapper as DropoutWrapper
from millstream.ops.rnn.rnn_cell import GRUCell as GRUCell
from millstream.ops.rnn.rnn_cell import LSTMCell as LSTMCell
from millstream.ops.rnn.rnn_cell import LSTMStateTuple as LSTMStateTuple
from millstream.ops.rnn.rnn_cell import LayerRNNCell as LayerRNNCell
from millstream.ops.rnn.rnn_cell import MultiRNNCell as MultiRNNCell
from millstream.ops.rnn.rnn_cell import RNNCell as RNNCell
from millstream.ops.rnn.rnn_cell import ResidualWrapper as ResidualWrapper

__all__ = [
    "AttentionCellWrapper",
    "BasicLSTMCell",
    "BasicRNNCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "EmbeddingWrapper",
    "FusedRNNCellAdaptor",
    "GRUBlockCell",
    "GRUBlockCellV2",
    "GRUCell",
    "HighwayWrapper",
    "InputProjectionWrapper",
    "LSTMBlockCell",
    "LSTMBlockFusedCell",
    "LSTMCell",
    "LSTMStateTuple",
    "LayerNormBasicLSTMCell",
    "LayerRNNCell",
    "MultiRNNCell",
    "NASCell",
    "OutputProjectionWrapper",
    "RNNCell",
    "ResidualWrapper",
    "TimeReversedFusedRNN",
    "UGRNNCell",
    "stack_bidirectional_dynamic_rnn",
    "stack_bidirectional_rnn",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
    "transpose_batch_time",
]
