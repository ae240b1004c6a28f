# SPDX-License-Identifier: Apache-2.0
"""QueueRunner: threads that fill a queue."""
from __future__ import annotations

import contextlib
import threading
import weakref
from typing import TYPE_CHECKING

from millstream.framework import errors, ops

if TYPE_CHECKING:
    from typing import Any


class _NotRepeated:
    """Enqueue ops as single steps. What takes its place says which step of which client one is (step_identity)."""

    def current(self):
        return contextlib.nullcontext()


class QueueRunner:
    """Runs each of its enqueue ops in a thread of its own until the queue is closed or a coordinator stops."""

    def __init__(self, queue=None, enqueue_ops=None, close_op=None, cancel_op=None, queue_closed_exception_types=None,
                 queue_runner_def=None, import_scope=None):
        if queue_runner_def is not None:
            if queue or enqueue_ops:
                raise ValueError("queue_runner_def and queue or enqueue_ops are mutually exclusive")
            self._from_proto(queue_runner_def, import_scope)
        else:
            self._from_arguments(queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types)
        self._lock = threading.Lock()
        self._rounds = _NotRepeated()
        self._runs_per_session = weakref.WeakKeyDictionary()
        self._exceptions_raised = []

    def _from_arguments(self, queue, enqueue_ops, close_op, cancel_op, types):
        if not queue or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        self._queue, self._enqueue_ops, self._close_op, self._cancel_op = queue, enqueue_ops, close_op, cancel_op
        if types is not None and (not isinstance(types, tuple) or not types
                                  or not all(issubclass(t, errors.OpError) for t in types)):
            raise TypeError(f"queue_closed_exception_types, when provided, must be a tuple of tf.error types, but saw: {types}")
        self._queue_closed_exception_types = types or (errors.OutOfRangeError,)
        if self._close_op is None:
            self._close_op = queue.close()
        if self._cancel_op is None:
            self._cancel_op = queue.close(cancel_pending_enqueues=True)

    def _from_proto(self, proto, import_scope):
        graph = ops.get_default_graph()
        find = lambda name: graph.as_graph_element(ops.prepend_name_scope(name, import_scope))
        self._queue = find(proto.queue_name)
        self._enqueue_ops = [find(name) for name in proto.enqueue_op_name]
        self._close_op, self._cancel_op = find(proto.close_op_name), find(proto.cancel_op_name)
        self._queue_closed_exception_types = tuple(
            errors.exception_type_from_error_code(code) for code in proto.queue_closed_exception_types) \
            or (errors.OutOfRangeError,)

    queue = property(lambda self: self._queue)
    enqueue_ops = property(lambda self: self._enqueue_ops)
    close_op = property(lambda self: self._close_op)
    cancel_op = property(lambda self: self._cancel_op)
    queue_closed_exception_types = property(lambda self: self._queue_closed_exception_types)
    exceptions_raised = property(lambda self: self._exceptions_raised)

    @property
    def name(self) -> str:
        return self._queue.name

    def _run(self, sess, enqueue_op, coord=None):
        decremented = False
        try:
            enqueue = sess.make_callable(enqueue_op) if hasattr(sess, "make_callable") else lambda: sess.run(enqueue_op)
            while True:
                if coord and coord.should_stop():
                    break
                try:
                    with self._rounds.current():
                        enqueue()
                except self._queue_closed_exception_types:
                    with self._lock:
                        self._runs_per_session[sess] -= 1
                        decremented = True
                        last = self._runs_per_session[sess] == 0
                    if last:  # no more to come
                        try:
                            sess.run(self._close_op)
                        except Exception:  # noqa: BLE001  the session may be gone
                            pass
                    return
        except Exception as e:
            if coord:
                closed = isinstance(e, (errors.CancelledError, RuntimeError)) and getattr(sess, "_closed", False)
                if not closed and not (coord.should_stop() and isinstance(e, errors.CancelledError)):
                    coord.request_stop(e)
            else:
                from millstream.framework import log
                log.error("Exception in QueueRunner: %s", str(e))
                with self._lock:
                    self._exceptions_raised.append(e)
                raise
        finally:
            if not decremented:
                with self._lock:
                    self._runs_per_session[sess] -= 1

    def _close_on_stop(self, sess, cancel_op, coord):
        coord.wait_for_stop()
        try:
            sess.run(cancel_op)
        except Exception:  # noqa: BLE001  the session may be closed already
            pass

    def create_threads(self, sess: Any, coord: Any = None, daemon: bool = False, start: bool = False) -> list[Any]:
        """A thread for each enqueue op and, with a coordinator, one that closes the queue when it stops."""
        with self._lock:
            if self._runs_per_session.get(sess, 0) > 0:
                return []
            self._runs_per_session[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        names = f"QueueRunnerThread-{self.name}-"
        threads = [threading.Thread(target=self._run, args=(sess, op, coord), name=names + getattr(op, "name", str(op)))
                   for op in self._enqueue_ops]
        if coord:
            threads.append(threading.Thread(target=self._close_on_stop, args=(sess, self._cancel_op, coord),
                                            name=names + "close_on_stop"))
        for thread in threads:
            if coord:
                coord.register_thread(thread)
            if daemon:
                thread.daemon = True
            if start:
                thread.start()
        return threads

    def to_proto(self, export_scope=None):
        from millstream.proto import queue_runner_pb2
        if export_scope is not None and not self.queue.name.startswith(export_scope):
            return None
        strip = lambda x: ops.strip_name_scope(x.name, export_scope)
        return queue_runner_pb2.QueueRunnerDef(
            queue_name=strip(self.queue), enqueue_op_name=[strip(op) for op in self._enqueue_ops],
            close_op_name=strip(self._close_op), cancel_op_name=strip(self._cancel_op),
            queue_closed_exception_types=[errors.error_code_from_exception_type(t)
                                          for t in self._queue_closed_exception_types])

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: Any = None) -> Any:
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def add_queue_runner(qr: Any, collection: Any = ops.GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a QueueRunner to a collection of the graph."""
    ops.add_to_collection(collection, qr)


def start_queue_runners(sess: Any = None, coord: Any = None, daemon: bool = True, start: bool = True,
                        collection: Any = ops.GraphKeys.QUEUE_RUNNERS) -> list[threading.Thread]:
    """Starts the threads of all queue runners of the graph; returns them."""
    from millstream.client import session
    if sess is None:
        sess = ops.get_default_session()
        if sess is None:
            raise ValueError("Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or "
                             "pass an explicit session to tf.start_queue_runners(sess=sess)")
    if not isinstance(sess, session.BaseSession):
        if type(sess).__name__ in ("MonitoredSession", "SingularMonitoredSession"):
            raise TypeError("sess must be a `tf.Session` object, but it is a MonitoredSession, which starts its queue runners "
                            "by itself. Use sess.raw_session() of a SingularMonitoredSession, or a hook's session.")
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    runners = ops.get_collection(collection)
    if not runners:
        from millstream.framework import log
        log.warning("`tf.train.start_queue_runners()` was called when no queue runners were defined. You can safely remove "
                    "the call to this deprecated function.")
    with sess.graph.as_default():
        return [thread for runner in runners for thread in runner.create_threads(sess, coord=coord, daemon=daemon, start=start)]
