# SPDX-License-Identifier: Apache-2.0
"""hvd.join(): a rank that has no more data takes part in the reductions of the others, with zeros, until all have joined."""
from __future__ import annotations

import threading
import time
import weakref

import numpy as np

from millstream.framework import log, ops
from millstream.horovod import collectives

_reductions: dict = {}  # (name, process set) -> (dtype, shape, merge_op, mean, graph), of all graphs of this process
_lock = threading.Lock()


def note(tensor, merge_op, mean, name, process_set):
    """This process has the reduction in a graph."""
    with _lock:
        _reductions[name, process_set] = collectives.carrier(tensor.dtype), tensor.shape, merge_op, mean, weakref.ref(tensor.graph)


def _signal(merge_op):
    """What every rank contributes once all have joined; the reduction of it differs from that of it and zeros."""
    return -1 if merge_op == "Max" else 1


class _Zeros:
    """Runs one reduction again and again, with zeros. Others need not be in the same turn: ops of one name wait for each other. When all ranks
    have joined, `_signal` takes the place of the zeros; the turn in which all contribute it is the last one of every rank."""

    def __init__(self, session, name, process_set, spec, all_joined):
        from millstream import gen_ops
        from millstream.framework import constant_op
        dtype, shape, merge_op, mean, _ = spec
        self._session, self._all_joined, self._merge_op = session, all_joined, merge_op
        self._value = constant_op.placeholder(dtype, [])
        filled = gen_ops.fill(shape.as_list(), self._value)
        reduced = collectives.reduce(filled, merge_op, mean, name, process_set)
        self._first = gen_ops.reshape(reduced, [-1])[0]
        self._last = _signal(merge_op) * (process_set.size() if merge_op == "Add" and not mean else 1)
        self.error = None
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        try:
            while True:
                value = _signal(self._merge_op) if self._all_joined.is_set() else 0
                if self._session.run(self._first, {self._value: value}) == self._last and value:
                    return
        except Exception as error:  # noqa: BLE001  raised by join()
            self.error = error


def join():
    """An op that ends when all ranks have run it; the rank that came last."""
    from millstream.framework import dtypes
    from millstream.ops.functions import script_ops
    rank = script_ops.py_func(lambda: np.int32(_join_now()), [], dtypes.int32, name="HorovodJoin")
    rank.set_shape([])
    return rank


def _known():
    """The reductions that this rank can take part in."""
    with _lock:
        known = {key: spec for key, spec in _reductions.items()
                 if spec[-1]() is not None and key[1].process_set_id is not None and key[1].included()}
    for (name, _), (_, shape, *_) in known.items():
        if not shape.is_fully_defined():
            log.warning("hvd.join(): this rank takes no part in %s any more, since the shape of the tensor is not known; ranks that still "
                        "reduce it will wait", name)
    return {key: spec for key, spec in known.items() if spec[1].is_fully_defined()}


def _join_now():
    from millstream.client import session as sessions
    from millstream.horovod import basics
    from millstream.horovod.process_sets import global_process_set
    if basics.size() == 1:
        return 0
    joined = threading.Event()
    with ops.Graph().as_default(), sessions.Session() as session:
        turns = [_Zeros(session, name, process_set, spec, joined) for (name, process_set), spec in _known().items()]
        now = ops.convert_to_tensor(np.array([time.time()]))
        times = collectives.gather(now, "HorovodJoin", global_process_set)
        session.run(ops.convert_to_tensor(0))  # the graph is complete before threads use it
        for turn in turns:
            turn.thread.start()
        came = session.run(times)
        joined.set()
        for turn in turns:
            turn.thread.join()
    errors = [turn.error for turn in turns if turn.error is not None]
    if errors:
        raise errors[0]
    return int(np.argmax(came))
