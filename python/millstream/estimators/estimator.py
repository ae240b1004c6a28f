# SPDX-License-Identifier: Apache-2.0
"""tf.estimator.Estimator: a model function that is trained, evaluated, asked and exported."""
from __future__ import annotations

import copy
import inspect
import os
import tempfile
import time
from typing import TYPE_CHECKING

import numpy as np

from millstream import _core
from millstream.datasets import dataset_ops
from millstream.estimators import distributed, export, run_config
from millstream.estimators.model_fn import EstimatorSpec, ModeKeys, WarmStartSettings
from millstream.events import summary_ops, writer_cache
from millstream.framework import log, ops, random_seed
from millstream.ops.metrics import metrics as metrics_lib
from millstream.ops.flow import control_flow_ops
from millstream.platform.local_files import local_path
from millstream.training import (basic_session_run_hooks, checkpoint_management, checkpoint_utils, device_setter, monitored_session,
                                 saver as saver_lib, saver_hooks, session_run_hook, training_util)

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.estimators.run_config import RunConfig


class _StopAfter(session_run_hook.SessionRunHook):
    """Ends a loop after so many runs."""

    def __init__(self, runs):
        self._left = runs

    def after_run(self, run_context, run_values):
        self._left -= 1
        if self._left <= 0:
            run_context.request_stop()


def _arguments(fn):
    if hasattr(fn, "func"):  # functools.partial
        return [name for name in _arguments(fn.func) if name not in fn.keywords]
    return list(inspect.signature(fn).parameters)


def _check_hooks(hooks):
    hooks = list(hooks or [])
    for hook in hooks:
        if not isinstance(hook, session_run_hook.SessionRunHook):
            raise TypeError(f"All hooks must be `SessionRunHook` instances, given: {hook}")
    return hooks


def scalar_results(result):
    """The metrics of an evaluation that are single numbers, as (name, value)."""
    return [(name, float(value)) for name, value in result.items()
            if name != ops.GraphKeys.GLOBAL_STEP and np.ndim(value) == 0 and np.issubdtype(np.asarray(value).dtype, np.number)]


