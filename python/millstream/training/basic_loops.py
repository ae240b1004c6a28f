# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework import errors

if TYPE_CHECKING:
    from typing import Any


def basic_train_loop(supervisor: Any, train_step_fn: Any, args: Any = None, kwargs: Any = None, master: str = "") -> None:
    """Calls train_step_fn(session, *args, **kwargs) until the supervisor stops; goes on after a task was lost."""
    should_retry = True
    while should_retry:
        try:
            should_retry = False
            with supervisor.managed_session(master) as sess:
                while not supervisor.should_stop():
                    train_step_fn(sess, *(args or ()), **(kwargs or {}))
        except (errors.AbortedError, errors.UnavailableError):
            should_retry = True
