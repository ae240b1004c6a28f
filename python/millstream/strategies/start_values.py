# SPDX-License-Identifier: Apache-2.0
"""Variables of a session at several workers begin with the same values."""
from __future__ import annotations

from millstream.framework import ops
from millstream.horovod import collectives
from millstream.ops.flow import control_flow_ops
from millstream.training import session_run_hook


class TakeVariablesOfFirstWorker(session_run_hook.SessionRunHook):
    """All workers begin with the variables of the first: it may have restored them from files that others do not see."""

    def __init__(self, strategy):
        self._strategy, self._op = strategy, None

    def begin(self):
        extended, updates = self._strategy.extended, []
        with self._strategy.scope():
            for variable in ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES):
                value = collectives.broadcast(variable.value(), extended.worker_index == 0, f"CollectiveStart/{variable.name}".replace(":", "_"),
                                              extended.workers)
                updates.append(variable.assign(value))
            self._op = control_flow_ops.group(*updates)

    def after_create_session(self, session, coord):
        session.run(self._op)
