# SPDX-License-Identifier: Apache-2.0
"""tf.keras.callbacks: what is told of epochs and batches."""
import csv
import os
import sys
import time

import numpy as np

from millstream.framework import log
from millstream.keras_v1 import state
from millstream.ops.arguments import unsupported


class Callback:
    def __init__(self):
        self.model, self.params, self.validation_data = None, None, None

    def set_params(self, params):
        self.params = params

    def set_model(self, model):
        self.model = model

    def on_epoch_begin(self, epoch, logs=None):
        """Before an epoch."""

    def on_epoch_end(self, epoch, logs=None):
        """After it; `logs` has the averages."""

    def on_batch_begin(self, batch, logs=None):
        """Before a batch."""

    def on_batch_end(self, batch, logs=None):
        """After it."""

    def on_train_batch_begin(self, batch, logs=None):
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        self.on_batch_end(batch, logs)

    def on_train_begin(self, logs=None):
        """Before the first epoch."""

    def on_train_end(self, logs=None):
        """After the last."""


class History(Callback):
    def on_train_begin(self, logs=None):
        self.epoch, self.history = [], {}

    def on_epoch_end(self, epoch, logs=None):
        self.epoch.append(epoch)
        for key, value in (logs or {}).items():
            self.history.setdefault(key, []).append(value)


class ProgbarLogger(Callback):
    """A line per epoch."""

    def __init__(self, verbose=1):
        super().__init__()
        self.verbose, self._begun = verbose, 0.0

    def on_train_begin(self, logs=None):
        if self.params.get("samples"):
            print(f"Train on {self.params['samples']} samples")

    def on_epoch_begin(self, epoch, logs=None):
        print(f"Epoch {epoch + 1}/{self.params['epochs']}")
        self._begun = time.time()

    def on_epoch_end(self, epoch, logs=None):
        values = " - ".join(f"{k}: {v:.4f}" for k, v in (logs or {}).items())
        total = self.params.get("samples") or self.params.get("steps") or "?"
        bar = f"{total}/{total} [==============================] - " if self.verbose == 1 else ""
        print(f"{bar}{time.time() - self._begun:.0f}s - {values}")
        sys.stdout.flush()


class CallbackList:
    """All callbacks of a fit(), its History among them."""

    def __init__(self, given, model, verbose, epochs, source, steps, validation):
        self.history = History()
        self._all = ([ProgbarLogger(verbose)] if verbose else []) + list(given or []) + [self.history]
        names = model.metrics_names
        params = {"epochs": epochs, "verbose": verbose, "samples": source.samples, "steps": steps, "do_validation": validation,
                  "metrics": names + [f"val_{n}" for n in names], "batch_size": getattr(source, "size", None)}
        self.params = params  # callbacks may change "steps" before an epoch
        for callback in self._all:
            callback.set_model(model)
            callback.set_params(params)
        self.history.model = model

    def __getattr__(self, name):
        name = {"on_batch_begin": "on_train_batch_begin", "on_batch_end": "on_train_batch_end"}.get(name, name)

        def tell(*args):
            for callback in self._all:
                getattr(callback, name)(*args)
        return tell


class LambdaCallback(Callback):
    def __init__(self, on_epoch_begin=None, on_epoch_end=None, on_batch_begin=None, on_batch_end=None, on_train_begin=None,
                 on_train_end=None):
        super().__init__()
        given = {"on_epoch_begin": on_epoch_begin, "on_epoch_end": on_epoch_end, "on_batch_begin": on_batch_begin,
                 "on_batch_end": on_batch_end, "on_train_begin": on_train_begin, "on_train_end": on_train_end}
        self.__dict__.update({k: v for k, v in given.items() if v is not None})

    def on_train_batch_end(self, batch, logs=None):
        self.on_batch_end(batch, logs)


class _Watching(Callback):
    """Compares a value of the logs with the best so far."""

    def __init__(self, monitor, mode="auto", min_delta=0.0):
        super().__init__()
        self.monitor = monitor
        up = mode == "max" or mode not in ("min", "max") and ("acc" in monitor or monitor.startswith("fmeasure"))
        self.monitor_op = np.greater if up else np.less
        self.min_delta = abs(min_delta) if up else -abs(min_delta)
        self.best = -np.inf if up else np.inf

    def _better(self, logs):
        """(the value or None, whether it is better); the best is remembered."""
        value = (logs or {}).get(self.monitor)
        if value is None:
            from millstream.framework import log
            log.warning("`%s` is not available. Available metrics are: %s", self.monitor, ",".join(logs or {}))
            return None, False
        better = bool(self.monitor_op(value - self.min_delta, self.best))
        if better:
            self.best = value
        return value, better


class EarlyStopping(_Watching):
    def __init__(self, monitor="val_loss", min_delta=0, patience=0, verbose=0, mode="auto", baseline=None, restore_best_weights=False):
        super().__init__(monitor, mode, min_delta)
        self.patience, self.verbose, self.restore_best_weights = patience, verbose, restore_best_weights
        self.wait, self.stopped_epoch, self.best_weights = 0, 0, None
        if baseline is not None:
            self.best = baseline

    def on_train_begin(self, logs=None):
        self.wait, self.stopped_epoch = 0, 0

    def on_epoch_end(self, epoch, logs=None):
        value, better = self._better(logs)
        if value is None:
            return
        if better:
            self.wait = 0
            self.best_weights = self.model.get_weights() if self.restore_best_weights else None
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch, self.model.stop_training = epoch, True
            if self.restore_best_weights and self.best_weights is not None:
                self.model.set_weights(self.best_weights)

    def on_train_end(self, logs=None):
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")


