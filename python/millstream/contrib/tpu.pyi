# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.estimators.tpu import CrossShardOptimizer as CrossShardOptimizer
from millstream.estimators.tpu import InputPipelineConfig as InputPipelineConfig
from millstream.estimators.tpu import RunConfig as RunConfig
from millstream.estimators.tpu import TPUConfig as TPUConfig
from millstream.estimators.tpu import TPUEstimator as TPUEstimator
from millstream.estimators.tpu import TPUEstimatorSpec as TPUEstimatorSpec

__all__ = [
    "CrossShardOptimizer",
    "InputPipelineConfig",
    "RunConfig",
    "TPUConfig",
    "TPUEstimator",
    "TPUEstimatorSpec",
]
