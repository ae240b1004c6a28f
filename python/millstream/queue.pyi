# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.queues.data_flow_ops import FIFOQueue as FIFOQueue
from millstream.ops.queues.data_flow_ops import PaddingFIFOQueue as PaddingFIFOQueue
from millstream.ops.queues.data_flow_ops import PriorityQueue as PriorityQueue
from millstream.ops.queues.data_flow_ops import QueueBase as QueueBase
from millstream.ops.queues.data_flow_ops import RandomShuffleQueue as RandomShuffleQueue

__all__ = [
    "FIFOQueue",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RandomShuffleQueue",
]
