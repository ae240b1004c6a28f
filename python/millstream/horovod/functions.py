# SPDX-License-Identifier: Apache-2.0
"""Variables and Python objects of one rank for all others."""
from __future__ import annotations

import pickle

import numpy as np

from millstream.framework import ops
from millstream.horovod import basics, mpi_ops
from millstream.horovod.process_sets import global_process_set
from millstream.ops.flow import control_flow_ops
from millstream.ops.variables import state_ops
from millstream.training import session_run_hook


def broadcast_variables(variables, root_rank, process_set=global_process_set, inplace=False):
    """An op that gives variables the values that they have at rank `root_rank`."""
    del inplace  # results are the same
    return control_flow_ops.group(*[
        state_ops.assign(v, mpi_ops.broadcast(_value(v), root_rank, "HorovodBroadcast_" + v.op.name.replace("/", "_"), process_set=process_set))
        for v in variables])


def _value(variable):
    """Also before it is initialized, the other ranks need to know its shape alone."""
    return ops.convert_to_tensor(variable)


def broadcast_global_variables(root_rank):
    """broadcast_variables() of all global variables of the graph."""
    return broadcast_variables(ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES), root_rank)


class BroadcastGlobalVariablesHook(session_run_hook.SessionRunHook):
    """Gives all ranks the variables of rank `root_rank` when a session was made: initial or restored ones."""

    def __init__(self, root_rank, device=""):
        self.root_rank, self.device, self.bcast_op = root_rank, device, None

    def begin(self):
        if self.bcast_op is None or self.bcast_op.graph is not ops.get_default_graph():
            with ops.device(self.device or None):
                self.bcast_op = broadcast_global_variables(self.root_rank)

    def after_create_session(self, session, coord):
        session.run(self.bcast_op)


# Objects travel as int32, which every collective has.

def _packed(obj):
    data = pickle.dumps(obj)
    return np.frombuffer(data + b"\0" * (-len(data) % 4), np.int32), len(data)


def _unpacked(words, length):
    return pickle.loads(np.asarray(words, np.int32).tobytes()[:length])  # from a rank of this job


def broadcast_object(obj, root_rank=0, session=None, name=None, process_set=global_process_set):
    """The object that rank `root_rank` has. Objects are pickled."""
    del session  # the broadcast has one of its own
    mpi_ops.check_set(process_set)
    if process_set.size() == 1:
        return obj
    name = "HorovodBroadcastObject_" + (name or "object")
    is_root = basics.rank() == root_rank
    words, length = _packed(obj) if is_root else (None, 0)
    length = int(mpi_ops.now(lambda x: mpi_ops.broadcast(x, root_rank, name + ".sz", process_set=process_set), np.int64(length), "size"))
    if not is_root:
        words = np.zeros([(length + 3) // 4], np.int32)
    words = mpi_ops.now(lambda x: mpi_ops.broadcast(x, root_rank, name + ".t", process_set=process_set), words, "words")
    return obj if is_root else _unpacked(words, length)


def broadcast_object_fn(root_rank=0, session=None, name=None, process_set=global_process_set):
    """broadcast_object() as a function of the object."""
    return lambda obj: broadcast_object(obj, root_rank, session, name, process_set)


def allgather_object(obj, session=None, name=None, process_set=global_process_set):
    """The objects of all ranks, in their order."""
    del session
    mpi_ops.check_set(process_set)
    if process_set.size() == 1:
        return [obj]
    name = "HorovodAllgatherObject_" + (name or "object")
    words, length = _packed(obj)
    lengths = mpi_ops.now(lambda x: mpi_ops.allgather(x, name + ".sz", process_set=process_set), np.int64([length]), "size")
    words = mpi_ops.now(lambda x: mpi_ops.allgather(x, name + ".t", process_set=process_set), words, "words")
    ends = np.cumsum((lengths + 3) // 4)
    return [_unpacked(words[end - (n + 3) // 4:end], n) for n, end in zip(lengths.tolist(), ends.tolist())]
