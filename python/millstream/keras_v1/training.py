# SPDX-License-Identifier: Apache-2.0
"""compile, fit, evaluate and predict of models: numpy batches that are fed to a session."""
import collections

import numpy as np

from millstream.framework import constant_op, dtypes, ops
from millstream.keras_v1 import callbacks as callbacks_lib
from millstream.keras_v1 import losses, metrics as metrics_lib, optimizers, state
from millstream.keras_v1.batches import Arrays, as_source
from millstream.ops import nest
from millstream.ops.arguments import unsupported
from millstream.ops.flow import control_flow_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.strategies import context

_Ops = collections.namedtuple("_Ops", "targets weights total values train")


def _per_output(given, names, what):
    """A value for each output from one for all, a list, or a dict by name."""
    if isinstance(given, dict):
        unknown = set(given) - set(names)
        if unknown:
            raise ValueError(f'Unknown entries in {what} dictionary: {sorted(unknown)}. Only expected following keys: {names}')
        return [given.get(n) for n in names]
    if isinstance(given, (list, tuple)):
        if len(given) != len(names):
            raise ValueError(f"When passing a list as {what}, it should have one entry per model output. The model has {len(names)} "
                             f"outputs, but you passed {what}={given}")
        return list(given)
    return [given] * len(names)


