# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.training.loss_scale import DynamicLossScale as DynamicLossScale
from millstream.training.loss_scale import FixedLossScale as FixedLossScale
from millstream.training.loss_scale import LossScale as LossScale

__all__ = [
    "DynamicLossScale",
    "FixedLossScale",
    "LossScale",
]
