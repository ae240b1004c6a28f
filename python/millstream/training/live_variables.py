# SPDX-License-Identifier: Apache-2.0
"""Which global variables of a cluster hold values already: a chief that was restarted must not reset them."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework import ops
from millstream.ops.variables import variable_collections

if TYPE_CHECKING:
    from typing import Any, Optional, Sequence

    from millstream.framework.graph import Graph

_SCOPE = "report_live_variables"


class LiveVariables:
    """Asks sessions which of a graph's global variables are initialized.

    It uses one of `reports` (a model's ready_op, ready_for_local_init_op) if that covers all global variables, otherwise it adds an
    operation of its own. That needs a graph which is not finalized yet."""

    def __init__(self, graph: Graph, reports: Sequence[Any] = ()) -> None:
        self._variables = {v.op.name: v for v in graph.get_collection(ops.GraphKeys.GLOBAL_VARIABLES)}
        self._report = next((r for r in reports if self._variables.keys() <= getattr(r, "_reported_variables", set())), None)
        if self._report is None and self._variables and not graph.finalized:
            with graph.as_default(), ops.name_scope(None), ops.control_dependencies(None):
                self._report = variable_collections.report_uninitialized_variables(list(self._variables.values()), _SCOPE)

    @property
    def can_ask(self) -> bool:
        return self._report is not None

    def uninitialized(self, sess: Any) -> Optional[list]:
        """The variables without a value; None if no variable has one, or the graph has none: there is nothing to keep."""
        names = [name.decode() for name in sess.run(self._report).tolist()]
        missing = [self._variables[name] for name in names if name in self._variables]
        return missing if len(missing) < len(self._variables) else None


def of_graph(graph: Graph, reports: Sequence[Any] = ()) -> LiveVariables:
    """The graph's own, made once: sessions of a finalized graph use what was added before."""
    found = getattr(graph, "_live_variables", None)
    count = len(graph.get_collection(ops.GraphKeys.GLOBAL_VARIABLES))
    if found is None or len(found._variables) != count or not found.can_ask:
        found = LiveVariables(graph, reports)
        setattr(graph, "_live_variables", found)  # noqa: B010
    return found
