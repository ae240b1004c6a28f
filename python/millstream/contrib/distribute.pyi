# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.training.distribute import CollectiveAllReduceStrategy as CollectiveAllReduceStrategy
from millstream.training.distribute import ContribMirroredStrategy as MirroredStrategy
from millstream.training.distribute import ContribParameterServerStrategy as ParameterServerStrategy
from millstream.training.distribute import OneDeviceStrategy as OneDeviceStrategy
from millstream.training.distribute import TPUStrategy as TPUStrategy

__all__ = [
    "CollectiveAllReduceStrategy",
    "MirroredStrategy",
    "OneDeviceStrategy",
    "ParameterServerStrategy",
    "TPUStrategy",
]
