# SPDX-License-Identifier: Apache-2.0
"""train_and_evaluate: one program for every task of a cluster (TF_CONFIG), or for one process."""
from __future__ import annotations

import collections
import time
from typing import TYPE_CHECKING

from millstream import _core
from millstream.client import session
from millstream.estimators.estimator import scalar_results
from millstream.estimators.run_config import TaskType, reduces_among_workers
from millstream.framework import errors, log
from millstream.training import saver_hooks, server_lib

if TYPE_CHECKING:
    from typing import Any, Optional

_MAX_DELAY_SECS = 60
_DELAY_PER_WORKER_SECS = 5
_PS_START_SECS = 20


class TrainSpec(collections.namedtuple("TrainSpec", "input_fn max_steps hooks saving_listeners")):
    """What train_and_evaluate trains with: input function, number of steps, hooks."""

    def __new__(cls, input_fn, max_steps=None, hooks=None, saving_listeners=None):
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        return super().__new__(cls, input_fn, max_steps, tuple(hooks or ()), tuple(saving_listeners or ()))


class EvalSpec(collections.namedtuple("EvalSpec", "input_fn steps name hooks exporters start_delay_secs throttle_secs")):
    """What train_and_evaluate evaluates with, how long and how often."""

    def __new__(cls, input_fn, steps=100, name=None, hooks=None, exporters=None, start_delay_secs=120, throttle_secs=600):
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if start_delay_secs < 0 or throttle_secs < 0:
            raise ValueError("Must specify start_delay_secs >= 0 and throttle_secs >= 0")
        exporters = () if exporters is None else tuple(exporters) if isinstance(exporters, (list, tuple)) else (exporters,)
        return super().__new__(cls, input_fn, steps, name, tuple(hooks or ()), exporters, start_delay_secs, throttle_secs)


def _evaluate(estimator, spec, max_steps):
    result = estimator.evaluate(spec.input_fn, steps=spec.steps, hooks=spec.hooks, name=spec.name)
    final = bool(max_steps) and result["global_step"] >= max_steps
    exported = [e.export(estimator, f"{estimator.model_dir}/export/{e.name}", estimator.latest_checkpoint(), result, final)
                for e in spec.exporters]
    return result, exported


class _EvaluateNewCheckpoints(saver_hooks.CheckpointSaverListener):
    """Evaluates what the training of the same process saves, not more often than every `throttle_secs`."""

    def __init__(self, estimator, spec, max_steps):
        self._estimator, self._spec, self._max_steps = estimator, spec, max_steps
        self._next, self.result, self._evaluated = None, None, None

    def begin(self):
        self._next = time.time() + self._spec.throttle_secs

    def after_save(self, session, global_step_value):
        if time.time() >= self._next:
            self._run(global_step_value)

    def end(self, session, global_step_value):
        self._run(global_step_value)

    def _run(self, step):
        if step == self._evaluated:
            return
        self._evaluated, self.result = step, _evaluate(self._estimator, self._spec, self._max_steps)
        self._next = time.time() + self._spec.throttle_secs


def _train_locally(estimator, train_spec, eval_spec):
    listener = _EvaluateNewCheckpoints(estimator, eval_spec, train_spec.max_steps)
    estimator.train(train_spec.input_fn, max_steps=train_spec.max_steps, hooks=list(train_spec.hooks),
                    saving_listeners=list(train_spec.saving_listeners) + [listener])
    return listener.result if listener.result is not None else _evaluate(estimator, eval_spec, train_spec.max_steps)


def _tell_cluster(estimator, name, metrics):
    """An evaluator is no task of the cluster: it tells its results to the chief or the first worker, for the status page. Training may have
    ended by then, so failing to is no error."""
    cluster = estimator.config.cluster_spec
    job = next((job for job in (TaskType.CHIEF, TaskType.MASTER, TaskType.WORKER) if job in cluster.jobs), None)
    if job is None:
        return
    try:
        _core.send_evaluation(cluster.task_address(job, min(cluster.task_indices(job))), _core.evaluation_run(estimator.eval_dir(name)),
                              scalar_results(metrics), int(metrics["global_step"]))
    except errors.OpError as error:
        log.info("The status page does not have the results of this evaluation: %s", error.message)


def _evaluate_continuously(estimator, train_spec, eval_spec):
    """An evaluator's life: every new checkpoint once, until the last step is among them."""
    time.sleep(eval_spec.start_delay_secs)
    seen, result = None, None
    while True:
        begun, path = time.time(), estimator.latest_checkpoint()
        if path is not None and path != seen:
            seen, result = path, _evaluate(estimator, eval_spec, train_spec.max_steps)
            _tell_cluster(estimator, eval_spec.name, result[0])
            if train_spec.max_steps and result[0]["global_step"] >= train_spec.max_steps:
                return result
        elif path is None:
            log.info("Waiting for the first checkpoint in %s", estimator.model_dir)
        time.sleep(max(1.0, min(eval_spec.throttle_secs, 5) - (time.time() - begun)) if path == seen else
                   max(0, eval_spec.throttle_secs - (time.time() - begun)))


def _train_as_task(estimator, train_spec):
    config = estimator.config
    if config.task_type == TaskType.WORKER and not reduces_among_workers(config.train_distribute):
        most = config.experimental_max_worker_delay_secs
        delay = min(_MAX_DELAY_SECS if most is None else most, (config.task_id + 1) * _DELAY_PER_WORKER_SECS)
        if delay > 0:
            log.info("Waiting %d secs before starting training.", delay)
            time.sleep(delay)
    estimator.train(train_spec.input_fn, max_steps=train_spec.max_steps, hooks=list(train_spec.hooks),
                    saving_listeners=list(train_spec.saving_listeners))


def train_and_evaluate(estimator: Any, train_spec: Any, eval_spec: Any) -> Optional[tuple[Any, Any]]:
    """Does this task's share; in one process trains and evaluates in turn and returns the last (metrics, exports)."""
    config = estimator.config
    if not config.cluster_spec.as_dict():
        return _train_locally(estimator, train_spec, eval_spec)
    if config.task_type == TaskType.EVALUATOR:
        if config.task_id > 0:
            raise ValueError("For distributed training, there can only be one `evaluator` task (with task id 0). Given task id "
                             f"{config.task_id}")
        return _evaluate_continuously(estimator, train_spec, eval_spec)
    if config.task_type not in (TaskType.PS, TaskType.WORKER, TaskType.CHIEF, TaskType.MASTER):
        raise ValueError(f"Task type {config.task_type} is not supported. Supported task types are ['chief', 'worker', 'ps', 'evaluator'].")
    server = server_lib.Server(config.cluster_spec, job_name=config.task_type, task_index=config.task_id,
                               protocol=config.protocol, config=config.session_config)
    if config.task_type == TaskType.PS:
        server.join()
        return None
    server_lib.note_training(server.target)  # also if there is nothing to do: ps tasks need not wait for this one
    _train_as_task(estimator, train_spec)
    if server.target not in session.targets_used():
        _wait_for_ps(server.target)
    return None


def _wait_for_ps(target):
    """A task that found nothing to train reports to the ps tasks that it leaves when its program ends. They may start later than it: a ps
    that nobody reports to would wait for ever."""
    begin = time.monotonic()
    while server_lib.has_ps(target) and not server_lib.any_ps_answers(target) and time.monotonic() - begin < _PS_START_SECS:
        time.sleep(0.2)
