# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.strategies.mirrored import ContribMirroredStrategy as MirroredStrategy
from millstream.strategies.multi_worker import CollectiveAllReduceStrategy as CollectiveAllReduceStrategy
from millstream.strategies.multi_worker import ContribParameterServerStrategy as ParameterServerStrategy
from millstream.strategies.refusals import TPUStrategy as TPUStrategy
from millstream.strategies.strategy import OneDeviceStrategy as OneDeviceStrategy
from millstream.strategies.strategy import get_loss_reduction as get_loss_reduction
from millstream.strategies.strategy import get_replica_context as get_replica_context
from millstream.strategies.strategy import get_strategy as get_strategy
from millstream.strategies.strategy import has_strategy as has_strategy
from millstream.strategies.strategy import in_cross_replica_context as in_cross_replica_context
from millstream.strategies.values import ReduceOp as ReduceOp

__all__ = [
    "CollectiveAllReduceStrategy",
    "MirroredStrategy",
    "OneDeviceStrategy",
    "ParameterServerStrategy",
    "ReduceOp",
    "TPUStrategy",
    "get_loss_reduction",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]
