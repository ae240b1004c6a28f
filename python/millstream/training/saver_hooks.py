# SPDX-License-Identifier: Apache-2.0
"""Hooks that write checkpoints and summaries."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING

from millstream import _core
from millstream.framework import ops
from millstream.training import background_save, session_run_hook, training_util
from millstream.training.session_run_hook import SessionRunArgs

if TYPE_CHECKING:
    from typing import Any


def _log():
    from millstream.framework import log
    return log


def _timer(save_secs, save_steps):
    from millstream.training import basic_session_run_hooks
    return basic_session_run_hooks.SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)


class CheckpointSaverListener:
    """Told before and after each checkpoint. after_save() may return True to stop the training."""

    def begin(self) -> None:
        pass

    def before_save(self, session: Any, global_step_value: Any) -> None:
        pass

    def after_save(self, session: Any, global_step_value: Any) -> None:
        pass

    def end(self, session: Any, global_step_value: Any) -> None:
        pass


class CheckpointSaverHook(session_run_hook.SessionRunHook):
    """Saves at the start, every so many seconds or steps, and at the end.

    With `background`, training goes on while a checkpoint is written: it has the values of its step, the file `checkpoint` names it a
    moment later. Listeners are told when it is there, so with them training waits."""

    _ends_when_stopped = True

    def __init__(self, checkpoint_dir: str, save_secs: Any = None, save_steps: Any = None, saver: Any = None,
                 checkpoint_basename: str = "model.ckpt", scaffold: Any = None, listeners: Any = None,
                 save_graph_def: bool = True, background: bool = True) -> None:
        _log().info("Create CheckpointSaverHook.")
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver, self._checkpoint_dir, self._scaffold = saver, os.fspath(checkpoint_dir), scaffold
        self._save_path = os.path.join(self._checkpoint_dir, checkpoint_basename)
        self._timer = _timer(save_secs, save_steps)
        self._listeners, self._save_graph_def, self._steps_per_run = list(listeners or []), save_graph_def, 1
        self._in_background, self._pending = background and not self._listeners, background_save.Pending()

    def begin(self) -> None:
        from millstream.events import writer_cache
        _core.make_folders(os.fspath(self._checkpoint_dir))
        self._summary_writer = writer_cache.FileWriterCache.get(self._checkpoint_dir)
        self._global_step_tensor = training_util.get_global_step()
        if self._global_step_tensor is None:
            raise RuntimeError("Global step should be created to use CheckpointSaverHook.")
        if self._in_background and self._saver is None and self._scaffold is not None:
            self._scaffold._saves_in_background = True  # when it has its saver
        elif self._in_background and self._saver is not None and hasattr(self._saver, "_add_background_nodes"):
            self._saver._add_background_nodes()
        elif self._in_background and self._saver is None:
            background_save.expect(ops.get_default_graph())  # of whoever makes the session's saver
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._pending.forget()
        step = session.run(self._global_step_tensor)
        graph = session.graph
        if self._save_graph_def:
            from millstream.framework import graph_util
            graph_util.write_graph(graph.as_graph_def(add_shapes=True), self._checkpoint_dir, "graph.pbtxt")
        saver = self._get_saver()
        saver_def = saver.saver_def if saver else None
        from millstream.training import saver as saver_lib
        self._summary_writer.add_graph(graph)
        self._summary_writer.add_meta_graph(saver_lib.export_meta_graph(graph=graph, saver_def=saver_def))
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context):
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._pending.check()
        stale = run_values.results
        if self._timer.should_trigger_for_step(stale + self._steps_per_run):
            step = run_context.session.run(self._global_step_tensor)
            if self._timer.should_trigger_for_step(step):
                self._timer.update_last_triggered_step(step)
                if self._start_save(run_context.session, step):
                    return
                if self._save(run_context.session, step):
                    run_context.request_stop()

    def _start_save(self, session, step):
        """Begins a save in the background; False if this saver cannot."""
        saver = self._get_saver()
        if not self._in_background or not getattr(saver, "_background", None):
            return False
        self._pending.wait()
        saver._background.keep(session)
        _log().info("Saving checkpoints for %d into %s.", step, self._save_path)

        def save():
            saver.save(session, self._save_path, global_step=int(step), _kept=True)
            self._note(step)

        self._pending.start(save)
        return True

    def end(self, session: Any) -> None:
        self._pending.wait()
        last = session.run(self._global_step_tensor)
        if last != self._timer.last_triggered_step():
            self._save(session, last)
        for listener in self._listeners:
            listener.end(session, last)

    def _save(self, session, step):
        _log().info("Saving checkpoints for %d into %s.", step, self._save_path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._pending.wait()
        self._get_saver().save(session, self._save_path, global_step=int(step))
        self._note(step)
        stop = False
        for listener in self._listeners:
            if listener.after_save(session, step):
                _log().info("A CheckpointSaverListener requested that training be stopped. listener: %s", listener)
                stop = True
        return stop

    def _note(self, step):
        from millstream.proto import event_pb2
        self._summary_writer.add_session_log(
            event_pb2.SessionLog(status=event_pb2.SessionLog.CHECKPOINT, checkpoint_path=self._save_path), step)

    def _get_saver(self):
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        savers = ops.get_collection(ops.GraphKeys.SAVERS)
        if not savers:
            raise RuntimeError(f"No items in collection {ops.GraphKeys.SAVERS}. Please add a saver to the collection or provide a "
                               "saver or scaffold.")
        if len(savers) > 1:
            raise RuntimeError(f"More than one item in collection {ops.GraphKeys.SAVERS}. Please indicate which one to use by "
                               "passing it to the constructor.")
        self._saver = savers[0]
        return savers[0]


class SummarySaverHook(session_run_hook.SessionRunHook):
    """Writes summaries every so many steps or seconds."""

    def __init__(self, save_steps: Any = None, save_secs: Any = None, output_dir: Any = None, summary_writer: Any = None,
                 scaffold: Any = None, summary_op: Any = None) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op, self._summary_writer, self._output_dir, self._scaffold = summary_op, summary_writer, output_dir, scaffold
        self._timer = _timer(save_secs, save_steps)

    def begin(self) -> None:
        from millstream.events import writer_cache
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = writer_cache.FileWriterCache.get(self._output_dir)
        self._next_step = None
        self._global_step_tensor = training_util.get_global_step()
        if self._global_step_tensor is None:
            raise RuntimeError("Global step should be created to use SummarySaverHook.")

    def _summaries(self):
        op = self._summary_op if self._summary_op is not None else self._scaffold.summary_op
        if op is None:
            return None
        return list(op) if isinstance(op, (list, tuple)) else [op]

    def before_run(self, run_context):
        self._request_summary = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        requests = {"global_step": self._global_step_tensor}
        if self._request_summary:
            summaries = self._summaries()
            if summaries is not None:
                requests["summary"] = summaries
        return SessionRunArgs(requests)

    def after_run(self, run_context, run_values):
        if not self._summary_writer:
            return
        stale = run_values.results["global_step"]
        step = stale + 1
        if self._next_step is None or self._request_summary:
            step = run_context.session.run(self._global_step_tensor)
        if self._next_step is None:
            from millstream.proto import event_pb2
            self._summary_writer.add_session_log(event_pb2.SessionLog(status=event_pb2.SessionLog.START), step)
        if self._request_summary:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._summary_writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: Any = None) -> None:
        if self._summary_writer:
            self._summary_writer.flush()
