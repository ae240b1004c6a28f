# SPDX-License-Identifier: Apache-2.0
"""tf.gfile: files and folders, with TensorFlow's errors."""
from __future__ import annotations

import contextlib
import glob as _glob
import os
import shutil
from typing import TYPE_CHECKING

from millstream.framework import errors
from millstream.platform.local_files import local_path, split_uri

if TYPE_CHECKING:
    from typing import Any


@contextlib.contextmanager
def _errors():
    try:
        yield
    except FileNotFoundError as e:
        raise errors.NotFoundError(None, None, f"{e.filename}; No such file or directory") from None
    except FileExistsError as e:
        raise errors.AlreadyExistsError(None, None, f"{e.filename}; File exists") from None
    except PermissionError as e:
        raise errors.PermissionDeniedError(None, None, f"{e.filename}; Permission denied") from None
    except (IsADirectoryError, NotADirectoryError) as e:
        raise errors.FailedPreconditionError(None, None, f"{e.filename}; {e.strerror}") from None


class GFile:
    """A file that is opened at its first use. It is read as text unless the mode has a "b"."""

    def __init__(self, name: str, mode: str = "r") -> None:
        if mode not in ("r", "w", "a", "r+", "w+", "a+", "rb", "wb", "ab", "rb+", "wb+", "ab+", "r+b", "w+b", "a+b"):
            raise errors.InvalidArgumentError(None, None, f"mode is not supported: {mode}")
        self._name = os.fsdecode(name)
        self._mode = mode
        self._file = None

    @property
    def name(self) -> Any:
        return self._name

    @property
    def mode(self) -> Any:
        return self._mode

    def _open(self, to=None):
        """The file. `to`: what the caller wants to do, "read" or "write"."""
        allowed = "+" in self._mode or to is None or (self._mode[0] == "r") == (to == "read")
        if not allowed:
            raise errors.PermissionDeniedError(None, None, f"File isn't open for {to[:4] if to == 'read' else 'writ'}ing")
        if self._file is None:
            with _errors():
                text = {} if "b" in self._mode else {"encoding": "utf-8", "newline": ""}
                self._file = open(local_path(self._name), self._mode, **text)  # pylint: disable=consider-using-with
        return self._file

    def size(self) -> Any:
        with _errors():
            return os.stat(local_path(self._name)).st_size

    def write(self, file_content: Any) -> None:
        file = self._open("write")
        if "b" not in self._mode and isinstance(file_content, bytes):
            file_content = file_content.decode()
        elif "b" in self._mode and isinstance(file_content, str):
            file_content = file_content.encode()
        with _errors():
            file.write(file_content)

    def read(self, n: Any = -1) -> Any:
        with _errors():
            return self._open("read").read(n)

    def readline(self) -> Any:
        return self._open("read").readline()

    def readlines(self) -> Any:
        return self._open("read").readlines()

    def seek(self, offset: Any = None, whence: Any = 0, position: Any = None) -> None:
        self._open().seek(position if offset is None else offset, whence)

    def tell(self) -> Any:
        return self._open().tell()

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def seekable(self) -> Any:
        return True

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error):
        self.close()

    def __iter__(self):
        return iter(self._open())

    def __next__(self):
        line = self.readline()
        if not line:
            raise StopIteration
        return line


Open = FastGFile = GFile


def Exists(filename: str) -> Any:
    return os.path.exists(local_path(filename))


def IsDirectory(dirname: Any) -> Any:
    return os.path.isdir(local_path(dirname))


def ListDirectory(dirname: Any) -> Any:
    with _errors():
        return sorted(os.listdir(local_path(dirname)))


def Glob(filename: str) -> Any:
    patterns = filename if isinstance(filename, (list, tuple)) else [filename]
    found = []
    for prefix, pattern in map(split_uri, patterns):
        found += [prefix + name for name in sorted(_glob.glob(pattern))]
    return found


def MkDir(dirname: Any) -> None:
    with _errors():
        os.mkdir(local_path(dirname))


def MakeDirs(dirname: Any) -> None:
    with _errors():
        os.makedirs(local_path(dirname), exist_ok=True)


def Remove(filename: str) -> None:
    with _errors():
        os.remove(local_path(filename))


def DeleteRecursively(dirname: Any) -> None:
    path = local_path(dirname)
    with _errors():
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.remove(path)


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    if not overwrite and Exists(newpath):
        raise errors.AlreadyExistsError(None, None, "file already exists")
    with _errors():
        shutil.copyfile(local_path(oldpath), local_path(newpath))


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    if not overwrite and Exists(newname):
        raise errors.AlreadyExistsError(None, None, "file already exists")
    with _errors():
        os.replace(local_path(oldname), local_path(newname))


class _Stat:
    def __init__(self, stat, is_directory):
        self.length = stat.st_size
        self.mtime_nsec = stat.st_mtime_ns
        self.is_directory = is_directory


def Stat(filename: str) -> Any:
    with _errors():
        return _Stat(os.stat(local_path(filename)), IsDirectory(filename))


def Walk(top, in_order=True):
    prefix, path = split_uri(top)
    for folder, folders, files in os.walk(path, topdown=in_order):
        yield prefix + folder, sorted(folders), sorted(files)


# tf.io.gfile: the same functions with other names of arguments.

def exists(path: Any) -> Any:
    return Exists(path)


def isdir(path: Any) -> Any:
    return IsDirectory(path)


def listdir(path: Any) -> Any:
    return ListDirectory(path)


def glob(pattern: Any) -> Any:
    return Glob(pattern)


def mkdir(path: Any) -> None:
    MkDir(path)


def makedirs(path: Any) -> None:
    MakeDirs(path)


def remove(path: Any) -> None:
    Remove(path)


def rmtree(path: Any) -> None:
    DeleteRecursively(path)


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    Copy(src, dst, overwrite)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    Rename(src, dst, overwrite)


def stat(path: Any) -> Any:
    return Stat(path)


def walk(top: Any, topdown: bool = True, onerror: Any = None) -> Any:
    return Walk(top, topdown)


def join(path: Any, *paths: Any) -> Any:
    return os.path.join(path, *paths)


def read_file_to_string(filename, binary_mode=False):
    with GFile(filename, "rb" if binary_mode else "r") as f:
        return f.read()


def write_string_to_file(filename, file_content):
    with GFile(filename, "w") as f:
        f.write(file_content)
