# SPDX-License-Identifier: Apache-2.0
"""SessionManager: sessions whose model is initialized, restored or waited for."""
from __future__ import annotations

import time
from typing import TYPE_CHECKING

from millstream.framework import errors, ops
from millstream.training import checkpoint_search, finished_job, live_variables

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.client.session import Session
    from millstream.framework.graph import Graph


_FIRST_WARNING_SECS, _NEXT_WARNING_SECS = 10, 30


def _log():
    from millstream.framework import log
    return log


def _noted(master):
    if master:
        from millstream.training import server_lib
        server_lib.note_training(master)
    return master


def _maybe_name(obj):
    return obj.name if hasattr(obj, "name") else "None" if obj is None else str(type(obj))


def _ready(op, sess, msg):
    """(True, None) if `op` gives nothing (no names of uninitialized variables), else (False, why)."""
    if op is None:
        return True, None
    try:
        value = sess.run(op)
        if value is None or getattr(value, "size", 0) == 0:
            return True, None
        names = ", ".join(v.decode() if isinstance(v, bytes) else str(v) for v in list(value.flatten()))
        return False, "Variables not initialized: " + names
    except errors.FailedPreconditionError as e:
        if "uninitialized" not in str(e):
            _log().warning("%s : error [%s]", msg, str(e))
            raise
        return False, str(e)


