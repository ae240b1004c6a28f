# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.training.loss_scale import DynamicLossScale as DynamicLossScale
from millstream.training.loss_scale import FixedLossScale as FixedLossScale
from millstream.training.loss_scale import LossScale as LossScale
from millstream.training.loss_scale_optimizer import MixedPrecisionLossScaleOptimizer as MixedPrecisionLossScaleOptimizer
from millstream.training.mixed_precision import disable_mixed_precision_graph_rewrite as disable_mixed_precision_graph_rewrite
from millstream.training.mixed_precision import enable_mixed_precision_graph_rewrite as enable_mixed_precision_graph_rewrite

__all__ = [
    "DynamicLossScale",
    "FixedLossScale",
    "LossScale",
    "MixedPrecisionLossScaleOptimizer",
    "disable_mixed_precision_graph_rewrite",
    "enable_mixed_precision_graph_rewrite",
]
