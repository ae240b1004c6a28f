# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.distribute import experimental as experimental
from millstream.training.distribute import InputContext as InputContext
from millstream.training.distribute import MirroredStrategy as MirroredStrategy
from millstream.training.distribute import OneDeviceStrategy as OneDeviceStrategy
from millstream.training.distribute import ReduceOp as ReduceOp
from millstream.training.distribute import ReplicaContext as ReplicaContext
from millstream.training.distribute import Strategy as Strategy
from millstream.training.distribute import StrategyExtended as StrategyExtended
from millstream.training.distribute import get_loss_reduction as get_loss_reduction
from millstream.training.distribute import get_replica_context as get_replica_context
from millstream.training.distribute import get_strategy as get_strategy
from millstream.training.distribute import has_strategy as has_strategy
from millstream.training.distribute import in_cross_replica_context as in_cross_replica_context
from millstream.training.server_lib import Server as Server

__all__ = [
    "InputContext",
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
