# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.keras_v1.configs import clone_model as clone_model
from millstream.keras_v1.configs import model_from_config as model_from_config
from millstream.keras_v1.configs import model_from_json as model_from_json
from millstream.keras_v1.models import Model as Model
from millstream.keras_v1.models import Sequential as Sequential

__all__ = [
    "Model",
    "Sequential",
    "clone_model",
    "model_from_config",
    "model_from_json",
]
