# SPDX-License-Identifier: Apache-2.0
"""Parts of the ranks that reduce among themselves."""
from __future__ import annotations


_GROUP_KEYS = 0x48560000  # above the keys that TensorFlow's strategies use
_ID_BITS, _MOST_VERSIONS = 10, 1 << 18


class ProcessSet:
    """A set of ranks; usable once it was given to hvd.init() or hvd.add_process_set() on every rank, in the same order."""

    def __init__(self, ranks=None):
        self.process_set_id = None
        self.ranks = None if ranks is None else sorted(set(int(r) for r in ranks))

    def _check(self):
        if self.process_set_id is None:
            raise ValueError(f"Process set {self.ranks} is not known: give it to hvd.init() or hvd.add_process_set().")
        return self

    def size(self):
        return len(self._check().ranks)

    def rank(self):
        """This process's place in the set."""
        self._check()
        if _own[0] not in self.ranks:
            raise ValueError(f"Rank {_own[0]} is not in process set {self.ranks}.")
        return self.ranks.index(_own[0])

    def included(self):
        return _own[0] in self._check().ranks

    def group_key(self):
        return _GROUP_KEYS + (_own[2] % _MOST_VERSIONS << _ID_BITS) + self._check().process_set_id

    def device(self):
        """Where this rank's collective ops run."""
        from millstream.horovod import basics
        return basics.device()

    def devices(self):
        from millstream.horovod import basics
        return [basics.device(rank) for rank in self.ranks]

    def __str__(self):
        return f"ProcessSet(process_set_id={self.process_set_id}, ranks={self.ranks})"


global_process_set = ProcessSet()
_own = [None, 0, 0]  # rank, size, version of an elastic job's world
_known: dict = {}


def begin(size, rank, version=0):
    _own[:] = [rank, size, version]
    global_process_set.ranks, global_process_set.process_set_id = list(range(size)), 0
    _known.clear()
    _known[0] = global_process_set


def may_change():
    """Whether ranks may come and go (millstream launch --workers LEAST:MOST)."""
    return _own[2] > 0


def end():
    for one in _known.values():
        one.process_set_id = None
    _known.clear()
    _own[0], _own[2] = None, 0


def add_process_set(process_set):
    """Registers a ProcessSet or a list of ranks; every rank has to, also those outside of it."""
    if _own[0] is None:
        raise ValueError("Horovod has not been initialized; use hvd.init().")
    if not isinstance(process_set, ProcessSet):
        process_set = ProcessSet(process_set)
    if _own[2]:
        raise NotImplementedError("Process sets are not supported in a job whose number of workers changes: ranks change with it.")
    if process_set.process_set_id is not None:
        raise ValueError(f"{process_set} has been added already.")
    if not process_set.ranks or process_set.ranks[0] < 0 or process_set.ranks[-1] >= _own[1]:
        raise ValueError(f"A process set needs ranks between 0 and {_own[1] - 1}, got {process_set.ranks}.")
    if any(one.ranks == process_set.ranks for one in _known.values()):
        raise ValueError(f"A process set with ranks {process_set.ranks} has been added already.")
    process_set.process_set_id = max(_known) + 1
    if process_set.process_set_id >= 1 << _ID_BITS:
        raise ValueError(f"There cannot be more than {1 << _ID_BITS} process sets.")
    _known[process_set.process_set_id] = process_set
    return process_set


def remove_process_set(process_set):
    """Whether it was there; the set of all ranks stays."""
    if process_set is global_process_set or process_set.process_set_id is None:
        return False
    del _known[process_set.process_set_id]
    process_set.process_set_id = None
    return True


def get_process_set_ids_and_ranks():
    return {number: list(one.ranks) for number, one in _known.items()}


def is_process_set_included(process_set_id=0):
    return _own[0] in _known[process_set_id].ranks
