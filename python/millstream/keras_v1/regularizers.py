# SPDX-License-Identifier: Apache-2.0
"""tf.keras.regularizers."""
from millstream import gen_ops
from millstream.framework import ops
from millstream.ops.math import reduce_ops


class Regularizer:
    def __call__(self, x):
        return 0.0


class L1L2(Regularizer):
    """l1 * sum(|x|) + l2 * sum(x^2)."""

    def __init__(self, l1=0.0, l2=0.0):
        self.l1, self.l2 = float(l1), float(l2)

    def __call__(self, x):
        x = ops.convert_to_tensor(x)
        loss = ops.convert_to_tensor(0.0, dtype=x.dtype.base_dtype)
        if self.l1:
            loss = loss + self.l1 * reduce_ops.reduce_sum(gen_ops.abs(x))
        if self.l2:
            loss = loss + self.l2 * reduce_ops.reduce_sum(gen_ops.square(x))
        return loss

    def get_config(self):
        return {"l1": self.l1, "l2": self.l2}


def l1(l=0.01):
    return L1L2(l1=l)


def l2(l=0.01):
    return L1L2(l2=l)


def l1_l2(l1=0.01, l2=0.01):  # pylint: disable=redefined-outer-name
    return L1L2(l1=l1, l2=l2)


def get(identifier):
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, dict):
        return L1L2(**identifier.get("config", {}))
    found = {"l1": l1, "l2": l2, "l1_l2": l1_l2, "L1L2": L1L2}.get(str(identifier))
    if found is None:
        raise ValueError(f"Could not interpret regularizer identifier: {identifier}")
    return found()
