# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.data import experimental as experimental
from millstream.datasets.dataset_ops import AUTOTUNE as AUTOTUNE
from millstream.datasets.dataset_ops import Dataset as Dataset
from millstream.datasets.file_datasets import FixedLengthRecordDataset as FixedLengthRecordDataset
from millstream.datasets.file_datasets import TFRecordDataset as TFRecordDataset
from millstream.datasets.file_datasets import TextLineDataset as TextLineDataset
from millstream.datasets.iterator_ops import Iterator as Iterator
from millstream.datasets.iterator_ops import make_initializable_iterator as make_initializable_iterator
from millstream.datasets.iterator_ops import make_one_shot_iterator as make_one_shot_iterator
from millstream.datasets.more_steps import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from millstream.datasets.more_steps import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
from millstream.datasets.options import Options as Options
from millstream.datasets.options import ThreadingOptions as ThreadingOptions
from millstream.datasets.options import get_output_classes as get_output_classes
from millstream.datasets.options import get_output_shapes as get_output_shapes
from millstream.datasets.options import get_output_types as get_output_types

__all__ = [
    "AUTOTUNE",
    "Dataset",
    "FixedLengthRecordDataset",
    "INFINITE_CARDINALITY",
    "Iterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "UNKNOWN_CARDINALITY",
    "experimental",
    "get_output_classes",
    "get_output_shapes",
    "get_output_types",
    "make_initializable_iterator",
    "make_one_shot_iterator",
]
