# SPDX-License-Identifier: Apache-2.0
"""Files and folders of a test."""
import os
import tempfile


class TempFile(os.PathLike):
    def __init__(self, path):
        self.full_path = path

    def __fspath__(self):
        return self.full_path

    def read_text(self, encoding="utf8", errors="strict"):
        with open(self.full_path, encoding=encoding, errors=errors) as f:
            return f.read()

    def read_bytes(self):
        with open(self.full_path, "rb") as f:
            return f.read()

    def write_text(self, text, mode="w", encoding="utf8", errors="strict"):
        with open(self.full_path, mode, encoding=encoding, errors=errors) as f:
            f.write(text)

    def write_bytes(self, data, mode="wb"):
        with open(self.full_path, mode) as f:
            f.write(data)


class TempFolder(os.PathLike):
    def __init__(self, path):
        self.full_path = path

    def __fspath__(self):
        return self.full_path

    def mkdir(self, dirname=None):
        return make_folder(self.full_path, dirname)

    def create_file(self, file_path=None, content=None, mode="w", encoding="utf8"):
        return make_file(self.full_path, file_path, content, mode, encoding)


def make_folder(below, name):
    if name is None:
        return TempFolder(tempfile.mkdtemp(dir=below))
    path = os.path.join(below, name)
    os.makedirs(path, exist_ok=True)
    return TempFolder(path)


def make_file(below, file_path, content, mode, encoding):
    if file_path is None:
        handle, path = tempfile.mkstemp(dir=below)
        os.close(handle)
    else:
        path = os.path.join(below, file_path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
    made = TempFile(path)
    if isinstance(content, bytes):
        made.write_bytes(content)
    else:
        made.write_text(content or "", mode, encoding)
    return made
