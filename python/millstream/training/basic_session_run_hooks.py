# SPDX-License-Identifier: Apache-2.0
"""Hooks that most trainings use."""
from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import numpy as np

from millstream.framework import ops
from millstream.platform.local_files import local_path
from millstream.training import saver_hooks, session_run_hook, training_util
from millstream.training.session_run_hook import SessionRunArgs

if TYPE_CHECKING:
    from typing import Any


def _log():
    from millstream.framework import log
    return log


class _HookTimer:
    def reset(self) -> Any:
        raise NotImplementedError

    def should_trigger_for_step(self, step: Any) -> Any:
        raise NotImplementedError

    def update_last_triggered_step(self, step: Any) -> Any:
        raise NotImplementedError

    def last_triggered_step(self) -> Any:
        raise NotImplementedError


class SecondOrStepTimer(_HookTimer):
    """True every so many seconds or steps."""

    def __init__(self, every_secs: Any = None, every_steps: Any = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        self._last_triggered_step = self._last_triggered_time = None

    def should_trigger_for_step(self, step: Any) -> Any:
        if self._last_triggered_step is None:
            return True
        if self._last_triggered_step == step:
            return False
        if self._every_secs is not None and time.time() >= self._last_triggered_time + self._every_secs:
            return True
        return self._every_steps is not None and step >= self._last_triggered_step + self._every_steps

    def update_last_triggered_step(self, step):
        """(seconds, steps) since the last time."""
        now = time.time()
        if self._last_triggered_time is None:
            elapsed = None, None
        else:
            elapsed = now - self._last_triggered_time, step - self._last_triggered_step
        self._last_triggered_time, self._last_triggered_step = now, step
        return elapsed

    def last_triggered_step(self) -> Any:
        return self._last_triggered_step


class NeverTriggerTimer(_HookTimer):
    def reset(self):
        pass

    def should_trigger_for_step(self, step):
        return False

    def update_last_triggered_step(self, step):
        return None, None

    def last_triggered_step(self):
        return None


class LoggingTensorHook(session_run_hook.SessionRunHook):
    """Logs tensors every so many local steps or seconds, or at the end."""

    def __init__(self, tensors: Any, every_n_iter: Any = None, every_n_secs: Any = None, at_end: bool = False,
                 formatter: Any = None) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError("either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError("invalid every_n_iter=%s." % every_n_iter)
        if not isinstance(tensors, dict):
            self._tag_order = list(tensors)
            tensors = {item: item for item in tensors}
        else:
            self._tag_order = sorted(tensors)
        self._tensors, self._formatter, self._log_at_end = tensors, formatter, at_end
        self._timer = NeverTriggerTimer() if only_at_end else SecondOrStepTimer(every_secs=every_n_secs,
                                                                                every_steps=every_n_iter)

    def begin(self) -> None:
        self._timer.reset()
        self._iter_count = 0
        self._current_tensors = {tag: _as_graph_element(t) for tag, t in self._tensors.items()}

    def before_run(self, run_context):
        self._should_trigger = self._timer.should_trigger_for_step(self._iter_count)
        return SessionRunArgs(self._current_tensors) if self._should_trigger else None

    def _log_tensors(self, values):
        elapsed, _ = self._timer.update_last_triggered_step(self._iter_count)
        if self._formatter:
            _log().info(self._formatter(values))
            return
        text = ", ".join(f"{tag} = {values[tag]}" for tag in self._tag_order)
        if elapsed is not None:
            _log().info("%s (%.3f sec)", text, elapsed)
        else:
            _log().info("%s", text)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if self._should_trigger:
            self._log_tensors(run_values.results)
        self._iter_count += 1

    def end(self, session: Any) -> None:
        if self._log_at_end:
            self._log_tensors(session.run(self._current_tensors))


def _as_graph_element(obj):
    graph = ops.get_default_graph()
    if not isinstance(obj, str):
        if getattr(obj, "graph", graph) is not graph:
            raise ValueError("Passed %s should have graph attribute that is equal to current graph %s." % (obj, graph))
        return obj
    return graph.as_graph_element(obj if ":" in obj else obj + ":0")


class StopAtStepHook(session_run_hook.SessionRunHook):
    """Stops after `num_steps` more steps, or at `last_step`."""

    def __init__(self, num_steps: Any = None, last_step: Any = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self) -> None:
        self._global_step_tensor = training_util.get_global_step()
        if self._global_step_tensor is None:
            raise RuntimeError("Global step should be created to use StopAtStepHook.")

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._last_step is None:
            self._last_step = session.run(self._global_step_tensor) + self._num_steps

    def before_run(self, run_context):
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        step = run_values.results + 1
        if step >= self._last_step:
            # What was fetched may be from before the step: look again.
            if run_context.session.run(self._global_step_tensor) >= self._last_step:
                run_context.request_stop()


class StepCounterHook(session_run_hook.SessionRunHook):
    """Logs and summarizes steps per second."""

    def __init__(self, every_n_steps: Any = 100, every_n_secs: Any = None, output_dir: Any = None,
                 summary_writer: Any = None) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._summary_writer, self._output_dir = summary_writer, output_dir
        self._last_global_step = None
        self._steps_per_run = 1

    def begin(self) -> None:
        from millstream.events import writer_cache
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = writer_cache.FileWriterCache.get(self._output_dir)
        self._global_step_tensor = training_util.get_global_step()
        if self._global_step_tensor is None:
            raise RuntimeError("Global step should be created to use StepCounterHook.")
        self._summary_tag = self._global_step_tensor.op.name + "/sec"

    def before_run(self, run_context):
        return SessionRunArgs(self._global_step_tensor)

    def _log_and_record(self, elapsed_steps, elapsed_time, global_step):
        rate = elapsed_steps / elapsed_time
        if self._summary_writer is not None:
            from millstream.proto import summary_pb2
            self._summary_writer.add_summary(
                summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=self._summary_tag, simple_value=rate)]), global_step)
        _log().info("%s: %g", self._summary_tag, rate)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        stale = run_values.results
        if self._timer.should_trigger_for_step(stale + self._steps_per_run):
            step = run_context.session.run(self._global_step_tensor)
            if self._timer.should_trigger_for_step(step):
                elapsed_time, elapsed_steps = self._timer.update_last_triggered_step(step)
                if elapsed_time is not None and elapsed_time > 0:
                    self._log_and_record(elapsed_steps, elapsed_time, step)
        self._last_global_step = stale


