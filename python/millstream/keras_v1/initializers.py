# SPDX-License-Identifier: Apache-2.0
"""tf.keras.initializers: those of tf.initializers, some with other defaults."""
from millstream.framework import dtypes
from millstream.ops.variables import init_ops
from millstream.ops.variables.init_ops import (Constant, GlorotNormal, GlorotUniform, Identity, Initializer, Ones, Orthogonal,  # noqa: F401
                                               VarianceScaling, Zeros, he_normal, he_uniform, lecun_normal, lecun_uniform)


class RandomNormal(init_ops.RandomNormal):
    def __init__(self, mean=0.0, stddev=0.05, seed=None, dtype=dtypes.float32):
        super().__init__(mean, stddev, seed, dtype)


class RandomUniform(init_ops.RandomUniform):
    def __init__(self, minval=-0.05, maxval=0.05, seed=None, dtype=dtypes.float32):
        super().__init__(minval, maxval, seed, dtype)


class TruncatedNormal(init_ops.TruncatedNormal):
    def __init__(self, mean=0.0, stddev=0.05, seed=None, dtype=dtypes.float32):
        super().__init__(mean, stddev, seed, dtype)


zeros, ones, constant, identity, orthogonal = Zeros, Ones, Constant, Identity, Orthogonal
glorot_uniform, glorot_normal, normal, random_normal = GlorotUniform, GlorotNormal, RandomNormal, RandomNormal
uniform, random_uniform, truncated_normal = RandomUniform, RandomUniform, TruncatedNormal
_OWN = {"random_normal": RandomNormal, "normal": RandomNormal, "RandomNormal": RandomNormal, "random_uniform": RandomUniform,
        "uniform": RandomUniform, "RandomUniform": RandomUniform, "truncated_normal": TruncatedNormal,
        "TruncatedNormal": TruncatedNormal}


def get(identifier):
    if isinstance(identifier, str) and identifier in _OWN:
        return _OWN[identifier]()
    return init_ops.get(identifier)


def serialize(initializer):
    return {"class_name": type(initializer).__name__, "config": initializer.get_config()}


def deserialize(config, custom_objects=None):
    return get(config)
