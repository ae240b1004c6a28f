# SPDX-License-Identifier: Apache-2.0
"""hvd.callbacks of Keras."""
from __future__ import annotations

import numpy as np

from millstream.horovod import basics, mpi_ops, reductions
from millstream.keras_v1.callbacks import Callback, current_rate


class BroadcastGlobalVariablesCallback(Callback):
    """All ranks begin with the variables of rank `root_rank`."""

    def __init__(self, root_rank, device="", local_variables=None):
        super().__init__()
        if local_variables:
            raise NotImplementedError("BroadcastGlobalVariablesCallback(local_variables=...) is not supported")
        self.root_rank, self.device, self.broadcast_done = root_rank, device, False

    def _broadcast(self):
        from millstream.horovod import keras
        if not self.broadcast_done:
            with self.model.weights[0].graph.as_default():
                keras.broadcast_global_variables(self.root_rank)
            self.broadcast_done = True

    def on_train_begin(self, logs=None):
        if self.model.weights:  # of a model that knows the shape of its input; else the first batch makes them
            self._broadcast()

    def on_batch_end(self, batch, logs=None):
        self._broadcast()


class MetricAverageCallback(Callback):
    """Values of an epoch become averages over all ranks. Put it before callbacks that read them."""

    def __init__(self, device=""):
        super().__init__()
        self.device = device

    def on_epoch_end(self, epoch, logs=None):
        if not logs or basics.size() == 1:
            return
        names = sorted(name for name, value in logs.items() if np.isscalar(value))
        values = np.array([float(logs[name]) for name in names])
        means = mpi_ops.now(lambda x: reductions.allreduce(x, name="metrics"), values, "metrics")
        logs.update(zip(names, means.tolist()))


class LearningRateScheduleCallback(Callback):
    """The learning rate is initial_lr times `multiplier`: a number, or a function of the epoch. With staircase=False epochs have fractions."""

    def __init__(self, initial_lr=None, multiplier=1.0, start_epoch=0, end_epoch=None, staircase=True, momentum_correction=True,
                 steps_per_epoch=None):
        super().__init__()
        self.initial_lr, self.start_epoch, self.end_epoch = initial_lr, start_epoch, end_epoch
        self.staircase = staircase if callable(multiplier) else True
        self.momentum_correction, self.steps_per_epoch = momentum_correction, steps_per_epoch
        self.multiplier = multiplier if callable(multiplier) else lambda epoch: multiplier
        self.current_epoch, self._momentum = 0, None

    def on_train_begin(self, logs=None):
        if self.initial_lr is None:
            self.initial_lr = current_rate(self.model)
        if not self.staircase and not self.steps_per_epoch:
            self.steps_per_epoch = self._steps()

    def _steps(self):
        if self.params.get("steps"):
            return self.params["steps"]
        if self.params.get("samples") and self.params.get("batch_size"):
            return self.params["samples"] // self.params["batch_size"]
        raise ValueError(f"Could not autodetect the number of steps per epoch. Please specify the steps_per_epoch parameter to the "
                         f"{type(self).__name__}() or upgrade to the latest version of Keras.")

    def on_epoch_begin(self, epoch, logs=None):
        self.current_epoch = epoch

    def on_batch_begin(self, batch, logs=None):
        if self.current_epoch < self.start_epoch or self.end_epoch is not None and self.current_epoch >= self.end_epoch:
            return
        if self.staircase and batch == 0:
            self._adjust(self.current_epoch)
        elif not self.staircase:
            self._adjust(self.current_epoch + float(batch) / self.steps_per_epoch)

    def _adjust(self, epoch):
        optimizer, before = self.model.optimizer, current_rate(self.model)
        rate = self.initial_lr * self.multiplier(epoch)
        optimizer.lr = rate
        momentum = getattr(optimizer, "momentum", 0.0)
        if self.momentum_correction and momentum and before:
            self._momentum = momentum
            optimizer.momentum = momentum * rate / before

    def on_batch_end(self, batch, logs=None):
        if self._momentum is not None:
            self.model.optimizer.momentum, self._momentum = self._momentum, None

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs["lr"] = current_rate(self.model)


class LearningRateWarmupCallback(LearningRateScheduleCallback):
    """The learning rate grows from initial_lr / ranks to initial_lr in the first epochs."""

    def __init__(self, initial_lr=None, warmup_epochs=5, momentum_correction=True, steps_per_epoch=None, verbose=0):
        def multiplier(epoch):
            epoch += 1.0 / self.steps_per_epoch  # full rate at the end of the last batch of the last epoch
            return 1.0 / basics.size() * (epoch * (basics.size() - 1) / warmup_epochs + 1)
        super().__init__(initial_lr, multiplier, start_epoch=0, end_epoch=warmup_epochs, staircase=False,
                         momentum_correction=momentum_correction, steps_per_epoch=steps_per_epoch)
        self.verbose = verbose

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)
        if epoch == self.end_epoch - 1 and self.verbose > 0:
            print(f"\nEpoch {epoch + 1}: finished gradual learning rate warmup to {current_rate(self.model):g}.")


