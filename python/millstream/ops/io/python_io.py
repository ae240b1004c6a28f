# SPDX-License-Identifier: Apache-2.0
"""TFRecord files, read and written by the program itself."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING

from millstream import _core

if TYPE_CHECKING:
    from typing import Any


class TFRecordCompressionType:
    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    compression_type_map = {0: "", 1: "ZLIB", 2: "GZIP"}

    def __init__(self, compression_type: Any = None, flush_mode: Any = None, input_buffer_size: Any = None,
                 output_buffer_size: Any = None, window_bits: Any = None, compression_level: Any = None,
                 compression_method: Any = None, mem_level: Any = None, compression_strategy: Any = None) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in cls.compression_type_map.values():
            return options
        raise ValueError(f'Not a valid compression_type: "{options}"')


class TFRecordWriter:
    """Writes records to a TFRecord file, compressed if `options` says so.

    Use it in a `with` statement, or call `close` at the end.
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        self._writer = _core.RecordWriter(os.fspath(path), TFRecordOptions.get_compression_type_string(options))

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *error):
        self.close()

    def write(self, record: Any) -> None:
        self._writer.write(record.encode() if isinstance(record, str) else bytes(record))

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


def tf_record_iterator(path, options=None):
    """The records of a file, as bytes."""
    reader = _core.RecordReader(os.fspath(path), TFRecordOptions.get_compression_type_string(options))
    while True:
        record = reader.read()
        if record is None:
            return
        yield record
