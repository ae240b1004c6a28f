# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.strategies.mirrored import CentralStorageStrategy as CentralStorageStrategy
from millstream.strategies.multi_worker import CollectiveCommunication as CollectiveCommunication
from millstream.strategies.multi_worker import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from millstream.strategies.multi_worker import ParameterServerStrategy as ParameterServerStrategy
from millstream.strategies.refusals import TPUStrategy as TPUStrategy

__all__ = [
    "CentralStorageStrategy",
    "CollectiveCommunication",
    "MultiWorkerMirroredStrategy",
    "ParameterServerStrategy",
    "TPUStrategy",
]
