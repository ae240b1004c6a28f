# SPDX-License-Identifier: Apache-2.0
"""hvd.elastic: training that goes on after ranks have died, and with ranks that have come.

State is committed in memory by every rank. When a collective fails, all ranks go back to their last commit and form the next world: without
the ranks that are gone (`millstream launch --workers LEAST:MOST`), or with them, started again (`--workers N --max_restarts`). All take the
state of the rank that has committed most, and call the training function again. Ranks that have come are taken in at a commit.
"""
from __future__ import annotations

import copy
import functools

from millstream.framework import log, ops
from millstream.horovod import basics, environment, functions, process_sets
from millstream.horovod.exceptions import HorovodInternalError, HostsUpdatedInterrupt
from millstream.horovod.meeting import LOST
from millstream.horovod.work_queue import WorkQueue


class _HostUpdates:
    """Whether all ranks are to form the next world: all find out at the same commit, since the rank that knows most tells the others."""

    def __init__(self):
        self._session = None

    def _build(self):
        from millstream.client import session
        from millstream.framework import constant_op, dtypes
        from millstream.horovod import collectives
        with ops.Graph().as_default() as graph:
            self._own = constant_op.placeholder(dtypes.int32, [])
            self._newest = collectives.reduce(self._own, "Max", False, "HorovodHostUpdates", process_sets.global_process_set)
            self._session = session.Session(graph=graph)

    def have_come(self):
        newest, current = basics.newest_world()
        if basics.size() > 1:
            if self._session is None:
                self._build()
            newest = self._session.run(self._newest, {self._own: newest})
        return newest > current


class State:
    """What training consists of, besides the program. Subclasses define save(), restore() and sync()."""

    def __init__(self, bcast_object=None, get_rank=None):
        self._bcast_object = bcast_object or functions.broadcast_object
        self._rank = get_rank or basics.rank
        self._reset_callbacks = []
        self._commits = 0
        self._updates = _HostUpdates()

    def register_reset_callbacks(self, callbacks):
        """Functions without arguments that are called after ranks were lost or have come."""
        self._reset_callbacks.extend(callbacks)

    def on_reset(self):
        self.reset()
        for callback in self._reset_callbacks:
            callback()

    def commit(self):
        """Keeps the state as the one to which training returns after a failure."""
        self.save()
        self._commits += 1
        self.check_host_updates()

    def check_host_updates(self):
        """HostsUpdatedInterrupt, at all ranks, if ranks have come or are to leave. All ranks have to call it, as commit() does. Where the number
        of ranks is fixed, a rank that was started again joins when a collective has failed."""
        if process_sets.may_change() and self._updates.have_come():
            raise HostsUpdatedInterrupt()

    def newest_rank(self):
        """The rank that has committed most; a rank that was started again has nothing that others need."""
        commits = functions.allgather_object(self._commits, name="elastic_commits")
        self._commits = max(commits)
        return commits.index(self._commits)

    def save(self):
        raise NotImplementedError

    def restore(self):
        raise NotImplementedError

    def sync(self):
        raise NotImplementedError

    def reset(self):
        """Before the state is synchronized again."""


class ObjectState(State):
    """Python objects, each an attribute of the state."""

    def __init__(self, bcast_object=None, get_rank=None, **kwargs):
        super().__init__(bcast_object, get_rank)
        self._saved_state = kwargs
        self._set_attrs()

    def _set_attrs(self):
        for name, value in self._saved_state.items():
            setattr(self, name, copy.deepcopy(value))

    def save(self):
        self._saved_state = {name: copy.deepcopy(getattr(self, name)) for name in self._saved_state}

    def restore(self):
        self._set_attrs()

    def sync(self):
        self.save()
        self._take_from(self.newest_rank())

    def _take_from(self, rank):
        if self._saved_state:
            self._saved_state = functions.broadcast_object(self._saved_state, rank, name="elastic_state")
            self._set_attrs()


class TensorFlowState(ObjectState):
    """Variables (all global ones by default) and Python objects."""

    def __init__(self, variables=None, session=None, **kwargs):
        self.variables = list(variables) if variables else ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES)
        self._given_session = session or ops.get_default_session()
        self._values = None
        super().__init__(**kwargs)

        self._values = self._read()

    @property
    def session(self):
        if self._given_session is None:
            raise ValueError("TensorFlowState needs a session: give it one, or make it inside of `with session:`")
        return self._given_session

    def _read(self):
        return self.session.run([v.value() for v in self.variables])

    def _write(self, values):
        for variable, value in zip(self.variables, values):
            variable.load(value, self.session)

    def save(self):
        self._values = self._read()
        super().save()

    def restore(self):
        self._write(self._values)
        super().restore()

    def _take_from(self, rank):
        values = functions.broadcast_object(self._values if basics.rank() == rank else None, rank, name="elastic_variables")
        if basics.rank() != rank:
            self._values = values
            self._write(values)
        super()._take_from(rank)


class KerasState(ObjectState):
    """The weights of a model, the variables of its optimizer, and Python objects."""

    def __init__(self, model, optimizer=None, backend=None, **kwargs):
        del backend
        self.model, self.optimizer = model, optimizer or model.optimizer
        self._weights = None
        super().__init__(**kwargs)
        if model.inputs is None:
            raise ValueError("Model must be built first. Run `model.build(input_shape)`.")
        self._weights = self._read()

    def _session_and_variables(self):
        from millstream.keras_v1 import state
        with self.model.weights[0].graph.as_default():
            session = state.get_session()
        known = {v.op.name: v for v in session.graph.get_collection(ops.GraphKeys.GLOBAL_VARIABLES)}
        return session, known

    def _read(self):
        session, known = self._session_and_variables()
        return dict(zip(known, session.run([v.value() for v in known.values()])))

    def _write(self, values):
        session, known = self._session_and_variables()
        from millstream.keras_v1 import state
        for name, value in values.items():
            if name in known:
                known[name].load(value, session)
            else:  # of the optimizer, which the first step makes
                state.give_later(session.graph, name, value)

    def save(self):
        self._weights = self._read()
        super().save()

    def restore(self):
        self._write(self._weights)
        super().restore()

    def _take_from(self, rank):
        values = functions.broadcast_object(self._weights if basics.rank() == rank else None, rank, name="elastic_weights")
        if basics.rank() != rank:
            self._weights = values
            self._write(values)
        super()._take_from(rank)


TensorFlowKerasState = KerasState


def _meet_again(why):
    if process_sets.may_change():
        return basics.enter_world(f"elastic training after '{why}'")
    return basics.meet_all(f"elastic training after '{why}' (HOROVOD_ELASTIC_TIMEOUT)", environment.elastic_timeout())


def run(func):
    """A decorator for func(state, ...): it is called again after failures of other ranks, with the state of the last commit."""
    @functools.wraps(func)
    def wrapper(state, *args, **kwargs):
        skip_sync = False
        while True:
            try:
                if basics.size() > 1 and not skip_sync:
                    state.sync()
                return func(state, *args, **kwargs)
            except (HorovodInternalError, *LOST) as error:
                if basics.size() == 1:
                    raise
                why, skip_sync = str(error), False
                log.warning("A collective failed; training goes back to its last commit: %s", why)
                state.restore()
            except HostsUpdatedInterrupt as error:
                why, skip_sync = "hosts were updated", error.skip_sync
            _meet_again(why.splitlines()[0] if why else "a failure")
            state.on_reset()
    return wrapper


__all__ = ["KerasState", "ObjectState", "State", "TensorFlowKerasState", "TensorFlowState", "WorkQueue", "run"]
