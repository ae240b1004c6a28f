# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.training.distribute import CentralStorageStrategy as CentralStorageStrategy
from millstream.training.distribute import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from millstream.training.distribute import ParameterServerStrategy as ParameterServerStrategy
from millstream.training.distribute import TPUStrategy as TPUStrategy

__all__ = [
    "CentralStorageStrategy",
    "MultiWorkerMirroredStrategy",
    "ParameterServerStrategy",
    "TPUStrategy",
]
