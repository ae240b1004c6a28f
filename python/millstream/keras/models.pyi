# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.keras_v1.models import Model as Model
from millstream.keras_v1.models import Sequential as Sequential
from millstream.keras_v1.models import clone_model as clone_model

__all__ = [
    "Model",
    "Sequential",
    "clone_model",
]
