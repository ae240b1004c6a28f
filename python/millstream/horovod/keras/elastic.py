# SPDX-License-Identifier: Apache-2.0
"""hvd.elastic of Keras: state of a model, and callbacks that keep and commit it."""
from __future__ import annotations

from millstream.horovod.elastic import KerasState, WorkQueue, run
from millstream.keras_v1.callbacks import Callback


class CommitStateCallback(Callback):
    """Commits every so many batches, and at the end of each epoch."""

    def __init__(self, state, batches_per_commit=1):
        super().__init__()
        self.state, self.batches_per_commit, self._left = state, batches_per_commit, batches_per_commit

    def on_train_begin(self, logs=None):
        self._left = self.batches_per_commit

    def on_batch_end(self, batch, logs=None):
        self._left -= 1
        if self._left <= 0:
            self.state.commit()
            self._left = self.batches_per_commit

    def on_epoch_end(self, epoch, logs=None):
        self.state.commit()


class UpdateBatchStateCallback(Callback):
    """Keeps state.batch, the number of batches of the epoch that are done. With steps_per_epoch an epoch that was interrupted goes on with those
    that are left."""

    def __init__(self, state):
        super().__init__()
        self.state, self._steps, self._begun_with = state, None, 0

    def on_train_begin(self, logs=None):
        self._steps = self.params.get("steps")

    def on_epoch_begin(self, epoch, logs=None):
        self._begun_with = self.state.batch if self._steps else 0
        if self._steps:
            self.params["steps"] = self._steps - self._begun_with

    def on_batch_end(self, batch, logs=None):
        self.state.batch = self._begun_with + batch + 1

    def on_epoch_end(self, epoch, logs=None):
        self.state.batch = 0


class UpdateEpochStateCallback(Callback):
    """Keeps state.epoch, the number of epochs that are done."""

    def __init__(self, state):
        super().__init__()
        self.state, self._begun_with = state, 0

    def on_train_begin(self, logs=None):
        self._begun_with = self.state.epoch

    def on_epoch_end(self, epoch, logs=None):
        self.state.epoch = self._begun_with + epoch + 1


__all__ = ["CommitStateCallback", "KerasState", "UpdateBatchStateCallback", "UpdateEpochStateCallback", "WorkQueue", "run"]
