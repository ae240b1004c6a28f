# SPDX-License-Identifier: Apache-2.0
"""What an Estimator is told about its run: folders, intervals, and its place in a cluster (TF_CONFIG)."""
from __future__ import annotations

import copy
import json
import os
from typing import TYPE_CHECKING

from millstream.training import server_lib

if TYPE_CHECKING:
    from typing import Any


_DEFAULT_SECS = 600
_UNSET = object()
_REPLACEABLE = ("model_dir", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs", "session_config",
                "keep_checkpoint_max", "keep_checkpoint_every_n_hours", "log_step_count_steps", "device_fn", "protocol",
                "train_distribute", "eval_distribute", "experimental_distribute", "experimental_max_worker_delay_secs",
                "session_creation_timeout_secs", "checkpoint_save_graph_def")


class TaskType:
    MASTER, PS, WORKER, CHIEF, EVALUATOR = "master", "ps", "worker", "chief", "evaluator"


def _default_session_config(task_type, task_id):
    """Workers of one job do not look at each other: one that is late or gone does not delay the others."""
    from millstream.proto import config_pb2
    config = config_pb2.ConfigProto(allow_soft_placement=True)
    if task_type in (TaskType.CHIEF, TaskType.MASTER):
        config.device_filters.extend(["/job:ps", f"/job:{task_type}"])
    elif task_type == TaskType.WORKER:
        config.device_filters.extend(["/job:ps", f"/job:worker/task:{task_id}"])
    return config


def reduces_among_workers(strategy):
    """Such a job needs no chief besides its workers: the first of them is it."""
    if strategy is None:
        return False
    from millstream.strategies import multi_worker
    return isinstance(strategy, multi_worker.CollectiveAllReduceStrategy)