class SessionManager:
    """Makes sessions whose variables are initialized: from a checkpoint, by an operation, or by waiting for the chief."""

    def __init__(self, local_init_op: Any = None, ready_op: Any = None, ready_for_local_init_op: Any = None,
                 graph: Optional[Graph] = None, recovery_wait_secs: Any = 30, local_init_run_options: Any = None,
                 local_init_feed_dict: Any = None) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError("If you pass a ready_for_local_init_op you must also pass a local_init_op , "
                             "ready_for_local_init_op [%s]" % ready_for_local_init_op)
        self._local_init_op, self._ready_op, self._ready_for_local_init_op = local_init_op, ready_op, ready_for_local_init_op
        self._graph = graph or ops.get_default_graph()
        self._live_variables = live_variables.of_graph(self._graph, (ready_for_local_init_op, ready_op))
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init_feed_dict, self._local_init_run_options = local_init_feed_dict, local_init_run_options
        self._target = None

    def _restore_checkpoint(self, master, saver=None, checkpoint_dir=None, checkpoint_filename_with_path=None,
                            wait_for_checkpoint=False, max_wait_secs=7200, config=None):
        """(session, whether its model has values, variables that still need one). Live variables of a cluster are kept: they are
        asked for before anybody looks for a checkpoint. Only a checkpoint that is named by its path is restored over them."""
        self._target = _noted(master)
        sess = finished_job.new_session(self._target, self._graph, config)
        if checkpoint_dir and checkpoint_filename_with_path:
            raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        if saver and checkpoint_filename_with_path:
            saver.restore(sess, checkpoint_filename_with_path)
            return sess, True, None
        missing = self._uninitialized(sess) if master else None
        live = missing is not None and not missing
        if not saver or not checkpoint_dir:
            if live:
                _log().info("The variables of %s are live: they are not initialized again (tf.Session.reset() clears them).", master)
            return sess, live, missing
        if live:
            state = checkpoint_search.find_state(checkpoint_dir)
            _log().info("The variables of %s are live: %s (tf.Session.reset() clears them).", master,
                        f"the checkpoint {state.model_checkpoint_path} is not restored over them" if state
                        else "they are not initialized again")
        else:
            state = self._wait_for_state(checkpoint_dir, wait_for_checkpoint, max_wait_secs)
            if state is None or not checkpoint_search.restore_best(saver, sess, state):
                return sess, False, missing
        if state is not None:
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return sess, True, None

    def _wait_for_state(self, checkpoint_dir, wait, max_wait_secs):
        deadline = time.monotonic() + max_wait_secs
        state = checkpoint_search.find_state(checkpoint_dir)
        while state is None:
            if not wait or time.monotonic() > deadline:
                return None
            _log().info("Waiting for checkpoint to be available.")
            time.sleep(min(self._recovery_wait_secs, 1.0))
            state = checkpoint_search.find_state(checkpoint_dir)
        return state

    def _uninitialized(self, sess):
        """The global variables of a cluster that have no value; [] if all are live, None if none is."""
        if self._live_variables.can_ask:
            return self._live_variables.uninitialized(sess)
        op = self._ready_for_local_init_op if self._ready_for_local_init_op is not None else self._ready_op
        return [] if op is not None and _ready(op, sess, "Model not ready")[0] else None

    def _initialize(self, sess, init_op, init_feed_dict, init_fn, missing):
        """Gives values to the model, or only to the variables `missing` where others are live."""
        if missing:
            _log().warning("The variables of some tasks are live and are kept; there is no checkpoint, so only these are initialized%s: "
                           "%s", ", without init_fn" if init_fn else "", ", ".join(v.op.name for v in missing))
            sess.run([v.initializer for v in missing], feed_dict=init_feed_dict)
            return
        if init_op is None and not init_fn and self._local_init_op is None:
            raise RuntimeError("Model is not initialized and no init_op or init_fn or local_init_op was given")
        if init_op is not None:
            sess.run(init_op, feed_dict=init_feed_dict)
        if init_fn:
            init_fn(sess)

    def prepare_session(self, master: str, init_op: Any = None, saver: Any = None, checkpoint_dir: Optional[str] = None,
                        checkpoint_filename_with_path: Optional[str] = None, wait_for_checkpoint: bool = False,
                        max_wait_secs: Any = 7200, config: Any = None, init_feed_dict: Any = None,
                        init_fn: Any = None) -> Session:
        """A session whose model is ready: live at a cluster, restored from a checkpoint, or else initialized."""
        sess, has_values, missing = self._restore_checkpoint(
            master, saver, checkpoint_dir=checkpoint_dir, checkpoint_filename_with_path=checkpoint_filename_with_path,
            wait_for_checkpoint=wait_for_checkpoint, max_wait_secs=max_wait_secs, config=config)
        if not has_values:
            self._initialize(sess, init_op, init_feed_dict, init_fn, missing)
        ok, message = self._try_run_local_init_op(sess)
        if not ok:
            raise RuntimeError("Init operations did not make model ready for local_init.  Init op: "
                               f"{_maybe_name(init_op)}, init fn: {init_fn}, error: {message}")
        ready, message = self._model_ready(sess)
        if not ready:
            raise RuntimeError("Init operations did not make model ready.  Init op: "
                               f"{_maybe_name(init_op)}, init fn: {init_fn}, local_init_op: {self._local_init_op}, error: "
                               f"{message}")
        return sess

    def recover_session(self, master: str, saver: Any = None, checkpoint_dir: Optional[str] = None,
                        checkpoint_filename_with_path: Optional[str] = None, wait_for_checkpoint: bool = False,
                        max_wait_secs: Any = 7200, config: Any = None) -> Any:
        """(session, whether its model is ready without initializing it)."""
        sess, restored, _ = self._restore_checkpoint(
            master, saver, checkpoint_dir=checkpoint_dir, checkpoint_filename_with_path=checkpoint_filename_with_path,
            wait_for_checkpoint=wait_for_checkpoint, max_wait_secs=max_wait_secs, config=config)
        ok, message = self._try_run_local_init_op(sess)
        if not ok:
            _log().info("%s model not ready for local init: %s", "Restoring" if restored else "Recovering", message)
            return sess, False
        ready, message = self._model_ready(sess)
        if not ready:
            _log().info("%s model not ready: %s", "Restoring" if restored else "Recovering", message)
            return sess, False
        if restored:
            _log().info("Recovered the model of %s", checkpoint_dir or checkpoint_filename_with_path or master)
        return sess, restored

    def wait_for_session(self, master: str, config: Any = None, max_wait_secs: Any = float("Inf")) -> Any:
        """A session whose model the chief has made ready."""
        self._target = _noted(master)
        begun = time.monotonic()
        deadline = begun + (7200 if max_wait_secs is None else max_wait_secs)
        wait, told, warn_at = 0.02, None, begun + _FIRST_WARNING_SECS
        while True:
            sess, message = None, None
            try:
                sess = finished_job.new_session(self._target, self._graph, config)
                ok, message = self._try_run_local_init_op(sess)
                if ok:
                    ready, message = self._model_ready(sess)
                    if ready:
                        return sess
            except (errors.UnavailableError, errors.AbortedError) as e:
                message = str(e)
            self._safe_close(sess)
            if time.monotonic() > deadline:
                raise errors.DeadlineExceededError(
                    None, None, f"Session was not ready after waiting {max_wait_secs} secs. Last reason: {message}")
            if message != told:
                _log().info("Waiting for model to be ready. %s", message)
                told = message
            if time.monotonic() > warn_at:
                _log().warning("Waiting for the chief to make the model ready (%d s): %s", time.monotonic() - begun, message)
                warn_at = time.monotonic() + _NEXT_WARNING_SECS
            time.sleep(min(wait, self._recovery_wait_secs))
            wait = min(wait * 1.6, 1.0)

    def _safe_close(self, sess):
        if sess is not None:
            try:
                sess.close()
            except Exception:  # noqa: BLE001  it is given up anyway
                pass

    def _model_ready(self, sess):
        return _ready(self._ready_op, sess, "Model not ready")

    def _model_ready_for_local_init(self, sess):
        return _ready(self._ready_for_local_init_op, sess, "Model not ready for local init")

    def _try_run_local_init_op(self, sess):
        """(whether it ran or there is none, why not)."""
        if self._local_init_op is None:
            return True, None
        ready, message = self._model_ready_for_local_init(sess)
        if not ready:
            return False, message
        _log().info("Running local_init_op.")
        sess.run(self._local_init_op, feed_dict=self._local_init_feed_dict, options=self._local_init_run_options)
        _log().info("Done running local_init_op.")
        return True, None