class Estimator:
    """Builds a graph of its own for each call; what was learned is in the checkpoints of `model_dir`."""

    def __init__(self, model_fn: Any, model_dir: Any = None, config: Any = None, params: Any = None,
                 warm_start_from: Any = None) -> None:
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        names = _arguments(model_fn)
        if "features" not in names:
            raise ValueError(f"model_fn ({model_fn}) must include features argument.")
        if params is not None and "params" not in names:
            raise ValueError(f"model_fn ({model_fn}) does not include params argument, but params ({params}) is passed to Estimator.")
        config = config if config is not None else run_config.RunConfig()
        if not isinstance(config, run_config.RunConfig):
            raise ValueError(f"config must be an instance of `RunConfig`, but provided {config}.")
        if model_dir and config.model_dir and model_dir != config.model_dir:
            raise ValueError(f"`model_dir` are set both in constructor and `RunConfig`, but with different values. In constructor: "
                             f"'{model_dir}', in `RunConfig`: '{config.model_dir}' ")
        model_dir = model_dir or config.model_dir
        if not model_dir:
            model_dir = tempfile.mkdtemp()
            log.warning("Using temporary folder as model directory: %s", model_dir)
        self._config = config.replace(model_dir=model_dir)
        if not isinstance(warm_start_from, (str, WarmStartSettings, type(None))):
            raise ValueError("warm_start_from must be a string or a WarmStartSettings, instead got {}".format(type(warm_start_from)))
        self._model_fn, self._params, self._warm_start_from = model_fn, copy.deepcopy(params or {}), warm_start_from

    @property
    def model_dir(self) -> str:
        return self._config.model_dir

    @property
    def config(self) -> RunConfig:
        return self._config

    @property
    def params(self) -> Any:
        return copy.deepcopy(self._params)

    @property
    def model_fn(self) -> Any:
        return lambda features, labels, mode, config: self._call_model_fn(features, labels, mode, config)

    def latest_checkpoint(self) -> Optional[str]:
        return checkpoint_management.latest_checkpoint(self.model_dir)

    def get_variable_names(self) -> list[str]:
        return [name for name, _ in checkpoint_utils.list_variables(self._trained())]

    def get_variable_value(self, name: str) -> Any:
        return checkpoint_utils.load_variable(self._trained(), name)

    def eval_dir(self, name: Optional[str] = None) -> str:
        return os.path.join(self.model_dir, "eval" if not name else "eval_" + name)

    def _trained(self):
        path = self.latest_checkpoint()
        if not path:
            raise ValueError(f"Could not find trained model in model_dir: {self.model_dir}.")
        return path

    # Graphs.

    def _device(self):
        config = self._config
        if config.device_fn:
            return config.device_fn
        if config.num_ps_replicas > 0:
            return device_setter.replica_device_setter(
                ps_tasks=config.num_ps_replicas, worker_device=f"/job:{config.task_type}/task:{config.task_id}", merge_devices=True,
                cluster=config.cluster_spec)
        return None

    def _strategy(self, mode):
        """The strategy that says on which devices a model is built; in a cluster with ps tasks, _device() does."""
        strategy = {ModeKeys.TRAIN: self._config.train_distribute, ModeKeys.EVAL: self._config.eval_distribute}.get(mode)
        alone = not self._config.cluster_spec.as_dict()
        return strategy if alone or run_config.reduces_among_workers(strategy) else None

    def _input(self, input_fn, mode, input_context=None):
        """What the program's function gives: a dataset or tensors."""
        names = _arguments(input_fn)
        given = {"mode": mode, "params": self.params, "config": self.config, "input_context": input_context}
        with ops.device("/cpu:0"):
            return input_fn(**{k: v for k, v in given.items() if k in names})

    def _call_input_fn(self, input_fn, mode):
        input_context = None
        if self._strategy(mode) is not None:
            from millstream.strategies import input_lib
            input_context = input_lib.InputContext()
        result = self._input(input_fn, mode, input_context)
        if isinstance(result, dataset_ops.Dataset):
            with ops.device("/cpu:0"):
                iterator = result.make_initializable_iterator()
                ops.add_to_collection(ops.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
                result = iterator.get_next()
        return self._features_and_labels(result, mode)

    @staticmethod
    def _features_and_labels(result, mode):
        if isinstance(result, (list, tuple)) and mode != ModeKeys.PREDICT:
            if len(result) != 2:
                raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
            return result
        if isinstance(result, (list, tuple)) and len(result) == 2:
            return result[0], None  # labels are of no use to predictions
        return result, None

    def _call_model_fn(self, features, labels, mode, config, in_replica=False):
        names = _arguments(self._model_fn)
        given = {}
        if "labels" in names:
            given["labels"] = labels
        elif labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        given.update({k: v for k, v in (("mode", mode), ("params", self.params), ("config", config)) if k in names})
        log.info("Calling model_fn.")
        strategy = None if in_replica else self._strategy(mode)
        if strategy is None:
            spec = self._model_fn(features=features, **given)
        else:
            with strategy.scope():
                spec = strategy.extended.call_for_each_replica(self._model_fn, kwargs={"features": features, **given})
        log.info("Done calling model_fn.")
        if not isinstance(spec, EstimatorSpec):
            raise ValueError("model_fn should return an EstimatorSpec.")
        return spec

    def _build(self, graph, input_fn, mode):
        random_seed.set_random_seed(self._config.tf_random_seed)
        step = training_util.create_global_step(graph)
        features, labels = self._call_input_fn(input_fn, mode)
        return step, self._call_model_fn(features, labels, mode, self.config)

    # Training.

    def train(self, input_fn: Any, hooks: Any = None, steps: Any = None, max_steps: Any = None,
              saving_listeners: Any = None) -> Any:
        if self._config.task_type in (run_config.TaskType.EVALUATOR, run_config.TaskType.PS):
            raise ValueError(f"Train has been called wrong configuration. Please use tf.estimator.train_and_evaluate which calls proper "
                             f"API according to given configuration. Current configuration: {self._config.task_type}.")
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        hooks = _check_hooks(hooks)
        if max_steps is not None:
            if self._saved_step() >= max_steps:
                log.info("Skipping training since max_steps has already saved.")
                return self
            hooks.append(basic_session_run_hooks.StopAtStepHook(last_step=max_steps))
        elif steps is not None:
            hooks.append(basic_session_run_hooks.StopAtStepHook(num_steps=steps))
        loss = self._train(input_fn, hooks, list(saving_listeners or []))
        log.info("Loss for final step: %s.", loss)
        return self

    def _saved_step(self):
        path = self.latest_checkpoint()
        return int(checkpoint_utils.load_variable(path, ops.GraphKeys.GLOBAL_STEP)) if path else 0

    def _train(self, input_fn, hooks, saving_listeners):
        writer_cache.FileWriterCache.clear()
        strategy = self._strategy(ModeKeys.TRAIN)
        several = strategy is not None and strategy.num_replicas_in_sync > 1
        with ops.Graph().as_default() as graph, graph.device(None if several else self._device()):
            if several:
                step, spec = distributed.build(self, strategy, graph, input_fn)
            else:
                step, spec = self._build(graph, input_fn, ModeKeys.TRAIN)
            if self._warm_start_from is not None:
                self._warm_start()
            if not any(t.op.name.endswith("loss") and t.op.type == "ScalarSummary" for t in
                       ops.get_collection(ops.GraphKeys.SUMMARIES) if hasattr(t, "op")):
                summary_ops.scalar("loss", spec.loss)
            ops.add_to_collection(ops.GraphKeys.LOSSES, spec.loss)
            every = self._config.log_step_count_steps
            all_hooks = [basic_session_run_hooks.NanTensorHook(spec.loss)] + hooks
            if every:
                all_hooks.append(basic_session_run_hooks.LoggingTensorHook({"loss": spec.loss, "step": step}, every_n_iter=every))
            all_hooks.extend(spec.training_hooks)
            self._make_saver(spec.scaffold)
            chief_hooks = list(spec.training_chief_hooks) + self._saving(all_hooks + list(spec.training_chief_hooks), spec.scaffold,
                                                                         saving_listeners)
            loss = None
            settings = dict(
                master=self._config.master, is_chief=self._config.is_chief, checkpoint_dir=self.model_dir, scaffold=spec.scaffold,
                hooks=all_hooks, chief_only_hooks=chief_hooks, save_checkpoint_secs=0, save_summaries_steps=self._config.save_summary_steps,
                config=self._config.session_config, max_wait_secs=self._config.session_creation_timeout_secs, log_step_count_steps=every)
            if several:
                distributed.adapt_session(strategy, settings)
            with monitored_session.MonitoredTrainingSession(**settings) as session:
                while not session.should_stop():
                    _, loss = session.run([spec.train_op, spec.loss])
            return loss

    def _make_saver(self, scaffold):
        if scaffold.saver is None and not ops.get_collection(ops.GraphKeys.SAVERS):
            ops.add_to_collection(ops.GraphKeys.SAVERS, saver_lib.Saver(
                sharded=True, max_to_keep=self._config.keep_checkpoint_max, defer_build=True, save_relative_paths=True,
                keep_checkpoint_every_n_hours=self._config.keep_checkpoint_every_n_hours))

    def _saving(self, hooks, scaffold, listeners):
        """A hook that saves, unless the program brings its own; that one gets the listeners."""
        existing = [h for h in hooks if isinstance(h, saver_hooks.CheckpointSaverHook)]
        if existing:
            for listener in listeners:
                existing[0]._listeners.append(listener)
            return []
        secs, steps = self._config.save_checkpoints_secs, self._config.save_checkpoints_steps
        if not secs and not steps:
            if listeners:
                raise ValueError("There should be a CheckpointSaverHook to use saving_listeners. Please set one of the "
                                 "RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs.")
            return []
        _core.make_folders(os.fspath(self.model_dir))
        return [saver_hooks.CheckpointSaverHook(self.model_dir, save_secs=secs, save_steps=steps, scaffold=scaffold, listeners=listeners,
                                                save_graph_def=self._config.checkpoint_save_graph_def)]

    def _warm_start(self):
        """Variables that the other checkpoint has begin with its values."""
        from millstream.training import warm_starting
        source = self._warm_start_from
        if isinstance(source, str):
            known = {name for name, _ in checkpoint_utils.list_variables(source)}
            warm_starting.warm_start(source, [n for n in warm_starting.trainable_names() if n in known])
        else:
            warm_starting.warm_start(*source)

    # Evaluation.

    def evaluate(self, input_fn: Any, steps: Any = None, hooks: Any = None, checkpoint_path: Any = None,
                 name: Optional[str] = None) -> Any:
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        hooks = _check_hooks(hooks)
        if steps is not None:
            hooks.append(_StopAfter(steps))
        path = checkpoint_path or self.latest_checkpoint()
        if not path:
            log.info("Could not find trained model in model_dir: %s, running initialization to evaluate.", self.model_dir)
        with ops.Graph().as_default() as graph:
            step, spec = self._build(graph, input_fn, ModeKeys.EVAL)
            update, values = self._metrics(spec, step)
            final = basic_session_run_hooks.FinalOpsHook(values)
            creator = monitored_session.ChiefSessionCreator(
                scaffold=spec.scaffold, checkpoint_filename_with_path=path, master=self._config.evaluation_master,
                config=self._config.session_config)
            with monitored_session.MonitoredSession(creator, hooks + list(spec.evaluation_hooks) + [final]) as session:
                while not session.should_stop():
                    session.run(update)
        result = final.final_ops_values
        log.info("Saving dict for global step %d: %s", result[ops.GraphKeys.GLOBAL_STEP],
                 ", ".join(f"{k} = {v}" for k, v in sorted(result.items())))
        self._write_results(self.eval_dir(name), result)
        return result

    @staticmethod
    def _metrics(spec, step):
        pairs = dict(spec.eval_metric_ops)
        if "loss" in pairs:
            raise ValueError("Metric with name \"loss\" is not allowed, because Estimator already defines a default metric with the "
                             "same name.")
        pairs["loss"] = metrics_lib.mean(spec.loss)
        values = {name: value for name, (value, _) in pairs.items()}
        values[ops.GraphKeys.GLOBAL_STEP] = step
        return control_flow_ops.group(*[update for _, update in pairs.values()]), values

    @staticmethod
    def _write_results(folder, result):
        from millstream.proto import summary_pb2
        summary = summary_pb2.Summary()
        for name, value in scalar_results(result):
            summary.value.add(tag=name, simple_value=value)
        writer = writer_cache.FileWriterCache.get(folder)
        writer.add_summary(summary, int(result[ops.GraphKeys.GLOBAL_STEP]))
        writer.flush()

    # Predictions.

    def predict(self, input_fn, predict_keys=None, hooks=None, checkpoint_path=None, yield_single_examples=True):
        hooks = _check_hooks(hooks)
        path = checkpoint_path or self.latest_checkpoint()
        if not path:
            log.info("Could not find trained model in model_dir: %s, running initialization to predict.", self.model_dir)
        with ops.Graph().as_default() as graph:
            _, spec = self._build(graph, input_fn, ModeKeys.PREDICT)
            wanted = self._wanted(spec.predictions, predict_keys)
            creator = monitored_session.ChiefSessionCreator(scaffold=spec.scaffold, checkpoint_filename_with_path=path,
                                                            master=self._config.master, config=self._config.session_config)
            with monitored_session.MonitoredSession(creator, hooks + list(spec.prediction_hooks)) as session:
                while not session.should_stop():
                    batch = session.run(wanted)
                    if not yield_single_examples:
                        yield batch
                    elif not isinstance(batch, dict):
                        yield from batch
                    else:
                        sizes = {len(v) for v in batch.values()}
                        if len(sizes) != 1:
                            raise ValueError("Batch length of predictions should be same. " + ", ".join(
                                f"{k} has batch length {len(v)}" for k, v in batch.items()))
                        for i in range(sizes.pop()):
                            yield {k: v[i] for k, v in batch.items()}

    @staticmethod
    def _wanted(predictions, keys):
        if not keys:
            return predictions
        if not isinstance(predictions, dict):
            raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
        wanted = {k: v for k, v in predictions.items() if k in keys}
        if not wanted:
            raise ValueError(f"Expected to run at least one output from {list(predictions)}, provided {keys}.")
        return wanted

    # Export.

    def export_saved_model(self, export_dir_base: Any, serving_input_receiver_fn: Any, assets_extra: Any = None,
                           as_text: bool = False, checkpoint_path: Any = None,
                           experimental_mode: Any = ModeKeys.PREDICT) -> bytes:
        return self._export(export_dir_base, serving_input_receiver_fn, assets_extra, as_text, checkpoint_path, experimental_mode,
                            strip_default_attrs=True)

    def export_savedmodel(self, export_dir_base: Any, serving_input_receiver_fn: Any, assets_extra: Any = None,
                          as_text: bool = False, checkpoint_path: Any = None, strip_default_attrs: bool = False) -> bytes:
        return self._export(export_dir_base, serving_input_receiver_fn, assets_extra, as_text, checkpoint_path, ModeKeys.PREDICT,
                            strip_default_attrs)

    def _export(self, base, receiver_fn, assets_extra, as_text, checkpoint_path, mode, strip_default_attrs):
        from millstream.client import session as session_lib
        from millstream.savedmodel import constants, saved_model
        if receiver_fn is None:
            raise ValueError("An input_receiver_fn must be defined.")
        if mode != ModeKeys.PREDICT:
            raise ValueError("Only models for predictions can be exported.")
        path = checkpoint_path or self._trained()
        folder = _timestamped(base)
        aside = os.path.join(os.path.dirname(folder), "temp-" + os.path.basename(folder))
        with ops.Graph().as_default() as graph:
            training_util.create_global_step(graph)
            random_seed.set_random_seed(self._config.tf_random_seed)
            receiver = receiver_fn()
            spec = self._call_model_fn(receiver.features, None, ModeKeys.PREDICT, self.config)
            signatures = export.signature_defs(receiver, spec.export_outputs)
            with session_lib.Session(config=self._config.session_config) as session:
                (spec.scaffold.saver or saver_lib.Saver(sharded=True)).restore(session, path)
                main_op = spec.scaffold.local_init_op or monitored_session.Scaffold.default_local_init_op()
                builder = saved_model.SavedModelBuilder(aside)
                builder.add_meta_graph_and_variables(session, [constants.SERVING], signatures, main_op=main_op, clear_devices=True,
                                                     strip_default_attrs=strip_default_attrs,
                                                     assets_collection=ops.get_collection(ops.GraphKeys.ASSET_FILEPATHS))
                builder.save(as_text)
        _copy_extra_assets(aside, assets_extra)
        os.rename(local_path(aside), local_path(folder))
        return folder.encode()


def _timestamped(base):
    """A folder below `base` that is not there yet, named by the time in seconds."""
    while True:
        folder = os.path.join(os.fspath(base) if not isinstance(base, bytes) else base.decode(), str(int(time.time())))
        if not os.path.exists(local_path(folder)):
            os.makedirs(os.path.dirname(local_path(folder)), exist_ok=True)
            return folder
        time.sleep(0.1)


def _copy_extra_assets(folder, assets):
    import shutil
    for name, source in (assets or {}).items():
        target = os.path.join(folder, "assets.extra", name)
        os.makedirs(os.path.dirname(local_path(target)), exist_ok=True)
        shutil.copyfile(local_path(source), local_path(target))
