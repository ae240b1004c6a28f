# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.estimators.predictor import from_estimator as from_estimator
from millstream.estimators.predictor import from_saved_model as from_saved_model

__all__ = [
    "from_estimator",
    "from_saved_model",
]
