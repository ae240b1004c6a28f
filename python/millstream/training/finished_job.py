# SPDX-License-Identifier: Apache-2.0
"""A worker that comes when the job is done ends with success, where it would wait for tasks that have ended.

Ps tasks that the last worker has told to end stay a while for workers that were never heard of, and tell them. Later nobody answers;
then the latest checkpoint tells, if it is of the last step."""
import time

from millstream.client import session
from millstream.framework import errors
from millstream.training import server_lib, task_stop

_WAIT_SECS = 5.0


class JobDoneError(errors.OutOfRangeError, SystemExit):
    """There is nothing left to do. As the end of input it ends a `with` of a MonitoredSession or a Supervisor; where nobody
    catches it, it ends the program, with success."""

    def __init__(self, message):
        errors.OutOfRangeError.__init__(self, None, None, message)


def _done(message):
    from millstream.framework import log
    log.warning("There is nothing left to do: %s", message)
    return JobDoneError(message)


def new_session(target, graph, config):
    """A Session; JobDoneError if a ps of this process's job says that it is done."""
    try:
        return session.Session(target, graph=graph, config=config)
    except errors.FailedPreconditionError as error:
        if server_lib.job_is_done(target):
            raise _done(error.message) from None
        raise
    except errors.CancelledError:
        task_stop.raise_if_stopping()
        raise


class FinishedSession(session.Session):
    """For programs that want a session, although there is nothing to do: its steps raise JobDoneError."""

    def __init__(self, graph, error):
        super().__init__(graph=graph)
        self._error = error

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        raise self._error


def _saved_step(checkpoint_dir):
    from millstream.training import checkpoint_management, checkpoint_utils, training_util
    path = checkpoint_management.latest_checkpoint(checkpoint_dir)
    step = training_util.get_global_step()
    if path is None or step is None:
        return None
    try:
        return int(checkpoint_utils.load_variable(path, step.op.name))
    except Exception:  # noqa: BLE001  then it is not known
        return None


def error_if_over(master, checkpoint_dir, hooks):
    """A JobDoneError if the latest checkpoint is of the last step and no ps task answers any more; else None."""
    from millstream.training import basic_session_run_hooks
    last = [h._last_step for h in hooks or () if isinstance(h, basic_session_run_hooks.StopAtStepHook)
            and h._last_step is not None]
    if not last or not checkpoint_dir or not server_lib.has_ps(master):
        return None
    step = _saved_step(checkpoint_dir)
    if step is None or step < min(last):
        return None
    deadline = time.monotonic() + _WAIT_SECS
    while time.monotonic() < deadline:
        if server_lib.any_ps_answers(master):
            return None
        time.sleep(0.2)
    return _done(f"The job has ended at step {step} before this worker came (checkpoint in {checkpoint_dir}).")
