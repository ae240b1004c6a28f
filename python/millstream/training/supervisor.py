# SPDX-License-Identifier: Apache-2.0
"""Supervisor: a session with its services (checkpoints, summaries, step counter), as TF1 programs use it."""
from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from millstream import _core
from millstream.framework import ops
from millstream.ops.flow import control_flow_group
from millstream.ops.variables import variable_collections
from millstream.training import coordinator, saver as saver_lib, session_manager as session_manager_mod
from millstream.training import finished_job, sync_end, task_stop, training_util

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.graph import Graph


def _log():
    from millstream.framework import log
    return log


class Supervisor:
    """The chief initializes or restores the model and runs the services; other workers wait for it."""

    USE_DEFAULT = 0

    def __init__(self, graph: Optional[Graph] = None, ready_op: Any = USE_DEFAULT, ready_for_local_init_op: Any = USE_DEFAULT,
                 is_chief: bool = True, init_op: Any = USE_DEFAULT, init_feed_dict: Any = None,
                 local_init_op: Any = USE_DEFAULT, logdir: Optional[str] = None, summary_op: Any = USE_DEFAULT,
                 saver: Any = USE_DEFAULT, global_step: Any = USE_DEFAULT, save_summaries_secs: Any = 120,
                 save_model_secs: Any = 600, recovery_wait_secs: Any = 30, stop_grace_secs: Any = 120,
                 checkpoint_basename: str = "model.ckpt", session_manager: Any = None, summary_writer: Any = USE_DEFAULT,
                 init_fn: Any = None, local_init_run_options: Any = None) -> None:
        default = Supervisor.USE_DEFAULT
        self._graph = ops.get_default_graph() if graph is None else graph
        with self._graph.as_default():
            keys = ops.GraphKeys
            make_init = lambda: variable_collections.global_variables_initializer()
            self._ready_op = self._default(ready_op, default, keys.READY_OP,
                                           variable_collections.report_uninitialized_variables)
            self._ready_for_local_init_op = None if ready_for_local_init_op is default else ready_for_local_init_op
            if ready_for_local_init_op is default:
                self._ready_for_local_init_op = self._first(keys.READY_FOR_LOCAL_INIT_OP)
            self._init_op = self._default(init_op, default, keys.INIT_OP, make_init)
            self._local_init_op = self._default(local_init_op, default, keys.LOCAL_INIT_OP, self._make_local_init)
            if self._local_init_op is None:
                self._ready_for_local_init_op = None
            self._global_step = training_util.get_global_step(self._graph) if global_step is default else global_step
            self._saver = self._default(saver, default, keys.SAVERS, self._make_saver)
            self._summary_op = self._default(summary_op, default, keys.SUMMARY_OP, self._make_summary)
        self._init_feed_dict, self._init_fn, self._is_chief = init_feed_dict, init_fn, is_chief
        self._coord = coordinator.Coordinator()
        self._recovery_wait_secs, self._stop_grace_secs = recovery_wait_secs, stop_grace_secs
        self._logdir = os.fspath(logdir) if logdir else None
        self._save_summaries_secs = self._save_model_secs = self._save_path = self._summary_writer = None
        if is_chief and self._logdir:
            _core.make_folders(os.fspath(self._logdir))
            self._save_summaries_secs, self._save_model_secs = save_summaries_secs, save_model_secs
            self._save_path = os.path.join(self._logdir, checkpoint_basename)
            if summary_writer is default:
                from millstream.events import writer
                self._summary_writer = writer.FileWriter(self._logdir)
        if is_chief and summary_writer is not default:
            self._summary_writer = summary_writer
        self._graph_added_to_summary = False
        self._session = None
        self._session_manager = session_manager or session_manager_mod.SessionManager(
            local_init_op=self._local_init_op, ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_for_local_init_op, graph=self._graph, recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options)
        self._graph.finalize()
        self._last_step_time = None

    @staticmethod
    def _first(key):
        found = ops.get_collection(key)
        return found[0] if found else None

    def _default(self, given, default, key, make):
        if given is not default:
            return given
        found = self._first(key)
        if found is None:
            found = make()
            if found is not None:
                ops.add_to_collection(key, found)
        return found

    @staticmethod
    def _make_local_init():
        made = [variable_collections.local_variables_initializer()] if variable_collections.local_variables() else []
        made += ops.get_collection(ops.GraphKeys.TABLE_INITIALIZERS)
        return control_flow_group.group(*made) if made else None

    @staticmethod
    def _make_saver():
        return saver_lib.Saver() if variable_collections.global_variables() else None

    @staticmethod
    def _make_summary():
        from millstream.events import summary_ops
        return summary_ops.merge_all()

    is_chief = property(lambda self: self._is_chief)
    session_manager = property(lambda self: self._session_manager)
    coord = property(lambda self: self._coord)
    init_op = property(lambda self: self._init_op)
    init_feed_dict = property(lambda self: self._init_feed_dict)
    ready_op = property(lambda self: self._ready_op)
    ready_for_local_init_op = property(lambda self: self._ready_for_local_init_op)
    summary_writer = property(lambda self: self._summary_writer)
    summary_op = property(lambda self: self._summary_op)
    save_summaries_secs = property(lambda self: self._save_summaries_secs)
    global_step = property(lambda self: self._global_step)
    saver = property(lambda self: self._saver)
    save_model_secs = property(lambda self: self._save_model_secs)
    save_path = property(lambda self: self._save_path)

    # Sessions.

    def prepare_or_wait_for_session(self, master: str = "", config: Any = None, wait_for_checkpoint: bool = False,
                                    max_wait_secs: Any = 7200, start_standard_services: bool = True) -> Any:
        """A session that is ready: the chief makes it so, others wait. If the job was done before this worker came,
        should_stop() is true and steps of the session raise OutOfRangeError."""
        self._coord.clear_stop()
        if self._summary_writer:
            self._summary_writer.reopen()
        try:
            return self._make_session(master, config, wait_for_checkpoint, max_wait_secs, start_standard_services)
        except finished_job.JobDoneError as error:
            self._coord.request_stop()
            self._session = None
            return finished_job.FinishedSession(self._graph, error)

    def _make_session(self, master, config, wait_for_checkpoint, max_wait_secs, start_standard_services):
        if self._is_chief:
            sess = self._session_manager.prepare_session(
                master, init_op=self._init_op, saver=self._saver, checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint, max_wait_secs=max_wait_secs, config=config,
                init_feed_dict=self._init_feed_dict, init_fn=self._init_fn)
            sync_end.say_chief_begins(sess)
            self._write_graph()
            if start_standard_services:
                _log().info("Starting standard services.")
                self.start_standard_services(sess)
        else:
            sess = self._session_manager.wait_for_session(master, config=config, max_wait_secs=max_wait_secs)
            sync_end.watch_for_end(sess, self._coord)
        self._session = sess
        task_stop.add(self)
        if start_standard_services:
            _log().info("Starting queue runners.")
            self.start_queue_runners(sess)
        return sess

    PrepareSession = prepare_or_wait_for_session

    def _write_graph(self):
        if not self._logdir:
            return
        from millstream.framework import graph_util
        graph_util.write_graph(self._graph.as_graph_def(add_shapes=True), self._logdir, "graph.pbtxt")
        if self._summary_writer and not self._graph_added_to_summary:
            self._summary_writer.add_graph(self._graph)
            self._graph_added_to_summary = True

    def start_standard_services(self, sess):
        """The chief's threads: checkpoints, summaries, steps per second."""
        if not self._is_chief:
            raise RuntimeError("Only chief supervisor can start standard services. Because only chief supervisors can write "
                               "events.")
        if not self._logdir:
            _log().warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self._global_step is not None and self._summary_writer:
            from millstream.proto import event_pb2
            step = training_util.global_step(sess, self._global_step)
            self._summary_writer.add_session_log(event_pb2.SessionLog(status=event_pb2.SessionLog.START), step)
        threads = []
        if self._save_summaries_secs and self._summary_writer:
            if self._summary_op is not None:
                threads.append(SVSummaryThread(self, sess))
            if self._global_step is not None:
                threads.append(SVStepCounterThread(self, sess))
        if self.saver and self._save_model_secs:
            threads.append(SVTimerCheckpointThread(self, sess))
        for thread in threads:
            thread.start()
        return threads

    StartStandardServices = start_standard_services

    def start_queue_runners(self, sess: Any, queue_runners: Any = None) -> Any:
        """Threads of the queue runners: of the graph, or those given."""
        if isinstance(sess, finished_job.FinishedSession):
            return []
        if queue_runners is None:
            queue_runners = self._graph.get_collection(ops.GraphKeys.QUEUE_RUNNERS)
        return [t for runner in queue_runners for t in runner.create_threads(sess, coord=self._coord, daemon=True, start=True)]

    StartQueueRunners = start_queue_runners

    @contextlib.contextmanager
    def managed_session(self, master="", config=None, start_standard_services=True, close_summary_writer=True):
        """The session of a `with` statement; ends the services, and raises what went wrong in their threads."""
        stopped = False
        try:
            sess = self.prepare_or_wait_for_session(master=master, config=config,
                                                    start_standard_services=start_standard_services)
            yield sess
        except (KeyboardInterrupt, task_stop.TaskStopped):
            stopped = True
            self.stop_and_save()
            raise
        except Exception as e:  # noqa: BLE001  raised again by stop()
            self.request_stop(e)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            except Exception:
                if not stopped:
                    raise
            finally:
                try:
                    sess.close()
                except Exception:  # noqa: BLE001  it may never have been made, or be broken already
                    pass

    # Ending.

    def loop(self, timer_interval_secs: Any, target: str, args: Any = None, kwargs: Any = None) -> Any:
        """Calls a function every so many seconds in a thread."""
        looper = coordinator.LooperThread(self._coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        looper.start()
        return looper

    Loop = loop

    def should_stop(self) -> Any:
        return self._coord.should_stop()

    ShouldStop = should_stop

    def request_stop(self, ex: Any = None) -> None:
        self._coord.request_stop(ex)

    RequestStop = request_stop

    def stop_on_exception(self) -> Any:
        return self._coord.stop_on_exception()

    StopOnException = stop_on_exception

    def wait_for_stop(self) -> None:
        self._coord.wait_for_stop()

    WaitForStop = wait_for_stop

    def stop_and_save(self):
        """The program is told to stop: the chief saves what has been done at a cluster."""
        session, self._session = self._session, None
        if session is None or session._closed or not session._target or not self._is_chief:
            return

        def save():
            if self.saver and self._save_path:
                _log().info("Saving checkpoint to path %s", self._save_path)
                self.saver.save(session, self._save_path, global_step=self._global_step)
            sync_end.say_chief_ends(session)

        self._coord.request_stop()
        task_stop.finish(session._target, save)

    def stop(self, threads=None, close_summary_writer=True, ignore_live_threads=False):
        self._coord.request_stop()
        if self._is_chief and self._session is not None and self._coord.requested_error() is None:
            sync_end.say_chief_ends(self._session)
        try:
            self._coord.join(threads, stop_grace_period_secs=self._stop_grace_secs, ignore_live_threads=ignore_live_threads)
        finally:
            if close_summary_writer and self._summary_writer:
                from millstream.proto import event_pb2
                self._summary_writer.add_session_log(event_pb2.SessionLog(status=event_pb2.SessionLog.STOP))
                self._summary_writer.close()
                self._graph_added_to_summary = False

    Stop = stop

    def summary_computed(self, sess: Any, summary: Any, global_step: Any = None) -> None:
        """Writes a summary that the program has computed."""
        if not self._summary_writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = training_util.global_step(sess, self._global_step)
        self._summary_writer.add_summary(summary, global_step)

    SummaryComputed = summary_computed


class SVSummaryThread(coordinator.LooperThread):
    def __init__(self, sv, sess):
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self):
        if self._sv.global_step is not None:
            summary, step = self._sess.run([self._sv.summary_op, self._sv.global_step])
        else:
            summary, step = self._sess.run(self._sv.summary_op), None
        if self._sv.summary_writer:
            self._sv.summary_writer.add_summary(summary, step)


