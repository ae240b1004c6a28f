# SPDX-License-Identifier: Apache-2.0
"""How this program ends: Python tells functions of atexit nothing of sys.exit(3)."""
import sys
import threading

_leave = None       # Python's sys.exit
_failed = False


def is_failure(code):
    """Whether sys.exit(code) ends a program without success: a number other than 0, or a text for stderr."""
    return code is not None and code is not False and code != 0


def note(code):
    """The program is about to end with this status."""
    global _failed
    if threading.current_thread() is threading.main_thread():
        _failed = is_failure(code)


def watch():
    """From now on sys.exit() is seen; where the exception that it raises is caught, the next call or training tells."""
    global _leave
    if _leave is None:
        _leave = sys.exit
        sys.exit = _noting_exit


def _noting_exit(status=None, /):
    note(status)
    _leave(status)


def forget():
    """A training begins: an exit before it did not end the program."""
    global _failed
    _failed = False


def was_stopped():
    """Whether a signal or `millstream stop` ends the program."""
    from millstream.training import task_stop
    return task_stop.is_stop(type(getattr(sys, "last_value", None))) or task_stop._stopping


def failed():
    """Whether the program ends without success: an exception that nobody caught, or sys.exit() of a status other than 0."""
    return _failed or getattr(sys, "last_value", None) is not None