class NanLossDuringTrainingError(RuntimeError):
    """The loss was NaN."""

    def __str__(self):
        return "NaN loss during training."


class NanTensorHook(session_run_hook.SessionRunHook):
    """Stops or fails when the loss is not a number."""

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss_tensor, self._fail_on_nan_loss = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context):
        return SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if np.isnan(run_values.results):
            if self._fail_on_nan_loss:
                _log().error("Model diverged with loss = NaN.")
                raise NanLossDuringTrainingError
            _log().warning("Model diverged with loss = NaN.")
            run_context.request_stop()


class GlobalStepWaiterHook(session_run_hook.SessionRunHook):
    """Holds a worker back until the step has come so far."""

    def __init__(self, wait_until_step: Any) -> None:
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        self._worker_is_started = False
        self._global_step_tensor = training_util.get_global_step()
        if self._global_step_tensor is None:
            raise RuntimeError("Global step should be created to use _GlobalStepWaiterHook.")

    def before_run(self, run_context: Any) -> None:
        if self._worker_is_started:
            return None
        if self._wait_until_step <= 0:
            self._worker_is_started = True
            return None
        _log().info("Waiting for global step %d before starting training.", self._wait_until_step)
        told = time.monotonic()
        while True:
            step = run_context.session.run(self._global_step_tensor)
            if step >= self._wait_until_step:
                self._worker_is_started = True
                return None
            if time.monotonic() > told + 30:
                _log().info("Waiting for global step %d before starting training. Current step is %d.", self._wait_until_step,
                            step)
                told = time.monotonic()
            time.sleep(0.1)


class FinalOpsHook(session_run_hook.SessionRunHook):
    """Runs ops at the end; `final_ops_values` is what they gave."""

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final_ops, self._final_ops_feed_dict, self._final_ops_values = final_ops, final_ops_feed_dict, None

    @property
    def final_ops_values(self) -> Any:
        return self._final_ops_values

    def end(self, session: Any) -> None:
        if self._final_ops is not None:
            self._final_ops_values = session.run(self._final_ops, feed_dict=self._final_ops_feed_dict)


class FeedFnHook(session_run_hook.SessionRunHook):
    """Feeds what a function gives, each step."""

    def __init__(self, feed_fn: Any) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context):
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())


class ProfilerHook(session_run_hook.SessionRunHook):
    """Writes a Chrome trace `timeline-<step>.json`, and the same for TensorBoard, every so many steps or seconds."""

    def __init__(self, save_steps: Any = None, save_secs: Any = None, output_dir: str = "", show_dataflow: bool = True,
                 show_memory: bool = False) -> None:
        self._output_file = os.path.join(output_dir, "timeline-{}.json")
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._show_dataflow, self._show_memory = show_dataflow, show_memory

    def begin(self) -> None:
        self._next_step = None
        self._global_step_tensor = training_util.get_global_step()
        if self._global_step_tensor is None:
            raise RuntimeError("Global step should be created to use ProfilerHook.")

    def before_run(self, run_context):
        self._request_summary = self._next_step is not None and self._timer.should_trigger_for_step(self._next_step)
        from millstream.proto import config_pb2
        options = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.FULL_TRACE) if self._request_summary else None
        return SessionRunArgs({"global_step": self._global_step_tensor}, options=options)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        stale = run_values.results["global_step"]
        if self._next_step is None:
            self._timer.update_last_triggered_step(stale)
        step = stale + 1
        if self._request_summary:
            step = run_context.session.run(self._global_step_tensor)
            self._timer.update_last_triggered_step(step)
            from millstream.training import timeline
            trace = timeline.Timeline(run_values.run_metadata.step_stats)
            folder = os.path.dirname(self._output_file)
            os.makedirs(local_path(folder) or ".", exist_ok=True)
            from millstream.events import writer_cache
            writer_cache.FileWriterCache.get(folder).add_run_metadata(run_values.run_metadata, f"step_{step}")
            with open(local_path(self._output_file.format(step)), "w", encoding="utf-8") as f:
                f.write(trace.generate_chrome_trace_format(self._show_dataflow, self._show_memory))
        self._next_step = step + 1


CheckpointSaverHook, CheckpointSaverListener = saver_hooks.CheckpointSaverHook, saver_hooks.CheckpointSaverListener
SummarySaverHook = saver_hooks.SummarySaverHook
