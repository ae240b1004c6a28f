# SPDX-License-Identifier: Apache-2.0
"""Readers of files, as nodes."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import ops

if TYPE_CHECKING:
    from typing import Any, Optional


class ReaderBase:
    """Takes names of files from a queue and gives (key, value) records."""

    def __init__(self, reader_ref: Any, supports_serialize: bool = False) -> None:
        self._reader_ref, self._supports_serialize = reader_ref, supports_serialize

    reader_ref = property(lambda self: self._reader_ref)
    supports_serialize = property(lambda self: self._supports_serialize)

    @staticmethod
    def _queue(queue):
        return queue if isinstance(queue, ops.Tensor) else queue.queue_ref

    def read(self, queue: Any, name: Optional[str] = None) -> Any:
        return gen_ops.reader_read_v2(self._reader_ref, self._queue(queue), name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: Optional[str] = None) -> Any:
        import numpy as np
        count = np.int64(num_records) if not isinstance(num_records, ops.Tensor) else num_records
        return gen_ops.reader_read_up_to_v2(self._reader_ref, self._queue(queue), count, name=name)

    def num_records_produced(self, name: Optional[str] = None) -> Any:
        return gen_ops.reader_num_records_produced_v2(self._reader_ref, name=name)

    def num_work_units_completed(self, name: Optional[str] = None) -> Any:
        return gen_ops.reader_num_work_units_completed_v2(self._reader_ref, name=name)

    def serialize_state(self, name: Optional[str] = None) -> Any:
        return gen_ops.reader_serialize_state_v2(self._reader_ref, name=name)

    def restore_state(self, state: Any, name: Optional[str] = None) -> Any:
        return gen_ops.reader_restore_state_v2(self._reader_ref, state, name=name)

    def reset(self, name: Optional[str] = None) -> Any:
        return gen_ops.reader_reset_v2(self._reader_ref, name=name)


class WholeFileReader(ReaderBase):
    """A reader that returns each file of a queue as one record: its key is the name of the file, its value the contents."""

    def __init__(self, name: Optional[str] = None) -> None:
        super().__init__(gen_ops.whole_file_reader_v2(name=name), supports_serialize=True)


class IdentityReader(ReaderBase):
    def __init__(self, name: Optional[str] = None) -> None:
        super().__init__(gen_ops.identity_reader_v2(name=name), supports_serialize=True)


class TextLineReader(ReaderBase):
    """A reader that returns the lines of the files of a queue, without their line ends."""

    def __init__(self, skip_header_lines: Any = None, name: Optional[str] = None) -> None:
        super().__init__(gen_ops.text_line_reader_v2(skip_header_lines=skip_header_lines or 0, name=name))


class FixedLengthRecordReader(ReaderBase):
    def __init__(self, record_bytes: Any, header_bytes: Any = None, footer_bytes: Any = None, hop_bytes: Any = None,
                 name: Optional[str] = None, encoding: Any = None) -> None:
        super().__init__(gen_ops.fixed_length_record_reader_v2(
            record_bytes=record_bytes, header_bytes=header_bytes or 0, footer_bytes=footer_bytes or 0,
            hop_bytes=hop_bytes or 0, encoding=encoding or "", name=name))


class TFRecordReader(ReaderBase):
    def __init__(self, name: Optional[str] = None, options: Any = None) -> None:
        from millstream.ops.io import python_io
        super().__init__(gen_ops.tf_record_reader_v2(
            compression_type=python_io.TFRecordOptions.get_compression_type_string(options), name=name))


def matching_files(pattern: Any, name: Optional[str] = None) -> Any:
    return gen_ops.matching_files(pattern, name=name)


def read_file(filename: str, name: Optional[str] = None) -> Any:
    return gen_ops.read_file(filename, name=name)


def write_file(filename: str, contents: Any, name: Optional[str] = None) -> Any:
    return gen_ops.write_file(filename, contents, name=name)


def match_filenames_once(pattern: Any, name: Optional[str] = None) -> Any:
    """A local variable with the names that match when it is initialized."""
    from millstream.ops.variables import variables
    with ops.name_scope(name, "matching_filenames", [pattern]) as name:
        return variables.Variable(initial_value=gen_ops.matching_files(pattern), trainable=False, name=name,
                                  validate_shape=False, collections=[ops.GraphKeys.LOCAL_VARIABLES])


def save_v2(prefix, tensor_names, shape_and_slices, tensors, name=None):
    return gen_ops.save_v2(prefix, tensor_names, shape_and_slices, tensors, name=name)


def restore_v2(prefix, tensor_names, shape_and_slices, dtypes, name=None):
    return gen_ops.restore_v2(prefix, tensor_names, shape_and_slices, dtypes=dtypes, name=name)