class Trained:
    """The part of Model that learns."""

    optimizer = loss = None
    stop_training = False
    _ops = None

    def compile(self, optimizer="rmsprop", loss=None, metrics=None, loss_weights=None, sample_weight_mode=None, weighted_metrics=None,
                target_tensors=None, **kwargs):
        strategy = context.several_replicas()
        if strategy is not None:
            from millstream.strategies import refusals
            refusals.refuse(f"Training a tf.keras model with the {strategy.num_replicas_in_sync} replicas of {type(strategy).__name__}",
                            "Use Horovod's interface (docs/horovod.md), an Estimator, or a training loop with strategy.run().")
        unsupported("compile", target_tensors=target_tensors, sample_weight_mode=sample_weight_mode,
                    weighted_metrics=weighted_metrics or None, **kwargs)
        for function in nest.flatten(list(loss.values()) if isinstance(loss, dict) else loss):
            losses.get(function)  # refuses what is no loss before there is data
        self.__dict__.update(optimizer=optimizers.get(optimizer), loss=loss, _metrics_given=list(metrics or []) if not isinstance(
            metrics, dict) else metrics, _loss_weights=loss_weights, _ops=None, _compiled=True)

    # The graph.

    def _need_inputs(self, x):
        """Placeholders for a model that has been given none."""
        if self.inputs is not None and self.outputs is not None and (self._functional or getattr(self, "_called", False)):
            return
        from millstream.keras_v1.base_layer import Input
        arrays = x if isinstance(x, list) else [x]
        tensors = [Input(shape=a.shape[1:], dtype=state.floatx() if a.dtype.kind == "f" else a.dtype.name) for a in arrays]
        outputs = self(tensors if len(tensors) > 1 else tensors[0])
        self.__dict__.update(inputs=tensors, outputs=nest.flatten(outputs), _called=True)

    def _need_compiled(self):
        if not getattr(self, "_compiled", False):
            raise RuntimeError("You must compile your model before training/testing. Use `model.compile(optimizer, loss)`.")

    def _build_ops(self, y):
        self._need_compiled()
        if self._ops is not None:
            return self._ops
        names = self.output_names
        functions = [losses.get(f) for f in _per_output(self.loss, names, "loss")]
        factors = _per_output(self._loss_weights, names, "loss_weights")
        targets, weights, total, values = [], [], [], collections.OrderedDict()
        for name, output, function, factor, array in zip(names, self.outputs, functions, factors, y):
            if function is None:
                targets.append(None)
                weights.append(None)
                continue
            whole = array.dtype.kind in "iub" and getattr(function, "function", function) is losses.sparse_categorical_crossentropy
            dtype = dtypes.int64 if whole else output.dtype
            target = constant_op.placeholder(dtype, [None] + list(array.shape[1:]), name=f"{name}_target")
            weight = constant_op.placeholder_with_default(np.float32(1.0), shape=None, name=f"{name}_sample_weights")
            with ops.name_scope(f"loss/{name}_loss"):
                mean = _mean_loss(function, target, output, weight)
            targets.append(target)
            weights.append(weight)
            total.append(mean if factor is None else factor * mean)
            if len(names) > 1:
                values[f"{name}_loss"] = mean
        self._add_metrics(values, names, targets, functions)
        extra = self.losses
        loss = math_ops.add_n(total + [math_ops.cast(x, total[0].dtype) for x in extra]) if len(total) + len(extra) > 1 else total[0]
        self._ops = _Ops(targets, weights, loss, values, None)
        return self._ops

    def _add_metrics(self, values, names, targets, functions):
        given = self._metrics_given
        per = [given.get(n, []) for n in names] if isinstance(given, dict) else [given] * len(names)
        if isinstance(given, list) and given and all(isinstance(g, (list, tuple)) for g in given):
            per = given
        for name, output, target, function, wanted in zip(names, self.outputs, targets, functions, per):
            for entry in wanted if isinstance(wanted, (list, tuple)) else [wanted]:
                if target is None:
                    continue
                label, metric = metrics_lib.named(entry, output, function)
                with ops.name_scope(f"metrics/{label}"):
                    values[label if len(names) == 1 else f"{name}_{label}"] = reduce_ops.reduce_mean(metric(target, output))

    def _train_op(self, made):
        if made.train is None:
            with ops.name_scope("training"):
                step = self.optimizer.get_updates(made.total, self.trainable_weights)
                updates = [u for u in self.updates if u is not None]
                self._ops = made = made._replace(train=control_flow_ops.group(*step, *updates))
        return made.train

    metrics_names = property(lambda self: ["loss"] + list(self._ops.values if self._ops else []))

    def _feed(self, x, y, weight, phase):
        feed = dict(zip(self.inputs, x))
        if y is not None:
            feed.update({t: a for t, a in zip(self._ops.targets, y) if t is not None})
            if weight is not None:
                feed.update({w: a for w, a in zip(self._ops.weights, weight) if w is not None and a is not None})
        learning = state.learning_phase()
        if isinstance(learning, ops.Tensor):
            feed[learning] = bool(phase)
        return feed

    def _run_batch(self, x, y, weight, train):
        graph = self.outputs[0].graph
        with graph.as_default():
            made = self._build_ops(y)
            fetches = [made.total, *made.values.values()]
            if train:
                fetches.append(self._train_op(made))
            feed = self._feed(x, y, weight, train)
            results = state.get_session().run(fetches, feed)
        return [float(v) for v in (results[:-1] if train else results)]

    # Whole data sets.

    def fit(self, x=None, y=None, batch_size=None, epochs=1, verbose=1, callbacks=None, validation_split=0.0, validation_data=None,
            shuffle=True, class_weight=None, sample_weight=None, initial_epoch=0, steps_per_epoch=None, validation_steps=None,
            validation_freq=1, **kwargs):
        self._need_compiled()
        _check_queue_arguments("fit", kwargs)
        source = as_source(x, y, sample_weight, class_weight, batch_size)
        if validation_split and isinstance(source, Arrays):
            source, held = source.split(validation_split)
            validation_data = held
        elif validation_data is not None:
            validation_data = as_source(*_tuple(validation_data), batch_size=batch_size)
        watchers = callbacks_lib.CallbackList(callbacks, self, verbose, epochs, source, steps_per_epoch, validation_data is not None)
        self.stop_training = False
        watchers.on_train_begin()
        for epoch in range(initial_epoch, epochs):
            watchers.on_epoch_begin(epoch)
            logs = self._epoch(source.batches(shuffle, watchers.params["steps"]), True, watchers)
            if validation_data is not None and (epoch + 1) % validation_freq == 0:
                held = self._epoch(validation_data.batches(False, validation_steps), False)
                logs.update({f"val_{k}": v for k, v in held.items()})
            watchers.on_epoch_end(epoch, logs)
            if self.stop_training:
                break
        watchers.on_train_end()
        return watchers.history

    def _epoch(self, batches, train, watchers=None):
        """The averages over all samples of loss and metrics."""
        sums, count = None, 0
        for index, (x, y, weight) in enumerate(batches):
            self._need_inputs(x if len(x) > 1 else x[0])
            size = len(x[0])
            if watchers:
                watchers.on_batch_begin(index, {"batch": index, "size": size})
            values = np.array(self._run_batch(x, y, weight, train))
            sums, count = values * size if sums is None else sums + values * size, count + size
            if watchers:
                watchers.on_batch_end(index, {"batch": index, "size": size, **dict(zip(self.metrics_names, values))})
                if self.stop_training:
                    break
        if sums is None:
            raise ValueError("There were no batches.")
        return dict(zip(self.metrics_names, (sums / count).tolist()))

    def evaluate(self, x=None, y=None, batch_size=None, verbose=1, sample_weight=None, steps=None, callbacks=None, **kwargs):
        _check_queue_arguments("evaluate", kwargs)
        unsupported("evaluate", callbacks=callbacks)
        logs = self._epoch(as_source(x, y, sample_weight, None, batch_size).batches(False, steps), False)
        values = [logs[n] for n in self.metrics_names]
        return values[0] if len(values) == 1 else values

    def predict(self, x, batch_size=None, verbose=0, steps=None, callbacks=None, **kwargs):
        _check_queue_arguments("predict", kwargs)
        unsupported("predict", callbacks=callbacks)
        parts = [self.predict_on_batch(batch[0]) for batch in as_source(x, None, None, None, batch_size).batches(False, steps)]
        if isinstance(parts[0], list):
            return [np.concatenate([p[i] for p in parts]) for i in range(len(parts[0]))]
        return np.concatenate(parts)

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, reset_metrics=True):
        return self._one_batch(x, y, sample_weight, class_weight, True)

    def test_on_batch(self, x, y=None, sample_weight=None, reset_metrics=True):
        return self._one_batch(x, y, sample_weight, None, False)

    def _one_batch(self, x, y, sample_weight, class_weight, train):
        source = as_source(x, y, sample_weight, class_weight, None)
        x, y, weight = source.whole()
        self._need_inputs(x if len(x) > 1 else x[0])
        values = self._run_batch(x, y, weight, train)
        return values[0] if len(values) == 1 else values

    def predict_on_batch(self, x):
        x = as_source(x, None, None, None, None).whole()[0]
        self._need_inputs(x if len(x) > 1 else x[0])
        with self.outputs[0].graph.as_default():
            values = state.get_session().run(self.outputs, self._feed(x, None, None, False))
        return values[0] if len(values) == 1 else values

    def fit_generator(self, generator, steps_per_epoch=None, epochs=1, verbose=1, callbacks=None, validation_data=None,
                      validation_steps=None, validation_freq=1, class_weight=None, max_queue_size=10, workers=1,
                      use_multiprocessing=False, shuffle=True, initial_epoch=0):
        return self.fit(generator, epochs=epochs, verbose=verbose, callbacks=callbacks, validation_data=validation_data,
                        steps_per_epoch=steps_per_epoch, validation_steps=validation_steps, validation_freq=validation_freq,
                        class_weight=class_weight, shuffle=shuffle, initial_epoch=initial_epoch)

    def evaluate_generator(self, generator, steps=None, callbacks=None, max_queue_size=10, workers=1, use_multiprocessing=False, verbose=0):
        return self.evaluate(generator, steps=steps, callbacks=callbacks)

    def predict_generator(self, generator, steps=None, callbacks=None, max_queue_size=10, workers=1, use_multiprocessing=False, verbose=0):
        return self.predict(generator, steps=steps, callbacks=callbacks)


def _check_queue_arguments(function, kwargs):
    """Arguments about threads that fetch batches ahead change nothing about the batches."""
    unknown = set(kwargs) - {"max_queue_size", "workers", "use_multiprocessing"}
    if unknown:
        raise TypeError(f"{function}() got unexpected keyword arguments {sorted(unknown)}")


def _tuple(data):
    return data if isinstance(data, tuple) else (data,)


def _mean_loss(function, target, output, weight):
    if isinstance(function, losses.Loss):
        return function(target, output, sample_weight=weight)
    each = function(target, output)
    if each.shape.rank == 0:
        return each
    per_sample = reduce_ops.reduce_mean(each, axis=list(range(1, each.shape.rank))) if (each.shape.rank or 1) > 1 else each
    return reduce_ops.reduce_mean(per_sample * math_ops.cast(weight, per_sample.dtype))
