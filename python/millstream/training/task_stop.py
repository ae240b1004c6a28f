# SPDX-License-Identifier: Apache-2.0
"""How a program of a cluster stops when it is told to, by SIGTERM, Ctrl-C or `millstream stop`: an exception ends it wherever it is,
and its trainings save on the way out."""
from __future__ import annotations

import os
import signal
import threading
import weakref
from typing import Any

from millstream import _core

_EXIT_SECS = 8.0    # then the process ends, whatever the program does


class TaskStopped(SystemExit):
    """Raised in the main thread by SIGTERM (status 143) and `millstream stop` (status 0)."""


_STOPS = (KeyboardInterrupt, TaskStopped)
_installed_in = None   # process
_stopping = False
_status = 0            # of the process, once it stops
_trainings: weakref.WeakSet[Any] = weakref.WeakSet()  # that save when the program stops; each has stop_and_save()


def _log():
    from millstream.framework import log
    return log


def install():
    """SIGTERM stops the program as `millstream stop` does, unless it has a handler of its own."""
    global _installed_in
    if _installed_in == os.getpid() or threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return
    _installed_in = os.getpid()
    signal.signal(signal.SIGTERM, _on_signal)
    _core.watch_signal(signal.SIGTERM)


def _on_signal(number, _frame):
    global _stopping, _status
    if os.getpid() != _installed_in:  # a child that was forked
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        return
    from millstream.training import server_lib
    by_command = server_lib.told_to_stop()
    status = 0 if by_command else 128 + number
    if _stopping:
        os._exit(status)
    _stopping = True
    _status = status
    _log().info("Stopping: %s", "millstream stop" if by_command else signal.Signals(number).name)
    _core.exit_after(_EXIT_SECS, status)
    raise TaskStopped(status)


def raise_if_stopping():
    """Raises TaskStopped again: Python drops exceptions of a signal that comes during a finalizer or a weak reference's callback."""
    if _stopping:
        raise TaskStopped(_status)


def is_stop(exception_type):
    return exception_type is not None and issubclass(exception_type, _STOPS)


def add(training):
    """Will be asked to stop_and_save() if the program stops without closing it."""
    _trainings.add(training)


def finish(target, save):
    """Calls save(), which may take its time; a task that does not answer makes it fail rather than hang."""
    from millstream.training import server_lib
    _core.hold_exit()
    try:
        server_lib.drop_silent_peers(target)
        save()
    except Exception as error:  # noqa: BLE001  the program stops anyway
        _log().error("What was done since the last checkpoint is not saved: %s", error)
    finally:
        _core.release_exit()


def save_all():
    """At the end of a program that was stopped: trainings that were not closed save."""
    for training in list(_trainings):
        training.stop_and_save()
