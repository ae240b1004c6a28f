# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.training.contrib_opt import AdaMaxOptimizer as AdaMaxOptimizer
from millstream.training.contrib_opt import AdamWOptimizer as AdamWOptimizer
from millstream.training.contrib_opt import DecoupledWeightDecayExtension as DecoupledWeightDecayExtension
from millstream.training.contrib_opt import LARSOptimizer as LARSOptimizer
from millstream.training.contrib_opt import LazyAdamOptimizer as LazyAdamOptimizer
from millstream.training.contrib_opt import MomentumWOptimizer as MomentumWOptimizer
from millstream.training.contrib_opt import MovingAverageOptimizer as MovingAverageOptimizer
from millstream.training.contrib_opt import NadamOptimizer as NadamOptimizer
from millstream.training.contrib_opt import VariableClippingOptimizer as VariableClippingOptimizer
from millstream.training.contrib_opt import clip_gradients_by_global_norm as clip_gradients_by_global_norm
from millstream.training.contrib_opt import extend_with_decoupled_weight_decay as extend_with_decoupled_weight_decay
from millstream.training.delay_compensated_gradient_descent import DelayCompensatedGradientDescentOptimizer as DelayCompensatedGradientDescentOptimizer
from millstream.training.external_optimizer import ExternalOptimizerInterface as ExternalOptimizerInterface
from millstream.training.external_optimizer import ScipyOptimizerInterface as ScipyOptimizerInterface

__all__ = [
    "AdaMaxOptimizer",
    "AdamWOptimizer",
    "DecoupledWeightDecayExtension",
    "DelayCompensatedGradientDescentOptimizer",
    "ExternalOptimizerInterface",
    "LARSOptimizer",
    "LazyAdamOptimizer",
    "MomentumWOptimizer",
    "MovingAverageOptimizer",
    "NadamOptimizer",
    "ScipyOptimizerInterface",
    "VariableClippingOptimizer",
    "clip_gradients_by_global_norm",
    "extend_with_decoupled_weight_decay",
]
