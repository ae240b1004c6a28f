# SPDX-License-Identifier: Apache-2.0
"""Coordinator: threads that end together, and the first error among them."""
from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import TYPE_CHECKING

from millstream.framework import errors

if TYPE_CHECKING:
    from typing import Any, Optional


def _log():
    from millstream.framework import log
    return log


_QUEUE_GRACE_SECS = 1.0


def _fills_queue(thread):
    return thread.daemon and thread.name.startswith("QueueRunnerThread-")


class Coordinator:
    """Stops threads together: one asks to stop or reports an exception, the others see should_stop(), join() raises it."""

    def __init__(self, clean_stop_exception_types=None):
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (errors.OutOfRangeError,)
        self._clean_stop_exception_types = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop_event = threading.Event()
        self._exc_info_to_raise = None
        self._joined = False
        self._registered_threads = set()

    @property
    def joined(self) -> Any:
        return self._joined

    def _is_clean(self, error):
        return isinstance(error, self._clean_stop_exception_types)

    def request_stop(self, ex: Any = None) -> None:
        """Asks all threads to stop; the first exception that is given is raised by join()."""
        with self._lock:
            info = self._exc_info(ex)
            if self._joined:
                if info is not None and not self._is_clean(info[1]):
                    raise info[1].with_traceback(info[2])
                return
            if not self._stop_event.is_set():
                if info is not None:
                    if self._is_clean(info[1]):
                        _log().info("Error reported to Coordinator: %s, %s", type(info[1]), info[1])
                    else:
                        self._exc_info_to_raise = info
                        _log().info("Error reported to Coordinator: %s, %s", type(info[1]), info[1])
                self._stop_event.set()

    def _exc_info(self, ex):
        if ex is None:
            return None
        if isinstance(ex, tuple):
            return ex
        traceback = sys.exc_info()[2] if sys.exc_info()[1] is ex else ex.__traceback__
        return type(ex), ex, traceback

    def clear_stop(self) -> None:
        """Forgets a request to stop, so that threads can run again."""
        with self._lock:
            self._joined = False
            self._exc_info_to_raise = None
            self._stop_event.clear()

    def should_stop(self) -> bool:
        """Whether a stop was requested."""
        return self._stop_event.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self):
        """For the body of a thread: an exception stops all."""
        try:
            yield
        except Exception as ex:  # noqa: BLE001  it is raised again in join()
            self.request_stop(ex)

    def wait_for_stop(self, timeout: Any = None) -> bool:
        """Waits until a stop is requested, at most `timeout` seconds; returns whether it was."""
        return self._stop_event.wait(timeout)

    def register_thread(self, thread: Any) -> None:
        """Adds a thread that join() waits for."""
        with self._lock:
            self._registered_threads.add(thread)

    def join(self, threads: Any = None, stop_grace_period_secs: Any = 120, ignore_live_threads: bool = False) -> None:
        """Waits for the threads; after a stop, no longer than the grace period."""
        with self._lock:
            threads = set(threads or ()) | self._registered_threads
        while any(t.is_alive() for t in threads) and not self.wait_for_stop(0.05):
            pass
        if not self._stop_event.is_set():
            self._stop_event.set()
        now = time.monotonic()
        # A queue runner may wait in a step for what other workers will not send any more; closing the session ends it.
        for thread in sorted(threads, key=_fills_queue):
            grace = min(stop_grace_period_secs, _QUEUE_GRACE_SECS) if _fills_queue(thread) else stop_grace_period_secs
            if thread.is_alive():
                thread.join(max(0.0, now + grace - time.monotonic()))
        stragglers = [t.name for t in threads if t.is_alive() and not _fills_queue(t)]
        with self._lock:
            self._joined = True
            self._registered_threads = set()
            if self._exc_info_to_raise is not None:
                error = self._exc_info_to_raise
                raise error[1].with_traceback(error[2])
            if stragglers:
                if ignore_live_threads:
                    _log().info("Coordinator stopped with threads still running: %s", " ".join(stragglers))
                else:
                    raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(stragglers)}")

    def requested_error(self) -> Any:
        """The error that was reported, or None."""
        with self._lock:
            return self._exc_info_to_raise[1] if self._exc_info_to_raise is not None else None

    def raise_requested_exception(self) -> None:
        """Raises the error that was reported, if there is one."""
        with self._lock:
            if self._exc_info_to_raise is not None:
                raise self._exc_info_to_raise[1].with_traceback(self._exc_info_to_raise[2])


class LooperThread(threading.Thread):
    """Runs a function every so many seconds until the coordinator stops."""

    def __init__(self, coord: Any, timer_interval_secs: Any, target: Optional[str] = None, args: Any = None,
                 kwargs: Any = None) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        super().__init__()
        self.daemon = True
        self._coord, self._interval = coord, timer_interval_secs
        self._function, self._args, self._kwargs = target, args or (), kwargs or {}
        coord.register_thread(self)

    @staticmethod
    def loop(coord: Any, timer_interval_secs: Any, target: str, args: Any = None, kwargs: Any = None) -> Any:
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> Any:
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._interval is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                next_time = time.monotonic()
                while not self._coord.wait_for_stop(max(0.0, next_time - time.monotonic())):
                    next_time += self._interval
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        pass

    def stop_loop(self) -> None:
        pass

    def run_loop(self):
        if self._function:
            self._function(*self._args, **self._kwargs)
