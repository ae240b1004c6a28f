# SPDX-License-Identifier: Apache-2.0
"""Size, rank and group key for the ops of a graph. In a job whose number of workers changes they are tensors, read anew in each step, so that a
graph that was built in one world runs in the next one."""
from __future__ import annotations

import numpy as np

from millstream.framework import dtypes, ops
from millstream.horovod import process_sets

_PLACE = "_horovod_world"  # in the dictionary of the graph


def _read():
    everybody = process_sets.global_process_set
    return np.int32(everybody.size()), np.int32(everybody.rank()), np.int32(everybody.group_key())


def _tensors():
    """(size, rank, group key) of the world, once in each graph."""
    graph = ops.get_default_graph()
    known = graph.__dict__.get(_PLACE)
    if known is None:
        from millstream.horovod import basics
        from millstream.ops.functions import script_ops
        with ops.init_scope(), ops.name_scope(None), ops.device(basics.device()):
            known = script_ops.py_func(_read, [], [dtypes.int32] * 3, name="HorovodWorld")
        for tensor in known:
            tensor.set_shape([])
        graph.__dict__[_PLACE] = known
    return known


def _one(group, place, number):
    return _tensors()[place] if process_sets.may_change() and isinstance(group, process_sets.ProcessSet) else number


def size(group):
    """The number of members, or a tensor of it."""
    return _one(group, 0, group.size())


def rank(group):
    """This process's place among them, or a tensor of it."""
    return _one(group, 1, group.rank())


def group_key(group):
    return _one(group, 2, group.group_key())


def is_alone(group):
    """No other member is there, nor can come."""
    return group.size() == 1 and not (process_sets.may_change() and isinstance(group, process_sets.ProcessSet))
