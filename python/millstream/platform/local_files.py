# SPDX-License-Identifier: Apache-2.0
"""Names of files: "file:///folder/file" stands for "/folder/file", as in TensorFlow.

What Python opens, lists or makes by itself goes through local_path() first; names that are returned stay as they were given.
"""
import os
import re

from millstream.framework import errors

_URI = re.compile(r"([a-zA-Z][0-9a-zA-Z.]*)://[^/]*", re.ASCII)


def split_uri(name):
    """(prefix, path): the prefix is "file://HOST" where the name begins so, and "" otherwise."""
    name = os.fsdecode(name)
    found = _URI.match(name)
    if found is None:
        return "", name
    if found.group(1) != "file":
        raise errors.UnimplementedError(None, None, f"File system scheme '{found.group(1)}' not implemented (file: '{name}')")
    return found.group(0), name[found.end():]


def local_path(name):
    """What the operating system knows the file as."""
    return split_uri(name)[1]
