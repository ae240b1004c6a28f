# SPDX-License-Identifier: Apache-2.0
"""tf.keras.constraints: what becomes of a variable after each update."""
from millstream import gen_ops
from millstream.keras_v1 import state
from millstream.ops.math import clip_ops, math_ops, reduce_ops


class Constraint:
    def __call__(self, w):
        return w


def _norm(w, axis):
    return gen_ops.sqrt(reduce_ops.reduce_sum(gen_ops.square(w), axis=axis, keepdims=True))


class MaxNorm(Constraint):
    def __init__(self, max_value=2, axis=0):
        self.max_value, self.axis = max_value, axis

    def __call__(self, w):
        norms = _norm(w, self.axis)
        return w * (clip_ops.clip_by_value(norms, 0, self.max_value) / (state.epsilon() + norms))


class NonNeg(Constraint):
    def __call__(self, w):
        return w * math_ops.cast(gen_ops.greater_equal(w, 0.0), state.floatx())


class UnitNorm(Constraint):
    def __init__(self, axis=0):
        self.axis = axis

    def __call__(self, w):
        return w / (state.epsilon() + _norm(w, self.axis))


class MinMaxNorm(Constraint):
    def __init__(self, min_value=0.0, max_value=1.0, rate=1.0, axis=0):
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w):
        norms = _norm(w, self.axis)
        desired = self.rate * clip_ops.clip_by_value(norms, self.min_value, self.max_value) + (1 - self.rate) * norms
        return w * (desired / (state.epsilon() + norms))


max_norm, non_neg, unit_norm, min_max_norm = MaxNorm, NonNeg, UnitNorm, MinMaxNorm
_BY_NAME = {"max_norm": MaxNorm, "MaxNorm": MaxNorm, "non_neg": NonNeg, "NonNeg": NonNeg, "unit_norm": UnitNorm, "UnitNorm": UnitNorm,
            "min_max_norm": MinMaxNorm, "MinMaxNorm": MinMaxNorm}


def get(identifier):
    if identifier is None or callable(identifier):
        return identifier
    if str(identifier) not in _BY_NAME:
        raise ValueError(f"Could not interpret constraint identifier: {identifier}")
    return _BY_NAME[str(identifier)]()