class ModelCheckpoint(_Watching):
    """Weights after epochs, as checkpoints."""

    def __init__(self, filepath, monitor="val_loss", verbose=0, save_best_only=False, save_weights_only=False, mode="auto", period=1,
                 save_freq="epoch", **kwargs):
        super().__init__(monitor, mode)
        unsupported("ModelCheckpoint", save_freq=None if save_freq == "epoch" else save_freq, **kwargs)
        if not save_weights_only:
            log.warning("ModelCheckpoint saves weights only: load them with model.load_weights().")
        self.filepath, self.verbose, self.save_best_only, self.period = filepath, verbose, save_best_only, period

    def on_epoch_end(self, epoch, logs=None):
        if (epoch + 1) % self.period or self.save_best_only and not self._better(logs)[1]:
            return
        path = self.filepath.format(epoch=epoch + 1, **(logs or {}))
        if self.verbose:
            print(f"\nEpoch {epoch + 1:05d}: saving model to {path}")
        self.model.save_weights(path)


def current_rate(model):
    variable = model.optimizer.lr  # made before the session initializes what is new
    return float(state.get_session().run(variable))


class LearningRateScheduler(Callback):
    def __init__(self, schedule, verbose=0):
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch, logs=None):
        now = current_rate(self.model)
        try:
            rate = self.schedule(epoch, now)
        except TypeError:
            rate = self.schedule(epoch)
        if not isinstance(rate, (float, np.float32, np.float64)):
            raise ValueError('The output of the "schedule" function should be float.')
        self.model.optimizer.lr = rate
        if self.verbose:
            print(f"\nEpoch {epoch + 1:05d}: LearningRateScheduler reducing learning rate to {rate}.")

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs["lr"] = current_rate(self.model)


class ReduceLROnPlateau(_Watching):
    def __init__(self, monitor="val_loss", factor=0.1, patience=10, verbose=0, mode="auto", min_delta=1e-4, cooldown=0, min_lr=0, **kwargs):
        min_delta = kwargs.pop("epsilon", min_delta)  # its older name
        if kwargs:
            raise TypeError(f"ReduceLROnPlateau: unexpected arguments {sorted(kwargs)}")
        if factor >= 1.0:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0.")
        super().__init__(monitor, mode, min_delta)
        self.factor, self.patience, self.cooldown, self.min_lr, self.verbose = factor, patience, cooldown, min_lr, verbose
        self.wait = self.cooldown_counter = 0

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs["lr"] = current_rate(self.model)
        value, better = self._better(logs)
        if value is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if better:
            self.wait = 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            rate = logs["lr"]
            if self.wait >= self.patience and rate > self.min_lr:
                self.model.optimizer.lr = max(rate * self.factor, self.min_lr)
                self.cooldown_counter, self.wait = self.cooldown, 0


class TerminateOnNaN(Callback):
    def on_batch_end(self, batch, logs=None):
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


class CSVLogger(Callback):
    def __init__(self, filename, separator=",", append=False):
        super().__init__()
        self.filename, self.sep, self.append, self._file, self._writer = filename, separator, append, None, None

    def on_epoch_end(self, epoch, logs=None):
        keys = sorted(logs or {})
        if self._writer is None:
            there = self.append and os.path.exists(self.filename)
            self._file = open(self.filename, "a" if self.append else "w", newline="", encoding="utf-8")
            self._writer = csv.writer(self._file, delimiter=self.sep)
            if not there:
                self._writer.writerow(["epoch"] + keys)
        self._writer.writerow([epoch] + [logs[k] for k in keys])
        self._file.flush()

    def on_train_end(self, logs=None):
        if self._file:
            self._file.close()
        self._file = self._writer = None


class TensorBoard(Callback):
    """Scalars of every epoch, and the graph, as event files."""

    def __init__(self, log_dir="./logs", histogram_freq=0, batch_size=32, write_graph=True, write_grads=False, write_images=False,
                 update_freq="epoch", profile_batch=0, **kwargs):
        super().__init__()
        unsupported("keras.callbacks.TensorBoard", histogram_freq=histogram_freq or None, write_grads=write_grads,
                    write_images=write_images, update_freq=None if update_freq == "epoch" else update_freq,
                    profile_batch=profile_batch or None, **{k: v or None for k, v in kwargs.items()})
        self.log_dir, self.write_graph, self._writer = log_dir, write_graph, None

    def on_train_begin(self, logs=None):
        from millstream.events import writer
        self._writer = writer.FileWriter(self.log_dir, state.get_session().graph if self.write_graph else None)

    def on_epoch_end(self, epoch, logs=None):
        from millstream.proto import summary_pb2
        summary = summary_pb2.Summary()
        for name, value in (logs or {}).items():
            summary.value.add(tag=f"epoch_{name}", simple_value=float(value))
        self._writer.add_summary(summary, epoch)
        self._writer.flush()

    def on_train_end(self, logs=None):
        self._writer.close()
