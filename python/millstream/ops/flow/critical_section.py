# SPDX-License-Identifier: Apache-2.0
"""tf.CriticalSection: functions of which one runs at a time."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import ops
from millstream.ops import nest

if TYPE_CHECKING:
    from typing import Any, Optional


class CriticalSection:
    """execute(fn) runs what fn builds while nothing else of this section runs, also of other sessions with the same shared_name."""

    def __init__(self, name: Optional[str] = None, shared_name: Any = None, critical_section_def: Any = None,
                 import_scope: Any = None) -> None:
        if critical_section_def is not None:
            raise NotImplementedError("CriticalSection(critical_section_def=)")
        with ops.name_scope(name, "CriticalSection") as scope:
            self._name = scope
            self._handle = gen_ops.mutex_v2(shared_name=shared_name or name or "", container="", name="")

    name = property(lambda self: self._name)

    def execute(self, fn: Any, exclusive_resource_access: bool = True, name: Optional[str] = None) -> Any:
        with ops.name_scope(name, "critical_section_execute"):
            lock = gen_ops.mutex_lock(self._handle)
            graph = ops.get_default_graph()
            first = graph._core.id_limit()
            with ops.control_dependencies([lock]):
                result = fn()
            made = [op for op in graph.get_operations() if op._id >= first]
            with ops.control_dependencies(made):  # the lock is held until all of it is done
                released = gen_ops.consume_mutex_lock(lock)
            with ops.control_dependencies([released]):
                return nest.map_structure(
                    lambda x: gen_ops.identity(x) if isinstance(x, ops.Tensor) else gen_ops.no_op(), result)
