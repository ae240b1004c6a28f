# SPDX-License-Identifier: Apache-2.0
"""One FileWriter for each folder."""
from __future__ import annotations

import threading

from millstream.events.writer import FileWriter


class FileWriterCache:
    """One FileWriter per folder, shared by all who ask for it."""
    _cache: dict = {}
    _lock = threading.RLock()

    @staticmethod
    def get(logdir: str) -> FileWriter:
        with FileWriterCache._lock:
            found = FileWriterCache._cache.get(logdir)
            if found is None or found._closed:
                found = FileWriterCache._cache[logdir] = FileWriter(logdir)
            return found

    @staticmethod
    def clear() -> None:
        with FileWriterCache._lock:
            for writer in FileWriterCache._cache.values():
                writer.close()
            FileWriterCache._cache = {}
