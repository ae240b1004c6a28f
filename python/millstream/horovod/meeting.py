# SPDX-License-Identifier: Apache-2.0
"""How members of a group wait for each other at the start, and after a failure."""
from __future__ import annotations

import time

from millstream.framework import errors, ops
from millstream.horovod import collectives

LOST = (errors.UnavailableError, errors.AbortedError, errors.CancelledError, errors.DeadlineExceededError)


def _once(name, group, target, timeout):
    from millstream.client import session
    with ops.Graph().as_default(), session.Session(target) as own:
        own.run(collectives.reduce(ops.convert_to_tensor(1), "Add", False, name, group, timeout))


def _absent(group, target):
    """The tasks of the group that do not answer."""
    from millstream.client import session
    with ops.Graph().as_default(), session.Session(target) as own:
        there = {d.name.rpartition("/device:")[0] for d in own.list_devices()}
    return [device.rpartition("/device:")[0] for device in group.devices() if device.rpartition("/device:")[0] not in there]


def wait_for_all(name, group, timeout, what, target=""):
    """Returns when all members have called it. Members whose processes do not run yet, or die meanwhile, are waited for. DeadlineExceededError
    names those that have not joined."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return _once(name, group, target, max(0.5, deadline - time.monotonic()))
        except LOST as error:
            if time.monotonic() >= deadline:
                absent = ", ".join(_absent(group, target)) or "no task is absent, but not all have called it"
                raise errors.DeadlineExceededError(
                    None, None, f"{what}: not all {group.size()} members have joined within {timeout:.0f} s: {absent} ({error.message})") from None
            time.sleep(0.1)
