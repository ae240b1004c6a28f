# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.estimator's hooks that end a training when evaluations no longer get better."""
from __future__ import annotations

import collections
import glob
import operator
import os
from typing import TYPE_CHECKING

from millstream.framework import dtypes, log, ops
from millstream.ops.variables import init_ops
from millstream.ops.variables import variable_scope as vs
from millstream.platform.local_files import local_path
from millstream.training import basic_session_run_hooks, session_run_hook, training_util

if TYPE_CHECKING:
    from typing import Any


def read_eval_metrics(eval_dir):
    """{step: {metric: value}} of the event files of a folder, by step."""
    from millstream.events import writer
    found = {}
    for path in sorted(glob.glob(os.path.join(local_path(eval_dir), "*tfevents*"))):
        for event in writer.summary_iterator(path):
            values = {v.tag: v.simple_value for v in event.summary.value if v.HasField("simple_value")}
            if values:
                found.setdefault(event.step, {}).update(values)
    return collections.OrderedDict(sorted(found.items()))


def _stop_variable():
    with vs.variable_scope("signal_early_stopping", reuse=vs.AUTO_REUSE):
        return vs.get_variable("STOP", shape=[], dtype=dtypes.bool, initializer=init_ops.Constant(False), trainable=False,
                               collections=[ops.GraphKeys.GLOBAL_VARIABLES])


class _Stop(session_run_hook.SessionRunHook):
    """The chief asks from time to time whether to stop; the variable tells the other workers."""

    def __init__(self, should_stop_fn, is_chief, run_every_secs, run_every_steps):
        self._should_stop, self._is_chief = should_stop_fn, is_chief
        self._timer = basic_session_run_hooks.SecondOrStepTimer(every_secs=run_every_secs, every_steps=run_every_steps)

    def begin(self):
        self._step, self._variable = training_util.get_global_step(), _stop_variable()
        self._set = self._variable.assign(True)
        self._timer.reset()

    def before_run(self, run_context):
        return session_run_hook.SessionRunArgs({"step": self._step, "stop": self._variable})

    def after_run(self, run_context, run_values):
        step = run_values.results["step"]
        if run_values.results["stop"]:
            log.info("Early stopping requested, suspending run.")
            run_context.request_stop()
        elif self._is_chief and self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._should_stop():
                log.info("Requesting early stopping at global step %d", step)
                run_context.session.run(self._set)
                run_context.request_stop()


def make_early_stopping_hook(estimator: Any, should_stop_fn: Any, run_every_secs: Any = 60, run_every_steps: Any = None) -> Any:
    if run_every_secs is not None and run_every_steps is not None:
        raise ValueError("Only one of `run_every_secs` and `run_every_steps` must be set.")
    return _Stop(should_stop_fn, estimator.config.is_chief, run_every_secs, run_every_steps)


def _from_evaluations(estimator, eval_dir, metric_name, min_steps, decide, run_every_secs, run_every_steps):
    folder = eval_dir or estimator.eval_dir()

    def should_stop():
        values = [(step, metrics[metric_name]) for step, metrics in read_eval_metrics(folder).items()
                  if step >= min_steps and metric_name in metrics]
        return decide(values)
    return make_early_stopping_hook(estimator, should_stop, run_every_secs, run_every_steps)


def _no_better(better, max_steps):
    def decide(values):
        best = best_step = None
        for step, value in values:
            if best is None or better(value, best):
                best, best_step = value, step
            if step - best_step >= max_steps:
                return True
        return False
    return decide


def stop_if_no_increase_hook(estimator: Any, metric_name: Any, max_steps_without_increase: Any, eval_dir: Any = None,
                             min_steps: Any = 0, run_every_secs: Any = 60, run_every_steps: Any = None) -> Any:
    return _from_evaluations(estimator, eval_dir, metric_name, min_steps, _no_better(operator.gt, max_steps_without_increase),
                             run_every_secs, run_every_steps)


def stop_if_no_decrease_hook(estimator: Any, metric_name: Any, max_steps_without_decrease: Any, eval_dir: Any = None,
                             min_steps: Any = 0, run_every_secs: Any = 60, run_every_steps: Any = None) -> Any:
    return _from_evaluations(estimator, eval_dir, metric_name, min_steps, _no_better(operator.lt, max_steps_without_decrease),
                             run_every_secs, run_every_steps)


def stop_if_higher_hook(estimator: Any, metric_name: Any, threshold: Any, eval_dir: Any = None, min_steps: Any = 0,
                        run_every_secs: Any = 60, run_every_steps: Any = None) -> Any:
    return _from_evaluations(estimator, eval_dir, metric_name, min_steps, lambda values: any(v > threshold for _, v in values),
                             run_every_secs, run_every_steps)


def stop_if_lower_hook(estimator: Any, metric_name: Any, threshold: Any, eval_dir: Any = None, min_steps: Any = 0,
                       run_every_secs: Any = 60, run_every_steps: Any = None) -> Any:
    return _from_evaluations(estimator, eval_dir, metric_name, min_steps, lambda values: any(v < threshold for _, v in values),
                             run_every_secs, run_every_steps)
