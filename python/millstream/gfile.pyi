# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.platform.gfile import Copy as Copy
from millstream.platform.gfile import DeleteRecursively as DeleteRecursively
from millstream.platform.gfile import Exists as Exists
from millstream.platform.gfile import FastGFile as FastGFile
from millstream.platform.gfile import GFile as GFile
from millstream.platform.gfile import Glob as Glob
from millstream.platform.gfile import IsDirectory as IsDirectory
from millstream.platform.gfile import ListDirectory as ListDirectory
from millstream.platform.gfile import MakeDirs as MakeDirs
from millstream.platform.gfile import MkDir as MkDir
from millstream.platform.gfile import Open as Open
from millstream.platform.gfile import Remove as Remove
from millstream.platform.gfile import Rename as Rename
from millstream.platform.gfile import Stat as Stat
from millstream.platform.gfile import Walk as Walk

__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
    "Stat",
    "Walk",
]
