# SPDX-License-Identifier: Apache-2.0
"""The end of synchronous training: workers end with their chief, since nobody would answer their gradients any more.

A queue at the ps holds a mark from when a chief has ended well until the next one begins."""
import os
import threading
import time

from millstream.framework import dtypes, errors
from millstream.ops.queues import data_flow_ops

_LOOK_SECS, _FAREWELL_SECS = 2, 10
_GRACE_SECS = 10.0


def _log():
    from millstream.framework import log
    return log


class ChiefEnds:
    """The ops, placed by the caller; `release` hands out tokens to workers that wait."""

    def __init__(self, release):
        marks = data_flow_ops.FIFOQueue(-1, dtypes.int32, shapes=[[]], name="sync_end_q", shared_name="sync_end_q")
        self.count = marks.size()
        self.add = marks.enqueue(1)
        self.clear = marks.dequeue_many(self.count)
        self.release = release


def _of(session):
    return getattr(session.graph, "_sync_ends", None)


def _try(session, fetch, secs):
    """(value, None) or, as the cluster may be gone, (None, what is wrong)."""
    from millstream.proto import config_pb2
    try:
        return session.run([fetch], options=config_pb2.RunOptions(timeout_in_ms=int(1000 * secs)))[0], None
    except Exception as e:  # noqa: BLE001
        return None, e


def say_chief_begins(session):
    ends = _of(session)
    if ends is not None:
        session.run(ends.clear)


def say_chief_ends(session):
    """Run by a chief that ends well: workers that wait for it may go."""
    ends = _of(session)
    if ends is not None:
        _, error = _try(session, ends.add, _FAREWELL_SECS)
        if error is not None:
            _log().info("Other workers were not told that the chief leaves: %s", error)


class EndRule:
    """From how many chiefs have ended, at each look, tells whether a worker has to end: when one more has, or when there was a mark
    before this worker came and no new chief has come within the grace (None: it may take as long as it likes)."""

    def __init__(self, grace_secs):
        self._grace_secs = grace_secs
        self._count = self._since = None

    def must_end(self, count, now):
        if self._count is None:
            self._count, self._since = count, now
            if count > 0:
                _log().info("The chief ended before this worker started: waiting %sfor a new one.",
                            "" if self._grace_secs is None else f"{self._grace_secs:g} s ")
            return False
        if count > self._count:
            return True
        self._count = count
        return count > 0 and self._grace_secs is not None and now - self._since >= self._grace_secs


def watch_for_end(session, coord, every_secs=1.0):
    """A thread that ends this worker when the chief has ended."""
    ends = _of(session)
    if ends is None:
        return
    rule = EndRule(None if os.environ.get("MILLSTREAM_KEEP_PS") == "1" else _GRACE_SECS)

    def look():
        """Whether to look again."""
        count, error = _try(session, ends.count, _LOOK_SECS)
        if error is not None:
            return isinstance(error, errors.DeadlineExceededError)  # else the session is over, or says itself what is wrong
        if not rule.must_end(int(count), time.monotonic()):
            return True
        _log().info("The chief has ended; this worker ends, too.")
        coord.request_stop()
        while isinstance(_try(session, ends.release, _FAREWELL_SECS)[1], errors.DeadlineExceededError):
            pass
        return False

    def watch():
        while not coord.wait_for_stop(every_secs) and look():
            pass

    if look():  # at once: a chief that ends from now on is noticed
        threading.Thread(target=watch, daemon=True, name="sync_end").start()
