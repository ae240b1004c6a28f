# SPDX-License-Identifier: Apache-2.0
"""MonitoredSession: a session that initializes, restores, calls hooks and recovers."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING

from millstream import _core
from millstream.framework import errors, ops
from millstream.ops.flow import control_flow_group
from millstream.ops.variables import variable_collections
from millstream.strategies import context
from millstream.training import (background_save, basic_session_run_hooks, coordinator, finished_job, live_variables, monitored_layers,
                                 queue_runner_impl, saver as saver_lib, session_manager, task_stop)
from millstream.training.monitored_layers import _CoordinatedSession, _HookedSession, _RecoverableSession

if TYPE_CHECKING:
    from typing import Any, Optional, Union

    from millstream.client.session import Session
    from millstream.framework.operation import Operation
    from millstream.framework.tensor import Tensor

USE_DEFAULT = object()


def _log():
    from millstream.framework import log
    return log


class Scaffold:
    """The ops that a session needs beyond the training itself; those that are not given are made by finalize()."""

    def __init__(self, init_op: Any = None, init_feed_dict: Any = None, init_fn: Any = None, ready_op: Any = None,
                 ready_for_local_init_op: Any = None, local_init_op: Any = None, summary_op: Any = None, saver: Any = None,
                 copy_from_scaffold: Any = None, local_init_feed_dict: Any = None) -> None:
        base = copy_from_scaffold
        pick = lambda value, name: value if value is not None or base is None else getattr(base, name)
        self._init_op, self._ready_op = pick(init_op, "init_op"), pick(ready_op, "ready_op")
        self._ready_for_local_init_op = pick(ready_for_local_init_op, "ready_for_local_init_op")
        self._local_init_op, self._summary_op = pick(local_init_op, "local_init_op"), pick(summary_op, "summary_op")
        self._saver, self._init_feed_dict = pick(saver, "saver"), pick(init_feed_dict, "init_feed_dict")
        self._local_init_feed_dict = pick(local_init_feed_dict, "local_init_feed_dict")
        self._user_init_fn = init_fn
        self._saves_in_background = False  # set by a CheckpointSaverHook
        fn = pick(init_fn, "init_fn")
        self._init_fn = (lambda sess: init_fn(self, sess)) if init_fn else fn

    init_op = property(lambda self: self._init_op)
    init_fn = property(lambda self: self._init_fn)
    init_feed_dict = property(lambda self: self._init_feed_dict)
    ready_op = property(lambda self: self._ready_op)
    ready_for_local_init_op = property(lambda self: self._ready_for_local_init_op)
    local_init_op = property(lambda self: self._local_init_op)
    local_init_feed_dict = property(lambda self: self._local_init_feed_dict)
    summary_op = property(lambda self: self._summary_op)
    saver = property(lambda self: self._saver)

    def finalize(self) -> Scaffold:
        keys = ops.GraphKeys
        if self._init_op is None:
            self._init_op = Scaffold.get_or_default("init_op", keys.INIT_OP, lambda: control_flow_group.group(
                variable_collections.global_variables_initializer(), *ops.get_collection("resource_initializers")))
        if self._ready_op is None:
            self._ready_op = Scaffold.get_or_default("ready_op", keys.READY_OP,
                                                     variable_collections.report_uninitialized_variables)
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = Scaffold.get_or_default(
                "ready_for_local_init_op", keys.READY_FOR_LOCAL_INIT_OP,
                lambda: variable_collections.report_uninitialized_variables(variable_collections.global_variables()))
        if self._local_init_op is None:
            self._local_init_op = Scaffold.get_or_default("local_init_op", keys.LOCAL_INIT_OP, Scaffold.default_local_init_op)
        if self._summary_op is None:
            from millstream.events import summary_ops
            self._summary_op = Scaffold.get_or_default("summary_op", keys.SUMMARY_OP, summary_ops.merge_all)
        if self._saver is None:
            self._saver = saver_lib.get_or_create_saver()
        self._saver.build()
        graph = ops.get_default_graph()
        live_variables.of_graph(graph, (self._ready_for_local_init_op, self._ready_op))
        in_background = self._saves_in_background or background_save.is_expected(graph)
        if in_background and isinstance(self._saver, saver_lib.Saver):
            self._saver._add_background_nodes()
        graph.finalize()
        _log().info("Graph was finalized.")
        return self

    @staticmethod
    def get_or_default(arg_name: Any, collection_key: Any, default_constructor: Any) -> Optional[Union[Operation, Tensor]]:
        found = ops.get_collection(collection_key)
        if found:
            if len(found) > 1:
                raise RuntimeError(f"More than one item in the collection \"{collection_key}\". Please indicate which one to use "
                                   f"by passing it to the tf.Scaffold constructor as:  tf.Scaffold({arg_name}=item to use)")
            return found[0]
        op = default_constructor()
        if op is not None:
            ops.add_to_collection(collection_key, op)
        return op

    @staticmethod
    def default_local_init_op() -> Operation:
        return control_flow_group.group(variable_collections.local_variables_initializer(),
                                        *ops.get_collection(ops.GraphKeys.TABLE_INITIALIZERS))


class SessionCreator:
    """Makes the sessions of a MonitoredSession."""

    def create_session(self) -> Any:
        raise NotImplementedError


class ChiefSessionCreator(SessionCreator):
    """Initializes or restores the model."""

    def __init__(self, scaffold: Any = None, master: str = "", config: Any = None, checkpoint_dir: Optional[str] = None,
                 checkpoint_filename_with_path: Optional[str] = None) -> None:
        self._checkpoint_dir, self._checkpoint_path = checkpoint_dir, checkpoint_filename_with_path
        self._scaffold, self._master, self._config = scaffold or Scaffold(), master, config
        self._session_manager = None

    def _get_session_manager(self):
        if self._session_manager is None:
            s = self._scaffold
            self._session_manager = session_manager.SessionManager(
                local_init_op=s.local_init_op, local_init_feed_dict=s.local_init_feed_dict, ready_op=s.ready_op,
                ready_for_local_init_op=s.ready_for_local_init_op, graph=ops.get_default_graph())
        return self._session_manager

    def create_session(self) -> Session:
        self._scaffold.finalize()
        s = self._scaffold
        return self._get_session_manager().prepare_session(
            self._master, saver=s.saver, checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_path, config=self._config, init_op=s.init_op,
            init_feed_dict=s.init_feed_dict, init_fn=s.init_fn)


class WorkerSessionCreator(SessionCreator):
    """Waits for the chief."""

    def __init__(self, scaffold: Any = None, master: str = "", config: Any = None, max_wait_secs: Any = 30 * 60) -> None:
        self._scaffold, self._master, self._config, self._max_wait_secs = scaffold or Scaffold(), master, config, max_wait_secs
        self._session_manager = None

    def create_session(self):
        self._scaffold.finalize()
        if self._session_manager is None:
            s = self._scaffold
            self._session_manager = session_manager.SessionManager(
                local_init_op=s.local_init_op, local_init_feed_dict=s.local_init_feed_dict, ready_op=s.ready_op,
                ready_for_local_init_op=s.ready_for_local_init_op, graph=ops.get_default_graph())
        return self._session_manager.wait_for_session(self._master, config=self._config, max_wait_secs=self._max_wait_secs)


class _FinishedSessionCreator(SessionCreator):
    def __init__(self, error):
        self._error = error

    def create_session(self):
        raise self._error


class _CoordinatedSessionCreator(SessionCreator):
    def __init__(self, session_creator, hooks, stop_grace_period_secs):
        self._session_creator, self._hooks, self._stop_grace_period_secs = session_creator, hooks, stop_grace_period_secs
        self.coord = None
        self.tf_sess = None

    def create_session(self):
        self.tf_sess = self._session_creator.create_session()
        self.coord = coordinator.Coordinator(clean_stop_exception_types=[])
        if ops.get_collection(ops.GraphKeys.QUEUE_RUNNERS):
            queue_runner_impl.start_queue_runners(sess=self.tf_sess, coord=self.coord)
        for hook in self._hooks:
            hook.after_create_session(self.tf_sess, self.coord)
        return _CoordinatedSession(_HookedSession(self.tf_sess, self._hooks), self.coord, self._stop_grace_period_secs)


class _MonitoredSession:
    def __init__(self, session_creator, hooks, should_recover, stop_grace_period_secs=120):
        self._graph_was_finalized = ops.get_default_graph().finalized
        self._hooks = list(hooks or [])
        for hook in self._hooks:
            hook.begin()
        self._graph = ops.get_default_graph()
        self._coordinated_creator = _CoordinatedSessionCreator(session_creator or ChiefSessionCreator(), self._hooks,
                                                               stop_grace_period_secs)
        try:
            if should_recover:
                self._sess = _RecoverableSession(self._coordinated_creator)
            else:
                self._sess = self._coordinated_creator.create_session()
        except finished_job.JobDoneError as error:
            self._sess = monitored_layers._FinishedSession(error)
        task_stop.add(self)

    @property
    def graph(self) -> Any:
        return self._coordinated_creator.tf_sess.graph if self._coordinated_creator.tf_sess else None

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        self._require_open()
        return self._sess.run(fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata)

    def run_step_fn(self, step_fn: Any) -> Any:
        """Calls step_fn(step_context), which may use the session without hooks too."""
        import inspect
        if list(inspect.signature(step_fn).parameters) not in (["step_context"], ["self", "step_context"]):
            raise ValueError("`step_fn` may either have one `step_context` argument, or `self` and `step_context` arguments if "
                             "it's an instance method.")
        self._require_open()
        return self._sess.run_step_fn(step_fn, self._tf_sess(), run_with_hooks=None)

    def _require_open(self):
        if self._sess is None:
            raise RuntimeError("Session is already closed.")

    def should_stop(self) -> bool:
        return self._sess is None or self._sess.should_stop()

    def close(self) -> None:
        self._close_internal()

    def _is_closed(self):
        return self._coordinated_creator.tf_sess is None

    def _tf_sess(self):
        return self._coordinated_creator.tf_sess

    def __enter__(self):
        return self

    def __exit__(self, exception_type, exception_value, traceback):
        if task_stop.is_stop(exception_type):
            self.stop_and_save()
            return False
        clean = exception_type is not None and issubclass(exception_type, (errors.OutOfRangeError, StopIteration))
        self._close_internal(None if clean else exception_type)
        return clean

    def _save(self):
        """The program is told to stop: what has been done at a cluster is saved."""
        session = self._coordinated_creator.tf_sess
        target = getattr(session, "_target", "")
        if self._sess is None or not target:
            return
        task_stop.finish(target, lambda: [hook.end(session) for hook in self._hooks
                                                   if getattr(hook, "_ends_when_stopped", False)])

    def stop_and_save(self):
        if self._sess is None:
            return
        self._save()
        try:
            self._close_internal(task_stop.TaskStopped)
        except Exception as error:  # noqa: BLE001  that the program is told to stop matters more
            _log().info("An error was raised while the session was being closed: %s", error)

    def _close_internal(self, exception_type=None):
        try:
            if not exception_type and self._sess is not None and self._coordinated_creator.tf_sess is not None:
                for hook in self._hooks:
                    hook.end(self._coordinated_creator.tf_sess)
        finally:
            try:
                if self._sess is None:
                    raise RuntimeError("Session is already closed.")
                self._sess.close()
            finally:
                self._sess = None
                self._coordinated_creator.tf_sess = None
                self._coordinated_creator.coord = None
                if not self._graph_was_finalized:
                    self._graph._unsafe_unfinalize()


class MonitoredSession(_MonitoredSession):
    """Recovers from lost tasks."""

    StepContext = monitored_layers.StepContext

    def __init__(self, session_creator: Any = None, hooks: Any = None, stop_grace_period_secs: Any = 120) -> None:
        super().__init__(session_creator, hooks, should_recover=True, stop_grace_period_secs=stop_grace_period_secs)


class SingularMonitoredSession(_MonitoredSession):
    """Does not recover; its plain session can be had."""

    def __init__(self, hooks: Any = None, scaffold: Any = None, master: str = "", config: Any = None,
                 checkpoint_dir: Optional[str] = None, stop_grace_period_secs: Any = 120,
                 checkpoint_filename_with_path: Optional[str] = None) -> None:
        creator = ChiefSessionCreator(scaffold=scaffold, master=master, config=config, checkpoint_dir=checkpoint_dir,
                                      checkpoint_filename_with_path=checkpoint_filename_with_path)
        super().__init__(creator, hooks, should_recover=False, stop_grace_period_secs=stop_grace_period_secs)

    def raw_session(self) -> Session:
        return self._tf_sess()


def MonitoredTrainingSession(master="", is_chief=True, checkpoint_dir=None, scaffold=None, hooks=None, chief_only_hooks=None,
                             save_checkpoint_secs=USE_DEFAULT, save_summaries_steps=USE_DEFAULT,
                             save_summaries_secs=USE_DEFAULT, config=None, stop_grace_period_secs=120,
                             log_step_count_steps=100, max_wait_secs=7200, save_checkpoint_steps=USE_DEFAULT,
                             summary_dir=None, save_graph_def=True) -> MonitoredSession:
    """A MonitoredSession for training, with the usual hooks: steps per second, summaries, checkpoints (chief only)."""
    if save_summaries_steps is USE_DEFAULT and save_summaries_secs is USE_DEFAULT:
        save_summaries_steps, save_summaries_secs = 100, None
    elif save_summaries_secs is USE_DEFAULT:
        save_summaries_secs = None
    elif save_summaries_steps is USE_DEFAULT:
        save_summaries_steps = None
    if save_checkpoint_steps is USE_DEFAULT and save_checkpoint_secs is USE_DEFAULT:
        save_checkpoint_steps, save_checkpoint_secs = None, 600
    elif save_checkpoint_secs is USE_DEFAULT:
        save_checkpoint_secs = None
    elif save_checkpoint_steps is USE_DEFAULT:
        save_checkpoint_steps = None
    over = finished_job.error_if_over(master, checkpoint_dir, hooks)
    if over is not None:
        return MonitoredSession(session_creator=_FinishedSessionCreator(over))
    strategy = context.several_replicas()
    if strategy is not None and strategy.extended.num_workers > 1:  # each worker has all variables; the first one writes files
        from millstream.strategies import start_values
        is_chief, hooks = True, [start_values.TakeVariablesOfFirstWorker(strategy), *(hooks or ())]
        if not strategy.extended.should_checkpoint:
            chief_only_hooks = log_step_count_steps = save_summaries_steps = save_summaries_secs = None
            save_checkpoint_secs = save_checkpoint_steps = None
    scaffold = scaffold or Scaffold()
    all_hooks = []
    if not is_chief:
        creator: SessionCreator = WorkerSessionCreator(scaffold=scaffold, master=master, config=config, max_wait_secs=max_wait_secs)
    else:
        creator = ChiefSessionCreator(scaffold=scaffold, checkpoint_dir=checkpoint_dir, master=master, config=config)
        if chief_only_hooks:
            all_hooks.extend(chief_only_hooks)
        summary_dir = summary_dir or checkpoint_dir
        if summary_dir:
            if log_step_count_steps and log_step_count_steps > 0:
                all_hooks.append(basic_session_run_hooks.StepCounterHook(output_dir=summary_dir,
                                                                         every_n_steps=log_step_count_steps))
            if (save_summaries_steps and save_summaries_steps > 0) or (save_summaries_secs and save_summaries_secs > 0):
                all_hooks.append(basic_session_run_hooks.SummarySaverHook(
                    scaffold=scaffold, save_steps=save_summaries_steps, save_secs=save_summaries_secs, output_dir=summary_dir))
        if checkpoint_dir:
            if (save_checkpoint_secs and save_checkpoint_secs > 0) or (save_checkpoint_steps and save_checkpoint_steps > 0):
                _core.make_folders(os.fspath(checkpoint_dir))
                all_hooks.append(basic_session_run_hooks.CheckpointSaverHook(
                    checkpoint_dir, save_steps=save_checkpoint_steps, save_secs=save_checkpoint_secs, scaffold=scaffold,
                    save_graph_def=save_graph_def))
    if hooks:
        all_hooks.extend(hooks)
    return MonitoredSession(session_creator=creator, hooks=all_hooks, stop_grace_period_secs=stop_grace_period_secs)
