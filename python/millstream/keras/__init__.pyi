# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.keras import datasets as datasets
from millstream.keras import layers as layers
from millstream.keras import losses as losses
from millstream.keras import metrics as metrics
from millstream.keras import models as models
from millstream.keras import preprocessing as preprocessing
from millstream.keras_v1 import activations as activations
from millstream.keras_v1 import backend as backend
from millstream.keras_v1 import callbacks as callbacks
from millstream.keras_v1 import constraints as constraints
from millstream.keras_v1 import initializers as initializers
from millstream.keras_v1 import optimizers as optimizers
from millstream.keras_v1 import regularizers as regularizers
from millstream.keras_v1 import utils as utils
from millstream.keras_v1.base_layer import Input as Input
from millstream.keras_v1.models import Model as Model
from millstream.keras_v1.models import Sequential as Sequential
from millstream.keras_v1.state import VERSION as __version__

__all__ = [
    "Input",
    "Model",
    "Sequential",
    "__version__",
    "activations",
    "backend",
    "callbacks",
    "constraints",
    "datasets",
    "initializers",
    "layers",
    "losses",
    "metrics",
    "models",
    "optimizers",
    "preprocessing",
    "regularizers",
    "utils",
]
