# SPDX-License-Identifier: Apache-2.0
"""Automatic mixed precision: products work with 16-bit floats (see docs/gpu.md), and optimizers scale the loss."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.client import rewrite_defaults
from millstream.training import optimizer
from millstream.training.loss_scale_optimizer import MixedPrecisionLossScaleOptimizer

if TYPE_CHECKING:
    from typing import Any


def enable_mixed_precision_graph_rewrite(opt: Any, loss_scale: Any = "dynamic") -> Any:
    """`opt` with loss scaling; sessions that are made from now on rewrite their graphs for 16-bit floats on accelerators.

    loss_scale: "dynamic", a number, or a LossScale.
    """
    if not isinstance(opt, optimizer.Optimizer):
        raise ValueError(f'"opt" must be an instance of a tf.train.Optimizer, but got: {opt}')
    if isinstance(opt, MixedPrecisionLossScaleOptimizer):
        raise ValueError('"opt" must not already be an instance of a MixedPrecisionLossScaleOptimizer. '
                         "`enable_mixed_precision_graph_rewrite` will automatically wrap the optimizer with one.")
    wrapped = MixedPrecisionLossScaleOptimizer(opt, loss_scale)
    rewrite_defaults.enable_mixed_precision()
    return wrapped


def disable_mixed_precision_graph_rewrite() -> None:
    """Sessions that are made from now on do not rewrite; optimizers that were wrapped go on scaling."""
    rewrite_defaults.disable_mixed_precision()
