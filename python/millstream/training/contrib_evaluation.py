# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.training and tf.contrib.slim.evaluation: checkpoints evaluated once, or as they appear."""
from __future__ import annotations

import time
from typing import TYPE_CHECKING

from millstream.framework import dtypes, log, ops
from millstream.events import summary_ops, writer as writer_lib
from millstream.ops.variables import init_ops, state_ops, variable_scope as vs
from millstream.training import (basic_session_run_hooks, checkpoint_management, checkpoint_utils, monitored_session,
                                 saver as saver_lib, session_run_hook, training_util)

if TYPE_CHECKING:
    from typing import Any


_USE_DEFAULT = 0


def get_or_create_eval_step() -> Any:
    """The variable that counts evaluation steps."""
    found = ops.get_collection(ops.GraphKeys.EVAL_STEP)
    if len(found) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if found:
        return found[0]
    return vs.get_variable("eval_step", shape=[], dtype=dtypes.int64, initializer=init_ops.Zeros(), trainable=False,
                           collections=[ops.GraphKeys.LOCAL_VARIABLES, ops.GraphKeys.EVAL_STEP])


class StopAfterNEvalsHook(session_run_hook.SessionRunHook):
    """Ends after so many evaluation steps; evaluate_once() counts them."""

    def __init__(self, num_evals: Any, log_progress: bool = True) -> None:
        self._num_evals, self._log, self._step = num_evals, log_progress, None

    def _set_evals_completed_tensor(self, updated_eval_step):
        self._step = updated_eval_step

    def before_run(self, run_context):
        return session_run_hook.SessionRunArgs({"evals_completed": self._step})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        done = run_values.results["evals_completed"]
        if self._log:
            log.info("Evaluation [%d]" % done if self._num_evals is None else "Evaluation [%d/%d]" % (done, self._num_evals))
        if self._num_evals is not None and done >= self._num_evals:
            run_context.request_stop()


class SummaryAtEndHook(session_run_hook.SessionRunHook):
    """Writes summaries when the evaluation has ended."""

    def __init__(self, log_dir: Any = None, summary_writer: Any = None, summary_op: Any = None, feed_dict: Any = None) -> None:
        if summary_writer is not None and log_dir:
            raise ValueError("log_dir and summary_writer cannot both be provided")
        self._log_dir, self._writer, self._summary_op, self._feed = log_dir, summary_writer, summary_op, feed_dict or {}
        self._replace, self._step = summary_op is None, None

    def begin(self):
        if self._replace:
            self._summary_op = summary_ops.merge_all()
        if self._writer is None and self._log_dir:
            self._writer = writer_lib.FileWriter(self._log_dir)
        self._step = training_util.get_or_create_global_step()

    def end(self, session: Any) -> None:
        if self._writer is None:
            return
        if self._summary_op is not None:
            self._writer.add_summary(session.run(self._summary_op, self._feed), session.run(self._step))
        self._writer.flush()


def wait_for_new_checkpoint(checkpoint_dir: str, last_checkpoint: Any = None, seconds_to_sleep: Any = 1,
                            timeout: Any = None) -> Any:
    """The newest checkpoint once it is another than `last_checkpoint`; None after `timeout` seconds."""
    log.info("Waiting for new checkpoint at %s", checkpoint_dir)
    deadline = None if timeout is None else time.time() + timeout
    while True:
        path = checkpoint_management.latest_checkpoint(checkpoint_dir)
        if path is not None and path != last_checkpoint:
            return path
        if deadline is not None and time.time() + seconds_to_sleep > deadline:
            return None
        time.sleep(seconds_to_sleep)


def _with_step(eval_ops, hooks):
    step = get_or_create_eval_step()
    counted = state_ops.assign_add(step, 1, use_locking=True)
    if isinstance(eval_ops, dict):
        eval_ops = {**eval_ops, "update_eval_step": counted}
    elif eval_ops is None:
        eval_ops = [counted]
    else:
        eval_ops = (list(eval_ops) if isinstance(eval_ops, (list, tuple)) else [eval_ops]) + [counted]
    with ops.control_dependencies([counted]):
        now = ops.convert_to_tensor(step) if not hasattr(step, "read_value") else step.read_value()
    for hook in hooks:
        if hasattr(hook, "_set_evals_completed_tensor"):
            hook._set_evals_completed_tensor(now)
    return eval_ops


