# SPDX-License-Identifier: Apache-2.0
"""FileWriter: event files that TensorBoard reads."""
from __future__ import annotations

import atexit
import os
import queue
import socket
import threading
import time
import weakref
from typing import TYPE_CHECKING

from millstream import _core
from millstream.platform.local_files import local_path

if TYPE_CHECKING:
    from typing import Any, Iterator

_FLUSH, _CLOSE = object(), object()
_open: weakref.WeakSet = weakref.WeakSet()


def _close_all():
    for writer in list(_open):
        try:
            writer.close()
        except Exception:  # noqa: BLE001  the process ends anyway
            pass


atexit.register(_close_all)


class _EventFile(threading.Thread):
    """Writes events in the background. The file appears with the first event."""

    def __init__(self, logdir, max_queue, flush_secs, suffix):
        super().__init__(name="event-writer", daemon=True)
        self._logdir, self._flush_secs, self._suffix = logdir, flush_secs, suffix or ""
        self._queue = queue.Queue(max(max_queue, 1))
        self._writer, self.path, self._error = None, None, None
        self.start()

    def _file(self):
        if self._writer is None:
            from millstream.proto import event_pb2
            now = time.time()
            self.path = os.path.join(self._logdir, f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}{self._suffix}")
            taken = 0
            while os.path.exists(local_path(self.path)):
                taken += 1
                self.path = os.path.join(self._logdir, f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}."
                                         f"{os.getpid()}.{taken}{self._suffix}")
            self._writer = _core.RecordWriter(self.path)
            self._writer.write(event_pb2.Event(wall_time=now, file_version="brain.Event:2").SerializeToString())
        return self._writer

    def run(self):
        next_flush = time.monotonic() + self._flush_secs
        while True:
            try:
                item = self._queue.get(timeout=max(0.0, next_flush - time.monotonic()))
            except queue.Empty:
                item = None
            done = None
            try:
                if isinstance(item, tuple):
                    kind, done = item
                    if self._writer is not None:
                        self._writer.flush() if kind is _FLUSH else self._writer.close()
                    if kind is _CLOSE:
                        return
                elif item is not None:
                    self._file().write(item.SerializeToString())
                if time.monotonic() >= next_flush:
                    if self._writer is not None:
                        self._writer.flush()
                    next_flush = time.monotonic() + self._flush_secs
            except Exception as error:  # noqa: BLE001  training goes on without its log
                if self._error is None:
                    from millstream.framework import log
                    log.error("Events cannot be written: %s", error)
                self._error = error
            finally:
                if done is not None:
                    done.set()

    def put(self, event):
        self._queue.put(event)

    def wait_for(self, kind):
        done = threading.Event()
        self._queue.put((kind, done))
        while not done.wait(0.1) and self.is_alive():
            pass


class FileWriter:
    """Writes summaries, graphs and metadata of runs to a folder."""

    def __init__(self, logdir, graph=None, max_queue=10, flush_secs=120, graph_def=None, filename_suffix=None, session=None):
        if session is not None and graph is None:
            graph = session.graph
        if logdir is None or logdir == "":
            raise ValueError("A folder to log to is needed")
        self._logdir = os.fspath(logdir)
        _core.make_folders(os.fspath(self._logdir))
        self._settings = (self._logdir, max_queue, flush_secs, filename_suffix)
        self._evaluation_run = _core.evaluation_run(self._logdir)
        self._file, self._closed = _EventFile(*self._settings), False
        self._seen_tags, self._session_run_tags = set(), {}
        _open.add(self)
        if graph is not None or graph_def is not None:
            self.add_graph(graph=graph, graph_def=graph_def)
            from millstream.framework import meta_graph
            item = graph if graph is not None else graph_def
            definition = item.as_graph_def(add_shapes=True) if hasattr(item, "as_graph_def") else item
            self.add_meta_graph(meta_graph.create_meta_graph_def(graph_def=definition))

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error):
        self.close()

    def get_logdir(self) -> Any:
        return self._logdir

    def add_event(self, event: Any) -> None:
        if self._closed:
            from millstream.framework import log
            log.warning("Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter is explicitly "
                        "reopened.")
            return
        self._report_evaluation(event)
        self._file.put(event)

    def _report_evaluation(self, event):
        """Scalars for the folder of an evaluation are curves on the status page, too."""
        if self._evaluation_run and event.HasField("summary"):
            for value in event.summary.value:
                if value.WhichOneof("value") == "simple_value":
                    _core.report_evaluation(self._evaluation_run, value.tag, value.simple_value, event.step)

    def _add(self, event, step):
        event.wall_time = time.time()
        if step is not None:
            event.step = int(step)
        self.add_event(event)

    def add_summary(self, summary, global_step=None):
        """`summary` is what a summary op gave, or a Summary."""
        from millstream.proto import event_pb2, summary_pb2
        if isinstance(summary, bytes):
            message = summary_pb2.Summary.FromString(summary)
        elif isinstance(summary, summary_pb2.Summary):
            message = summary
        else:
            message = summary_pb2.Summary.FromString(bytes(summary) if not hasattr(summary, "SerializeToString")
                                                     else summary.SerializeToString())
        for value in message.value:  # metadata is needed once for each tag
            if value.metadata.ByteSize() or value.HasField("metadata"):
                if value.tag in self._seen_tags:
                    value.ClearField("metadata")
                else:
                    self._seen_tags.add(value.tag)
        self._add(event_pb2.Event(summary=message), global_step)

    def add_session_log(self, session_log, global_step=None):
        from millstream.proto import event_pb2
        self._add(event_pb2.Event(session_log=session_log), global_step)

    def add_graph(self, graph=None, global_step=None, graph_def=None):
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        item = graph if graph is not None else graph_def
        if item is None:
            raise ValueError("A graph is needed")
        definition = item.as_graph_def(add_shapes=True) if hasattr(item, "as_graph_def") else item
        from millstream.proto import event_pb2
        self._add(event_pb2.Event(graph_def=definition.SerializeToString()), global_step)

    def add_meta_graph(self, meta_graph_def, global_step=None):
        from millstream.proto import event_pb2
        self._add(event_pb2.Event(meta_graph_def=meta_graph_def.SerializeToString()), global_step)

    def add_run_metadata(self, run_metadata, tag, global_step=None):
        if tag in self._session_run_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._session_run_tags[tag] = True
        from millstream.proto import event_pb2
        tagged = event_pb2.TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
        self._add(event_pb2.Event(tagged_run_metadata=tagged), global_step)

    def flush(self) -> None:
        if not self._closed:
            self._file.wait_for(_FLUSH)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._file.wait_for(_CLOSE)

    def reopen(self) -> None:
        if self._closed:
            self._file, self._closed = _EventFile(*self._settings), False


SummaryWriter = FileWriter


def summary_iterator(path) -> Iterator[Any]:
    """Yields the events of an event file, in the order in which they were written."""
    import millstream.proto.event_pb2 as event_pb2
    reader = _core.RecordReader(os.fspath(path))
    while True:
        record = reader.read()
        if record is None:
            return
        yield event_pb2.Event.FromString(record)