class SVStepCounterThread(coordinator.LooperThread):
    def __init__(self, sv, sess, step_counter=None):
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess
        self._step_counter = sv.global_step if step_counter is None else step_counter
        self._summary_tag = f"{self._step_counter.op.name}/sec"

    def start_loop(self):
        self._last_time, self._last_step = time.time(), training_util.global_step(self._sess, self._step_counter)

    def run_loop(self):
        step, now = training_util.global_step(self._sess, self._step_counter), time.time()
        elapsed = now - self._last_time
        rate = (step - self._last_step) / elapsed if elapsed > 0 else float("inf")
        self._last_time, self._last_step = now, step
        if self._sv.summary_writer:
            from millstream.proto import summary_pb2
            value = summary_pb2.Summary.Value(tag=self._summary_tag, simple_value=rate)
            self._sv.summary_writer.add_summary(summary_pb2.Summary(value=[value]), step)
        _log().info("%s: %g", self._summary_tag, rate)


class SVTimerCheckpointThread(coordinator.LooperThread):
    def __init__(self, sv, sess):
        super().__init__(sv.coord, sv.save_model_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self):
        _log().info("Saving checkpoint to path %s", self._sv.save_path)
        self._sv.saver.save(self._sess, self._sv.save_path, global_step=self._sv.global_step)
        if self._sv.summary_writer and self._sv.global_step is not None:
            from millstream.proto import event_pb2
            step = training_util.global_step(self._sess, self._sv.global_step)
            self._sv.summary_writer.add_session_log(
                event_pb2.SessionLog(status=event_pb2.SessionLog.CHECKPOINT, checkpoint_path=self._sv.save_path), step)