def _evaluate(path, master, scaffold, eval_ops, feed_dict, final_ops, final_feed, hooks, config):
    creator = monitored_session.ChiefSessionCreator(scaffold=scaffold, checkpoint_filename_with_path=path, master=master, config=config)
    final = basic_session_run_hooks.FinalOpsHook(final_ops, final_feed)
    with monitored_session.MonitoredSession(creator, hooks + [final]) as session:
        while eval_ops is not None and not session.should_stop():
            session.run(eval_ops, feed_dict)
    return final.final_ops_values


def evaluate_once(checkpoint_path: Any, master: str = "", scaffold: Any = None, eval_ops: Any = None, feed_dict: Any = None,
                  final_ops: Any = None, final_ops_feed_dict: Any = None, hooks: Any = None, config: Any = None) -> Any:
    """Runs eval_ops until a hook says stop; returns the values of final_ops."""
    hooks = list(hooks or [])
    if eval_ops is not None:
        eval_ops = _with_step(eval_ops, hooks)
    return _evaluate(checkpoint_path, master, scaffold, eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks, config)


def evaluate_repeatedly(checkpoint_dir: str, master: str = "", scaffold: Any = None, eval_ops: Any = None,
                        feed_dict: Any = None, final_ops: Any = None, final_ops_feed_dict: Any = None,
                        eval_interval_secs: Any = 60, hooks: Any = None, config: Any = None,
                        max_number_of_evaluations: Any = None, timeout: Any = None, timeout_fn: Any = None) -> Any:
    """The same for each new checkpoint of a folder; returns the last values."""
    hooks, values, count = list(hooks or []), None, 0
    if eval_ops is not None:
        eval_ops = _with_step(eval_ops, hooks)
    for path in checkpoint_utils.checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn):
        values = _evaluate(path, master, scaffold, eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks, config)
        count += 1
        if max_number_of_evaluations is not None and count >= max_number_of_evaluations:
            break
    return values


def _slim_parts(variables_to_restore, initial_op, initial_feed, logdir, summary_op, summary_feed, num_evals, hooks, eval_op,
                init_fn=None):
    saver = None if variables_to_restore is None else saver_lib.Saver(variables_to_restore)
    init = None if init_fn is None else lambda _, session: init_fn(session)  # slim's takes the session alone
    scaffold = monitored_session.Scaffold(init_op=initial_op, init_feed_dict=initial_feed, init_fn=init, saver=saver)
    made = [StopAfterNEvalsHook(num_evals)] if eval_op is not None else []
    summary_op = summary_ops.merge_all() if summary_op is _USE_DEFAULT else summary_op
    if summary_op is not None:
        made.append(SummaryAtEndHook(logdir, summary_op=summary_op, feed_dict=summary_feed))
    return scaffold, made + list(hooks or [])


def slim_evaluate_once(master: str, checkpoint_path: Any, logdir: str, num_evals: Any = 1, initial_op: Any = None,
                       initial_op_feed_dict: Any = None, eval_op: Any = None, eval_op_feed_dict: Any = None,
                       final_op: Any = None, final_op_feed_dict: Any = None, summary_op: Any = _USE_DEFAULT,
                       summary_op_feed_dict: Any = None, variables_to_restore: Any = None, session_config: Any = None,
                       hooks: Any = None) -> Any:
    scaffold, hooks = _slim_parts(variables_to_restore, initial_op, initial_op_feed_dict, logdir, summary_op, summary_op_feed_dict,
                                  num_evals, hooks, eval_op)
    return evaluate_once(checkpoint_path, master, scaffold, eval_op, eval_op_feed_dict, final_op, final_op_feed_dict, hooks,
                         session_config)


def evaluation_loop(master: str, checkpoint_dir: str, logdir: str, num_evals: Any = 1, initial_op: Any = None,
                    initial_op_feed_dict: Any = None, init_fn: Any = None, eval_op: Any = None, eval_op_feed_dict: Any = None,
                    final_op: Any = None, final_op_feed_dict: Any = None, summary_op: Any = _USE_DEFAULT,
                    summary_op_feed_dict: Any = None, variables_to_restore: Any = None, eval_interval_secs: Any = 60,
                    max_number_of_evaluations: Any = None, session_config: Any = None, timeout: Any = None,
                    timeout_fn: Any = None, hooks: Any = None) -> Any:
    scaffold, hooks = _slim_parts(variables_to_restore, initial_op, initial_op_feed_dict, logdir, summary_op, summary_op_feed_dict,
                                  num_evals, hooks, eval_op, init_fn)
    return evaluate_repeatedly(checkpoint_dir, master, scaffold, eval_op, eval_op_feed_dict, final_op, final_op_feed_dict,
                               eval_interval_secs, hooks, session_config, max_number_of_evaluations, timeout, timeout_fn)
