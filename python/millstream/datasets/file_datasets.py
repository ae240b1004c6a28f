# SPDX-License-Identifier: Apache-2.0
"""Datasets of the records of files."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.datasets.dataset_ops import Dataset, _inside, _int64, _Spec
from millstream.framework import dtypes, ops
from millstream.ops.array import array_ops

if TYPE_CHECKING:
    from typing import Any


class _FileDataset(Dataset):
    def __init__(self, filenames: Any, make: Any, num_parallel_reads: Any) -> None:
        if num_parallel_reads is not None and not isinstance(filenames, Dataset):
            filenames = Dataset.from_tensor_slices(array_ops.reshape(ops.convert_to_tensor(filenames, dtypes.string), [-1]))
        if isinstance(filenames, Dataset):
            def one(name):
                return self._one(name, make)
            inner = filenames.flat_map(one) if num_parallel_reads is None else filenames.interleave(
                one, cycle_length=num_parallel_reads, num_parallel_calls=num_parallel_reads)
            super().__init__(inner._spec, inner._make)
        else:
            super().__init__(_Spec(dtypes.string, []), lambda: make(_inside(filenames) if isinstance(filenames, ops.Tensor)
                                                                    else ops.convert_to_tensor(filenames, dtypes.string)))

    def _one(self, name, make):
        return Dataset(_Spec(dtypes.string, []), lambda: make(name))


class TFRecordDataset(_FileDataset):
    """The records of TFRecord files."""

    def __init__(self, filenames: Any, compression_type: Any = None, buffer_size: Any = None,
                 num_parallel_reads: Any = None) -> None:
        super().__init__(filenames, lambda names: gen_ops.tf_record_dataset(
            names, compression_type or "", _int64(buffer_size, 256 * 1024)), num_parallel_reads)


class TextLineDataset(_FileDataset):
    """The lines of text files."""

    def __init__(self, filenames: Any, compression_type: Any = None, buffer_size: Any = None,
                 num_parallel_reads: Any = None) -> None:
        super().__init__(filenames, lambda names: gen_ops.text_line_dataset(
            names, compression_type or "", _int64(buffer_size, 256 * 1024)), num_parallel_reads)


class FixedLengthRecordDataset(_FileDataset):
    """Records of a fixed number of bytes."""

    def __init__(self, filenames: Any, record_bytes: Any, header_bytes: Any = None, footer_bytes: Any = None,
                 buffer_size: Any = None, compression_type: Any = None, num_parallel_reads: Any = None) -> None:
        super().__init__(filenames, lambda names: gen_ops.fixed_length_record_dataset_v2(
            names, _int64(header_bytes, 0), _int64(record_bytes), _int64(footer_bytes, 0), _int64(buffer_size, 256 * 1024),
            compression_type or ""), num_parallel_reads)
