# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.distribute import experimental as experimental
from millstream.strategies.input_lib import InputContext as InputContext
from millstream.strategies.input_lib import InputReplicationMode as InputReplicationMode
from millstream.strategies.mirrored import MirroredStrategy as MirroredStrategy
from millstream.strategies.replica_threads import ReplicaContext as ReplicaContext
from millstream.strategies.strategy import OneDeviceStrategy as OneDeviceStrategy
from millstream.strategies.strategy import Strategy as Strategy
from millstream.strategies.strategy import StrategyExtended as StrategyExtended
from millstream.strategies.strategy import get_loss_reduction as get_loss_reduction
from millstream.strategies.strategy import get_replica_context as get_replica_context
from millstream.strategies.strategy import get_strategy as get_strategy
from millstream.strategies.strategy import has_strategy as has_strategy
from millstream.strategies.strategy import in_cross_replica_context as in_cross_replica_context
from millstream.strategies.values import ReduceOp as ReduceOp
from millstream.training.server_lib import Server as Server

__all__ = [
    "InputContext",
    "InputReplicationMode",
    "MirroredStrategy",
    "OneDeviceStrategy",
    "ReduceOp",
    "ReplicaContext",
    "Server",
    "Strategy",
    "StrategyExtended",
    "experimental",
    "get_loss_reduction",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]
