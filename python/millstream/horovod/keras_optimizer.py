# SPDX-License-Identifier: Apache-2.0
"""DistributedOptimizer of tf.keras optimizers."""
from __future__ import annotations

from millstream.horovod import reductions
from millstream.keras_v1 import optimizers


class _Distributed:
    """Put before the class of an optimizer: its gradients are reduced over all ranks."""

    _horovod_settings: dict = {}

    def get_gradients(self, loss, params):
        found = super().get_gradients(loss, params)
        return reductions.allreduce_gradients(found, name=f"Distributed{type(self).__name__}_Allreduce", **self._horovod_settings)


def distributed(optimizer, name, passes, settings):
    """The same optimizer, with the name of its class, so that what is saved does not depend on Horovod."""
    if not isinstance(optimizer, optimizers.Optimizer):
        raise ValueError(f"DistributedOptimizer takes an optimizer of tf.train or tf.keras, given: {optimizer}")
    if passes != 1:
        raise NotImplementedError("backward_passes_per_step > 1 is supported with optimizers of tf.train only")
    if isinstance(optimizer, _Distributed):
        raise ValueError("The optimizer is a DistributedOptimizer already")
    made = object.__new__(type(type(optimizer).__name__, (_Distributed, type(optimizer)), {}))
    made.__dict__.update(optimizer.__dict__, _horovod_settings=settings)
    if name:
        made._name = name
    return made
