# SPDX-License-Identifier: Apache-2.0
"""Saves that do not hold up training: a short step keeps the values of all variables, a thread writes them while training goes on.

Values that are kept share the variables' memory until the next update of each, which then copies it:
docs/adr/0013-saving-in-the-background.md.
"""
import threading
import weakref

from millstream import gen_ops
from millstream.framework import ops
from millstream.ops.flow import control_flow_group

SCOPE = "background"
_graphs: weakref.WeakSet = weakref.WeakSet()


def expect(graph):
    """Says that a hook will save in the background with whatever saver `graph` gets."""
    _graphs.add(graph)


def is_expected(graph):
    return graph in _graphs


class Nodes:
    """What add_nodes() added. `through_chief` is None where the saver has only one way."""

    def __init__(self, keep, save, through_chief, sizes, takes):
        self._keep, self.save, self.through_chief, self._sizes, self._takes = keep, save, through_chief, sizes, takes

    def keep(self, sess):
        """Keeps the values of now, and no others: a save that failed, or a chief that died, may have left some."""
        while any(sizes := sess.run(self._sizes)):
            sess.run([take for take, size in zip(self._takes, sizes) if size])
        sess.run(self._keep)


def add_nodes(builder, filename, per_device, sharded, with_detour):
    """Adds to a saver's graph what keeps values on their tasks, and what saves the values that are kept."""
    with ops.name_scope(SCOPE) as scope, ops.device(None), ops.get_default_graph()._attr_scope({"_background": True}):
        keeps, kept, sizes = [], [], []
        for i, (device, saveables) in enumerate(per_device):
            with ops.device(device):
                tensors = [spec.tensor for s in saveables for spec in s.specs]
                types, area = [t.dtype.base_dtype for t in tensors], f"{scope}{i}"  # of all chiefs that follow each other
                keeps.append(gen_ops.stage(tensors, shared_name=area))
                kept.append(_as_list(gen_ops.unstage(dtypes=types, shared_name=area)))
                sizes.append(gen_ops.stage_size(dtypes=types, shared_name=area))
        keep = control_flow_group.group(*keeps, name="keep")
        together = [s for _, saveables in per_device for s in saveables], [t for tensors in kept for t in tensors]
        save = builder._add_sharded_save(filename, per_device, kept) if sharded else builder._add_save(filename, *together)
        detour = builder._add_save(filename, *together) if with_detour else None
    return Nodes(keep.name, save.name, detour.name if detour is not None else None, [s.name for s in sizes],
                 [tensors[0].op.name for tensors in kept])


def _as_list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


class Pending:
    """At most one save at a time."""

    def __init__(self):
        self._thread, self._error = None, None

    def start(self, save):
        """Runs save() in a thread. Waits for the one before."""
        self.wait()
        self._thread = threading.Thread(target=self._run, args=(save,), name="background-save", daemon=True)
        self._thread.start()

    def _run(self, save):
        try:
            save()
        except BaseException as error:  # noqa: BLE001  told by check()
            self._error = error

    def check(self):
        """Raises what went wrong in a save that has ended."""
        if self._thread is not None and not self._thread.is_alive():
            self.wait()

    def wait(self):
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        error, self._error = self._error, None
        if error is not None:
            raise error

    def forget(self):
        """After a session was lost: what becomes of its save does not matter."""
        try:
            self.wait()
        except Exception as error:  # noqa: BLE001
            from millstream.framework import log
            log.info("A checkpoint was abandoned: %s", error)
