# SPDX-License-Identifier: Apache-2.0
"""Which strategy is in force in this thread, and whether its code runs for one replica or for all of them."""
from __future__ import annotations

import contextlib
import threading


class _Stack(threading.local):
    def __init__(self):
        super().__init__()
        self.entries = []  # (strategy, replica context or None for all replicas, index of the copies of variables or None)


_stack = _Stack()


@contextlib.contextmanager
def entered(strategy, replica=None, copy=None):
    entry = strategy, replica, copy
    _stack.entries.append(entry)
    try:
        yield strategy
    finally:
        _stack.entries.remove(entry)


def current():
    """(strategy, replica context, copy), or Nones outside of all strategies."""
    return _stack.entries[-1] if _stack.entries else (None, None, None)


def copy_index():
    """Which copy of mirrored variables is meant here; None: all of them, and for reading the first."""
    return _stack.entries[-1][2] if _stack.entries else None


def several_replicas():
    """The strategy in force, if it has several replicas or workers."""
    strategy = _stack.entries[-1][0] if _stack.entries else None
    return strategy if strategy is not None and strategy.num_replicas_in_sync > 1 else None
