# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.tpu for programs that run without TPUs: TPUEstimator(use_tpu=False) is an Estimator with batch sizes."""
from __future__ import annotations

import collections
import inspect
from typing import TYPE_CHECKING

from millstream.estimators import run_config
from millstream.estimators.estimator import Estimator
from millstream.estimators.model_fn import EstimatorSpec, ModeKeys
from millstream.ops.arguments import unsupported
from millstream.training import session_run_hook

if TYPE_CHECKING:
    from typing import Any, Optional

_NO_TPU = "There are no TPUs here: use_tpu must be False."


class InputPipelineConfig:
    PER_SHARD_V1, PER_HOST_V1, PER_HOST_V2, BROADCAST, SLICED = 1, 2, 3, 4, 5


class TPUConfig(collections.namedtuple("TPUConfig", (
        "iterations_per_loop num_shards num_cores_per_replica per_host_input_for_training tpu_job_name initial_infeed_sleep_secs "
        "input_partition_dims eval_training_input_configuration"))):
    def __new__(cls, iterations_per_loop=2, num_shards=None, num_cores_per_replica=None, per_host_input_for_training=True,
                tpu_job_name=None, initial_infeed_sleep_secs=None, input_partition_dims=None,
                eval_training_input_configuration=InputPipelineConfig.PER_HOST_V1, experimental_host_call_every_n_steps=1):
        del experimental_host_call_every_n_steps  # without TPUs it is called in every step
        return super().__new__(cls, iterations_per_loop, num_shards, num_cores_per_replica, per_host_input_for_training, tpu_job_name,
                               initial_infeed_sleep_secs, input_partition_dims, eval_training_input_configuration)


class RunConfig(run_config.RunConfig):
    """A RunConfig that keeps what only TPUs would use."""

    def __init__(self, tpu_config: Any = None, evaluation_master: Any = None, master: Optional[str] = None, cluster: Any = None,
                 **kwargs: Any) -> None:
        if cluster is not None:
            raise ValueError(_NO_TPU)
        super().__init__(**kwargs)
        self.tpu_config, self.cluster = tpu_config or TPUConfig(), None
        if master:
            self.master = master
        if evaluation_master:
            self.evaluation_master = evaluation_master


class _RunBeside(session_run_hook.SessionRunHook):
    """Runs tensors with every step."""

    def __init__(self, tensors):
        self._tensors = tensors

    def before_run(self, run_context):
        return session_run_hook.SessionRunArgs(self._tensors)


class TPUEstimatorSpec(collections.namedtuple("TPUEstimatorSpec", (
        "mode predictions loss train_op eval_metrics export_outputs scaffold_fn host_call training_hooks evaluation_hooks "
        "prediction_hooks"))):
    """eval_metrics is (function, its tensors as a list or dict)."""

    def __new__(cls, mode, predictions=None, loss=None, train_op=None, eval_metrics=None, export_outputs=None, scaffold_fn=None,
                host_call=None, training_hooks=None, evaluation_hooks=None, prediction_hooks=None):
        return super().__new__(cls, mode, predictions, loss, train_op, eval_metrics, export_outputs, scaffold_fn, host_call,
                               training_hooks, evaluation_hooks, prediction_hooks)

    def _hooks(self):
        """What the model asks to be run on the host: in every step, after it."""
        if self.host_call is None:
            return ()
        function, tensors = self.host_call
        result = function(**tensors) if isinstance(tensors, dict) else function(*tensors)
        return (_RunBeside(result),)

    def as_estimator_spec(self) -> Any:
        metrics = None
        if self.eval_metrics is not None and self.mode == ModeKeys.EVAL:
            function, tensors = self.eval_metrics
            metrics = function(**tensors) if isinstance(tensors, dict) else function(*tensors)
        scaffold, hooks = self.scaffold_fn() if self.scaffold_fn is not None else None, self._hooks()
        return EstimatorSpec(self.mode, predictions=self.predictions, loss=self.loss, train_op=self.train_op, eval_metric_ops=metrics,
                             export_outputs=self.export_outputs, scaffold=scaffold, training_hooks=(*(self.training_hooks or ()), *hooks),
                             evaluation_hooks=(*(self.evaluation_hooks or ()), *hooks),
                             prediction_hooks=(*(self.prediction_hooks or ()), *hooks))


class TPUEstimator(Estimator):
    """params["batch_size"] is the batch size of what is being done."""

    def __init__(self, model_fn: Any = None, model_dir: Any = None, config: Any = None, params: Any = None,
                 use_tpu: bool = True, train_batch_size: Any = None, eval_batch_size: Any = None,
                 predict_batch_size: Any = None, batch_axis: Any = None, eval_on_tpu: bool = True, export_to_tpu: bool = True,
                 warm_start_from: Any = None, embedding_config_spec: Any = None, export_to_cpu: bool = True,
                 export_saved_model_api_version: Any = None) -> None:
        if use_tpu:
            raise ValueError(_NO_TPU)
        unsupported("TPUEstimator", embedding_config_spec=embedding_config_spec)
        if params is not None and "batch_size" in params:
            raise ValueError("batch_size are reserved keys by TPUEstimator.")
        names = inspect.signature(model_fn).parameters
        self._sizes = {ModeKeys.TRAIN: train_batch_size, ModeKeys.EVAL: eval_batch_size, ModeKeys.PREDICT: predict_batch_size}

        def adapted(features, labels, mode, params, config):
            given = {"labels": labels, "mode": mode, "params": self._with_size(params, mode), "config": config}
            made = model_fn(features, **{k: v for k, v in given.items() if k in names})
            return made.as_estimator_spec() if isinstance(made, TPUEstimatorSpec) else made
        super().__init__(adapted, model_dir, config, params or {}, warm_start_from)

    def _with_size(self, params, mode):
        size = self._sizes.get(mode)
        return params if size is None else {**params, "batch_size": size}

    def _call_input_fn(self, input_fn, mode):
        names = list(inspect.signature(input_fn).parameters)
        if names and "params" not in names and len(names) == 1:
            return super()._call_input_fn(lambda: input_fn(self._with_size(self.params, mode)), mode)
        if "params" in names:
            given = {"mode": mode, "config": self.config}
            rest = {k: v for k, v in given.items() if k in names}
            return super()._call_input_fn(lambda: input_fn(params=self._with_size(self.params, mode), **rest), mode)
        return super()._call_input_fn(input_fn, mode)


class CrossShardOptimizer:
    def __init__(self, *args, **kwargs):
        raise ValueError(_NO_TPU)


class TPUClusterResolver:
    def __init__(self, *args, **kwargs):
        raise ValueError(_NO_TPU)
