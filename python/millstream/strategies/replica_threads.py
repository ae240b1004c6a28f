# SPDX-License-Identifier: Apache-2.0
"""A function called for every replica, each call in a thread of its own. One thread runs at a time: each goes on until it ends or waits for the
others in merge_call()."""
from __future__ import annotations

import contextlib
import threading

from millstream.framework import ops
from millstream.ops.variables import variable_scope as vs
from millstream.strategies import context, values


class ReplicaContext:
    """Inside of a replica."""

    def __init__(self, strategy, replica_id_in_sync_group=0, thread=None):
        self.strategy, self._id, self._thread = strategy, replica_id_in_sync_group, thread

    num_replicas_in_sync = property(lambda self: self.strategy.num_replicas_in_sync)
    replica_id_in_sync_group = property(lambda self: ops.convert_to_tensor(self._id))
    devices = property(lambda self: (self.strategy.extended.worker_devices[self._id % len(self.strategy.extended.worker_devices)],))

    def merge_call(self, merge_fn, args=(), kwargs=None):
        """merge_fn(strategy, ...) once for all replicas; arguments that differ between replicas are PerReplica."""
        if self._thread is not None:
            return self._thread.merge(merge_fn, args, kwargs or {})
        with context.entered(self.strategy):
            return merge_fn(self.strategy, *args, **(kwargs or {}))

    def all_reduce(self, reduce_op, value, options=None):
        """The values of all replicas, reduced; a structure of tensors or one."""
        del options
        from millstream.ops import nest
        flat = nest.flatten(value) if nest.is_nested(value) else [value]

        def merged(strategy, *parts):
            return [strategy.reduce(reduce_op, part, axis=None) for part in parts]
        reduced = self.merge_call(merged, args=tuple(flat))
        return nest.pack_sequence_as(value, reduced) if nest.is_nested(value) else reduced[0]

    def __enter__(self):
        self._entered = context.entered(self.strategy, self, self._id)
        return self._entered.__enter__() and self

    def __exit__(self, *error):
        return self._entered.__exit__(*error)


class _Outer:
    """What `with` statements around the call have set."""

    def __init__(self):
        self.graph = ops.get_default_graph()
        state = self.graph._state
        self.scope, self.devices, self.control, self.colocation = state.scope, state.devices, state.control, state.colocation
        self.variable_scope = vs.get_variable_scope()

    def enter(self):
        state = self.graph._state
        state.scope, state.devices, state.control, state.colocation = self.scope, self.devices, self.control, self.colocation


class _ReplicaThread(threading.Thread):
    def __init__(self, strategy, index, device, fn, args, kwargs, outer, first_id):
        super().__init__(daemon=True)
        self._index, self._device, self._fn, self._args, self._kwargs, self._outer = index, device, fn, args, kwargs, outer
        self._context = ReplicaContext(strategy, first_id + index, self)
        self._turn, self._waits = threading.Semaphore(0), threading.Semaphore(0)
        self.result, self.error, self.merge_request, self.merged, self.done, self._stopped = None, None, None, None, False, False

    def go_on(self):
        """Runs until the function ends or calls merge_call()."""
        self._turn.release()
        self._waits.acquire()

    def stop(self):
        """Another replica has failed."""
        if not self.done:
            self._stopped = True
            self.go_on()

    def merge(self, merge_fn, args, kwargs):
        state = self._outer.graph._state
        # What is merged belongs to the scopes of the first replica.
        self.merge_request = merge_fn, args, kwargs, state.scope, state.control
        self._waits.release()
        self._turn.acquire()
        if self._stopped:
            raise SystemExit
        return values.select(self._index, self.merged)

    def run(self):
        self._turn.acquire()
        try:
            if not self._stopped:
                self.result = self._call()
        except SystemExit:
            pass
        except BaseException as error:  # noqa: BLE001  raised in the thread of the caller
            self.error = error
        self.done = True
        self._waits.release()

    def _call(self):
        outer = self._outer
        with outer.graph.as_default():
            outer.enter()
            strategy = self._context.strategy
            names = ops.name_scope(f"replica_{self._index}") if self._index else contextlib.nullcontext()
            with context.entered(strategy, self._context, self._index), ops.device(self._device), \
                    vs.variable_scope(outer.variable_scope, reuse=True if self._index else None, auxiliary_name_scope=False), \
                    names:
                return self._fn(*self._args, **self._kwargs)


def _merge(strategy, threads, outer):
    """Runs the merge function that all replicas have called."""
    requests = [t.merge_request for t in threads]
    if any(r is None for r in requests):
        raise RuntimeError("merge_call() was called by some replicas, but not by all")
    for t in threads:
        t.merge_request = None
    args = values.regroup([tuple(r[1]) for r in requests])
    kwargs = values.regroup([r[2] for r in requests])
    state = outer.graph._state
    before = state.scope, state.control
    state.scope, state.control = requests[0][3], requests[0][4]
    try:
        with context.entered(strategy):
            merged = requests[0][0](strategy, *args, **kwargs)
    finally:
        state.scope, state.control = before
    for t in threads:
        t.merged = merged


def call_for_each(strategy, devices, fn, args, kwargs, first_id=0):
    """What the calls return, regrouped. The first error of a replica is raised."""
    outer = _Outer()
    threads = [_ReplicaThread(strategy, i, device, fn, values.select(i, tuple(args)), values.select(i, dict(kwargs)), outer, first_id)
               for i, device in enumerate(devices)]
    for thread in threads:
        thread.start()
    try:
        while True:
            for thread in threads:
                if not thread.done:
                    thread.go_on()
                if thread.error is not None:
                    raise thread.error
            if all(t.done for t in threads):
                return values.regroup([t.result for t in threads])
            if any(t.done for t in threads):
                raise RuntimeError("Some replicas called merge_call() again after others had ended")
            _merge(strategy, threads, outer)
    finally:
        for thread in threads:
            thread.stop()
            thread.join()
