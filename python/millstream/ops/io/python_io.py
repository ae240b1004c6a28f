# SPDX-License-Identifier: Apache-2.0
"""TFRecord files, read and written by the program itself."""
import os

from millstream import _core


class TFRecordCompressionType:
    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    compression_type_map = {0: "", 1: "ZLIB", 2: "GZIP"}

    def __init__(self, compression_type=None, flush_mode=None, input_buffer_size=None, output_buffer_size=None,
                 window_bits=None, compression_level=None, compression_method=None, mem_level=None,
                 compression_strategy=None):
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type

    @classmethod
    def get_compression_type_string(cls, options):
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
    def __init__(self, path, options=None):
        self._writer = _core.RecordWriter(os.fspath(path), TFRecordOptions.get_compression_type_string(options))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def write(self, record):
        self._writer.write(record.encode() if isinstance(record, str) else bytes(record))

    def flush(self):
        self._writer.flush()

    def close(self):
        self._writer.close()


def tf_record_iterator(path, options=None):
    """The records of a file, as bytes."""
    reader = _core.RecordReader(os.fspath(path), TFRecordOptions.get_compression_type_string(options))
    while True:
        record = reader.read()
        if record is None:
            return
        yield record
