# SPDX-License-Identifier: Apache-2.0
"""Which step of which client a thread runs, so that tasks recognize a step that is repeated after an outage."""
import contextlib
import itertools
import secrets
import threading

NONE = (0, 0)


class _Thread(threading.local):
    asked = NONE  # by whoever repeats it
    running = NONE


_thread = _Thread()


def random_client():
    return secrets.randbits(64) | 1


class Client:
    """Numbers the steps of a client that retries those that an outage has ended."""

    def __init__(self):
        self._id = random_client()
        self._numbers = itertools.count(1)

    def next_step(self):
        return self._id, next(self._numbers)


@contextlib.contextmanager
def asked(identity):
    """What this thread runs in the block is for that step. Other steps may be run for it beside the step itself."""
    _thread.asked = identity
    try:
        yield
    finally:
        _thread.asked = NONE


@contextlib.contextmanager
def running():
    """In this block the thread runs the step itself."""
    _thread.running = _thread.asked
    try:
        yield
    finally:
        _thread.running = NONE


def current():
    return _thread.running
