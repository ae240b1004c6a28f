# SPDX-License-Identifier: Apache-2.0
"""Which checkpoint of a folder a training goes on from: the latest one that can be read."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from millstream import _core
from millstream.framework import errors
from millstream.training import checkpoint_management

if TYPE_CHECKING:
    from typing import Any, Optional


def _log():
    from millstream.framework import log
    return log


_UNFIT = (errors.NotFoundError, errors.InvalidArgumentError)  # of another model


class State(NamedTuple):
    """The checkpoints of a folder. `listed`: as the file `checkpoint` says; else as they were found in the folder."""

    folder: str
    model_checkpoint_path: str
    all_model_checkpoint_paths: list
    listed: bool

    def newest_first(self) -> list[str]:
        older = reversed(self.all_model_checkpoint_paths)
        return [self.model_checkpoint_path] + [p for p in older if p != self.model_checkpoint_path]

    def unlisted(self) -> list[str]:
        """Those of the folder that the file `checkpoint` does not name, the highest step first."""
        named = {os.path.abspath(p) for p in self.newest_first()}
        return [p for p in reversed(_core.find_checkpoints(self.folder)) if os.path.abspath(p) not in named]


def find_state(folder: Any) -> Optional[State]:
    """What the file `checkpoint` says or, where it is missing or damaged, the checkpoints in the folder; None if there are none."""
    folder = os.fspath(folder)
    try:
        state = checkpoint_management.get_checkpoint_state(folder)
    except ValueError:  # it names nothing
        state = None
    if state is not None:
        return State(folder, state.model_checkpoint_path, list(state.all_model_checkpoint_paths), True)
    found = _core.find_checkpoints(folder)
    if not found:
        return None
    _log().warning("%s is missing or damaged, but the folder has checkpoints: trying %s. To start over, use another folder.",
                   os.path.join(folder, "checkpoint"), found[-1])
    return State(folder, found[-1], found, False)


def restore_best(saver: Any, sess: Any, state: State) -> bool:
    """Restores the latest checkpoint that can be read, with a warning for each that cannot. Where the file `checkpoint` lists them
    and none can be read, raises the error of the last. False: none of those that were found in the folder fits the model."""
    error: Any = None
    for path in state.newest_first():
        failed = _try_restore(saver, sess, path, () if state.listed else _UNFIT)
        if failed is None:
            return True
        error = failed
    if not state.listed:
        return False
    if any(_try_restore(saver, sess, path, _UNFIT) is None for path in state.unlisted()):
        return True
    raise error


def _try_restore(saver, sess, path, also):
    """The error because of which another checkpoint is tried, or None."""
    try:
        _check_files(path)
        saver.restore(sess, path)
    except (ValueError, errors.DataLossError, IncompleteCheckpointError, *also) as error:
        _log().warning("The checkpoint %s cannot be restored (%s); trying the one before it.", path, error)
        return error
    return None


class IncompleteCheckpointError(errors.NotFoundError):
    """A file of the checkpoint is missing."""

    def __init__(self, message):
        super().__init__(None, None, message)


def _check_files(path):
    try:
        _core.check_checkpoint_files(path)
    except errors.NotFoundError as error:
        raise IncompleteCheckpointError(error.message) from None
