# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.rnn.rnn_cell import BasicLSTMCell as BasicLSTMCell
from millstream.ops.rnn.rnn_cell import BasicRNNCell as BasicRNNCell
from millstream.ops.rnn.rnn_cell import DeviceWrapper as DeviceWrapper
from millstream.ops.rnn.rnn_cell import DropoutWrapper as DropoutWrapper
from millstream.ops.rnn.rnn_cell import GRUCell as GRUCell
from millstream.ops.rnn.rnn_cell import LSTMCell as LSTMCell
from millstream.ops.rnn.rnn_cell import LSTMStateTuple as LSTMStateTuple
from millstream.ops.rnn.rnn_cell import MultiRNNCell as MultiRNNCell
from millstream.ops.rnn.rnn_cell import RNNCell as RNNCell
from millstream.ops.rnn.rnn_cell import ResidualWrapper as ResidualWrapper

__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "GRUCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
    "ResidualWrapper",
]
