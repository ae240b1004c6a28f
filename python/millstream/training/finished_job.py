# SPDX-License-Identifier: Apache-2.0
"""A worker that comes when the job is done ends with success, where it would wait for ps tasks that have ended."""
import time

from millstream.training import basic_session_run_hooks, checkpoint_management, checkpoint_utils, monitored_session
from millstream.training import server_lib, training_util

_WAIT_SECS = 5.0


class FinishedSession(monitored_session.MonitoredSession):
    """Has nothing to do: should_stop() is true from the start."""

    def __init__(self):  # pylint: disable=super-init-not-called
        self._hooks, self._sess = [], None

    def should_stop(self):
        return True

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        raise RuntimeError("Run called even after should_stop requested: the job was finished before.")

    def close(self):
        pass

    def __exit__(self, exception_type, exception_value, traceback):
        return False


def _saved_step(checkpoint_dir):
    path = checkpoint_management.latest_checkpoint(checkpoint_dir)
    step = training_util.get_global_step()
    if path is None or step is None:
        return None
    try:
        return int(checkpoint_utils.load_variable(path, step.op.name))
    except Exception:  # noqa: BLE001  then it is not known
        return None


def session_if_finished(master, checkpoint_dir, hooks):
    """A FinishedSession if the latest checkpoint is of the last step and no ps task answers any more; else None."""
    last = [h._last_step for h in hooks or () if isinstance(h, basic_session_run_hooks.StopAtStepHook)
            and h._last_step is not None]
    addresses = server_lib.ps_addresses(master)
    if not last or not addresses or not checkpoint_dir:
        return None
    step = _saved_step(checkpoint_dir)
    if step is None or step < min(last):
        return None
    deadline = time.monotonic() + _WAIT_SECS
    while time.monotonic() < deadline:
        if any(server_lib._answers(a) for a in addresses):
            return None
        time.sleep(0.2)
    from millstream.framework import log
    log.warning("The job has ended at step %d before this worker came (checkpoint in %s).", step, checkpoint_dir)
    return FinishedSession()
