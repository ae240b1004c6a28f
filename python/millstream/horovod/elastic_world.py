# SPDX-License-Identifier: Apache-2.0
"""With which tasks this one trains in a job whose workers come and go (`millstream launch --workers LEAST:MOST`).

The launcher writes who is to train together, the world, into a file of a folder that the tasks share; each task answers by a file with the
version of the world that it is ready for. A world is formed when all its members are ready for it.
"""
from __future__ import annotations

import collections
import json
import os
import time

from millstream.framework import errors, log

World = collections.namedtuple("World", "version tasks")  # tasks: rank by rank

_LOOK_EVERY_SECS = 0.01
_REPORT_EVERY_SECS = 30.0


class Removed(Exception):
    """This task is not to train any more."""


class Membership:
    """This task's part in the worlds of its job."""

    def __init__(self, folder, task):
        self._folder, self._task = folder, task
        self.world = None  # the one that this task trains in

    def _read(self):
        with open(os.path.join(self._folder, "world"), encoding="utf-8") as f:
            text = json.load(f)
        return [World(one["version"], one["tasks"]) if one else None for one in (text["formed"], text["pending"])]

    def _say(self, version):
        path = os.path.join(self._folder, f"ready-{self._task}")
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.write(f"{version}\n")
        os.replace(path + ".new", path)

    def newest_version(self):
        """Of all worlds that the launcher has named."""
        formed, pending = self._read()
        return (pending or formed or World(0, [])).version

    def join(self, timeout, what):
        """Waits until the next world is formed with this task in it. Removed if it is in none any more; DeadlineExceededError names those
        that are not ready."""
        ready_for, began = None, time.monotonic()
        report_at = began + _REPORT_EVERY_SECS
        while True:
            formed, pending = self._read()
            if formed and formed.version == ready_for and self._task in formed.tasks:
                self.world = formed
                return formed
            if pending and self._task in pending.tasks:
                if ready_for != pending.version:
                    self._say(pending.version)
                    ready_for = pending.version
            elif self.world is not None and (pending or (formed.version > self.world.version and self._task not in formed.tasks)):
                raise Removed
            elif ready_for is None:
                # A new task waits to be taken in; one whose collective has failed leaves its world.
                ready_for = 0 if self.world is None else self.world.version + 1
                self._say(ready_for)
            now = time.monotonic()
            if now >= began + timeout:
                raise errors.DeadlineExceededError(None, None, f"{what}: no world was formed within {timeout:.0f} s; {self._missing(formed, pending)}")
            if now >= report_at:
                log.warning("%s: %s (%.0f s)", what, self._missing(formed, pending), now - began)
                report_at += _REPORT_EVERY_SECS
            time.sleep(_LOOK_EVERY_SECS)

    def _missing(self, formed, pending):
        late = [f"worker:{task}" for task in (pending.tasks if pending else []) if self._version_of(task) != pending.version]
        if late:
            return f"waiting for {', '.join(late)} to commit its state, or to fail"
        members = ", ".join(f"worker:{task}" for task in (pending or formed or World(0, [])).tasks) or "none"
        return f"waiting for the launcher to name the next world; it knows of {members}"

    def _version_of(self, task):
        try:
            with open(os.path.join(self._folder, f"ready-{task}"), encoding="utf-8") as f:
                return int(f.read() or -1)
        except (OSError, ValueError):
            return -1
