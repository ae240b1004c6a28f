# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.platform.gfile import GFile as GFile
from millstream.platform.gfile import copy as copy
from millstream.platform.gfile import exists as exists
from millstream.platform.gfile import glob as glob
from millstream.platform.gfile import isdir as isdir
from millstream.platform.gfile import join as join
from millstream.platform.gfile import listdir as listdir
from millstream.platform.gfile import makedirs as makedirs
from millstream.platform.gfile import mkdir as mkdir
from millstream.platform.gfile import remove as remove
from millstream.platform.gfile import rename as rename
from millstream.platform.gfile import rmtree as rmtree
from millstream.platform.gfile import stat as stat
from millstream.platform.gfile import walk as walk

__all__ = [
    "GFile",
    "copy",
    "exists",
    "glob",
    "isdir",
    "join",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
]