class RunConfig:
    """Holds the settings of an Estimator. Those of the cluster come from the environment variable TF_CONFIG."""

    def __init__(self, model_dir: Any = None, tf_random_seed: Any = None, save_summary_steps: Any = 100,
                 save_checkpoints_steps: Any = _UNSET, save_checkpoints_secs: Any = _UNSET, session_config: Any = None,
                 keep_checkpoint_max: Any = 5, keep_checkpoint_every_n_hours: Any = 10000, log_step_count_steps: Any = 100,
                 train_distribute: Any = None, device_fn: Any = None, protocol: Any = None, eval_distribute: Any = None,
                 experimental_distribute: Any = None, experimental_max_worker_delay_secs: Any = None,
                 session_creation_timeout_secs: Any = 7200, checkpoint_save_graph_def: bool = True) -> None:
        if save_checkpoints_steps is _UNSET and save_checkpoints_secs is _UNSET:
            save_checkpoints_steps, save_checkpoints_secs = None, _DEFAULT_SECS
        elif save_checkpoints_secs is _UNSET:
            save_checkpoints_secs = None
        elif save_checkpoints_steps is _UNSET:
            save_checkpoints_steps = None
        if save_checkpoints_steps is not None and save_checkpoints_secs is not None:
            raise ValueError("`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set.")
        if experimental_distribute is not None:
            raise NotImplementedError("`experimental_distribute` is not supported; use parameter servers (TF_CONFIG).")
        self._read_cluster(json.loads(os.environ.get("TF_CONFIG") or "{}"), reduces_among_workers(train_distribute))
        self._check_strategies(train_distribute, eval_distribute)
        self.model_dir = model_dir if model_dir is not None else self._tf_config.get("model_dir")
        self.tf_random_seed, self.save_summary_steps = tf_random_seed, save_summary_steps
        self.save_checkpoints_steps, self.save_checkpoints_secs = save_checkpoints_steps, save_checkpoints_secs
        self._session_config = session_config
        self.keep_checkpoint_max, self.keep_checkpoint_every_n_hours = keep_checkpoint_max, keep_checkpoint_every_n_hours
        self.log_step_count_steps, self.device_fn, self.protocol = log_step_count_steps, device_fn, protocol
        self.train_distribute, self.eval_distribute, self.experimental_distribute = train_distribute, eval_distribute, None
        self.experimental_max_worker_delay_secs = experimental_max_worker_delay_secs
        self.session_creation_timeout_secs = session_creation_timeout_secs
        self.checkpoint_save_graph_def = checkpoint_save_graph_def

    def _read_cluster(self, tf_config, workers_alone=False):
        self._tf_config = tf_config
        self.cluster_spec = server_lib.ClusterSpec(tf_config.get("cluster", {}))
        self.service = tf_config.get("service")
        task = tf_config.get("task", {})
        spec = self.cluster_spec.as_dict()
        self.task_type, self.task_id = task.get("type", TaskType.WORKER), int(task.get("index", 0))
        if not spec:
            if self.task_type == TaskType.EVALUATOR:
                raise ValueError("If `cluster` is not set in TF_CONFIG, task type must not be evaluator.")
            self.master = self.evaluation_master = ""
            self.num_ps_replicas, self.num_worker_replicas, self.is_chief, self.global_id_in_cluster = 0, 1, True, 0
            return
        if "type" not in task or "index" not in task:
            raise ValueError("If `cluster` is set in TF_CONFIG, a task with type and index is needed too.")
        workers_alone = workers_alone and TaskType.CHIEF not in spec and TaskType.MASTER not in spec and TaskType.WORKER in spec
        if TaskType.CHIEF not in spec and TaskType.MASTER not in spec and not workers_alone:
            raise ValueError("If `cluster` is set in TF_CONFIG, it must have one \"chief\" node.")
        if len(spec.get(TaskType.CHIEF, [])) > 1:
            raise ValueError("The \"cluster\" in TF_CONFIG must have only one \"chief\" node.")
        self.evaluation_master = ""
        self.is_chief = self.task_type in (TaskType.CHIEF, TaskType.MASTER) or (
            workers_alone and self.task_type == TaskType.WORKER and self.task_id == 0)
        self.num_ps_replicas = len(spec.get(TaskType.PS, []))
        self.num_worker_replicas = sum(len(spec.get(job, [])) for job in (TaskType.WORKER, TaskType.CHIEF, TaskType.MASTER))
        self.global_id_in_cluster = None if self.task_type in (TaskType.PS, TaskType.EVALUATOR) else (
            0 if self.is_chief else self.task_id if workers_alone else 1 + self.task_id)
        if self.task_type == TaskType.EVALUATOR:
            self.master, self.num_ps_replicas, self.num_worker_replicas = "", 0, 0
            return
        addresses = spec.get(self.task_type, [])
        if self.task_id >= len(addresses):
            raise ValueError(f"{self.task_id} is not a valid task_id for task_type {self.task_type} in the cluster_spec:\n{spec}")
        self.master = "grpc://" + addresses[self.task_id]

    def _check_strategies(self, train_distribute, eval_distribute):
        if train_distribute is not None or eval_distribute is not None:
            from millstream.strategies import refusals
            refusals.check_run_config("train_distribute", train_distribute, self.cluster_spec)
            refusals.check_run_config("eval_distribute", eval_distribute, self.cluster_spec)

    @property
    def session_config(self) -> Any:
        return self._session_config if self._session_config is not None else _default_session_config(self.task_type, self.task_id)

    @session_config.setter
    def session_config(self, value: Any) -> None:
        self._session_config = value

    def replace(self, **kwargs: Any) -> RunConfig:
        """The same with other values for some of the properties."""
        for name in kwargs:
            if name not in _REPLACEABLE:
                raise ValueError(f"Replacing {name} is not supported. Allowed properties are {list(_REPLACEABLE)}.")
        if kwargs.get("save_checkpoints_steps") is not None and kwargs.get("save_checkpoints_secs") is not None:
            raise ValueError("`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set.")
        if kwargs.get("experimental_distribute") is not None:
            raise NotImplementedError("`experimental_distribute` is not supported; use parameter servers (TF_CONFIG).")
        self._check_strategies(kwargs.get("train_distribute"), kwargs.get("eval_distribute"))
        new = copy.copy(self)
        if kwargs.get("save_checkpoints_steps") is not None:
            new.save_checkpoints_secs = None
        if kwargs.get("save_checkpoints_secs") is not None:
            new.save_checkpoints_steps = None
        for name, value in kwargs.items():
            setattr(new, name, value)
        return new
