# SPDX-License-Identifier: Apache-2.0
"""Whether the tasks that hold variables see the files of this process. Where they do not, a sharded Saver goes through the chief.

Beside the nodes by which each task saves its own variables, the builder adds nodes that save and restore all of them on the master's
task, and one that reads a file on every task: docs/adr/0012-saving-through-the-chief.md.
"""
import contextlib
import os
import uuid

from millstream.framework import errors
from millstream.platform.local_files import local_path

SCOPE = "through_chief"


class Detour:
    """The names of the other nodes of a saver."""

    def __init__(self, scope):
        self.probe, self.save, self.restore = f"{scope}/probe:0", f"{scope}/control_dependency:0", f"{scope}/restore_all"


def detour_of(graph, saver_def):
    """None if the saver has only one way."""
    scope = saver_def.restore_op_name.rpartition("/")[0]
    scope = f"{scope}/{SCOPE}" if scope else SCOPE
    try:
        graph.get_operation_by_name(scope + "/probe")
    except KeyError:
        return None
    return Detour(scope)


def sees_file(sess, saver_def, detour, path):
    """Whether all tasks read the same in the file `path` as this process."""
    with open(local_path(path), "rb") as f:
        here = f.read()
    try:
        there = sess.run(detour.probe, {saver_def.filename_tensor_name: path})
    except (errors.NotFoundError, errors.PermissionDeniedError):
        return False
    return all(bytes(contents) == here for contents in there)


def sees_folder(sess, saver_def, detour, folder):
    """The same for files that will be written to `folder`."""
    folder = local_path(folder)
    path = os.path.join(folder, f".probe{uuid.uuid4().hex}")
    try:
        os.makedirs(folder, exist_ok=True)
        with open(path, "wb") as f:
            f.write(uuid.uuid4().bytes)
    except OSError:
        with contextlib.suppress(OSError):
            os.remove(path)
        return True  # nobody here can write: the save says why
    try:
        return sees_file(sess, saver_def, detour, path)
    finally:
        os.remove(path)
