# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.datasets.csv_datasets import CsvDataset as CsvDataset
from millstream.datasets.csv_datasets import make_batched_features_dataset as make_batched_features_dataset
from millstream.datasets.csv_datasets import make_csv_dataset as make_csv_dataset
from millstream.datasets.csv_datasets import parse_example_dataset as parse_example_dataset
from millstream.datasets.dataset_ops import Dataset as Dataset
from millstream.datasets.file_datasets import FixedLengthRecordDataset as FixedLengthRecordDataset
from millstream.datasets.file_datasets import TFRecordDataset as TFRecordDataset
from millstream.datasets.file_datasets import TextLineDataset as TextLineDataset
from millstream.datasets.iterator_ops import Iterator as Iterator
from millstream.datasets.more_steps import RandomDataset as RandomDataset
from millstream.datasets.more_steps import Reducer as Reducer
from millstream.datasets.more_steps import dense_to_sparse_batch as dense_to_sparse_batch
from millstream.datasets.more_steps import get_single_element as get_single_element
from millstream.datasets.more_steps import group_by_reducer as group_by_reducer
from millstream.datasets.optional_ops import Optional as Optional
from millstream.datasets.optional_ops import get_next_as_optional as get_next_as_optional
from millstream.datasets.saved_datasets import TFRecordWriter as TFRecordWriter
from millstream.datasets.saved_datasets import make_saveable_from_iterator as make_saveable_from_iterator
from millstream.datasets.selection import choose_from_datasets as choose_from_datasets
from millstream.datasets.selection import rejection_resample as rejection_resample
from millstream.datasets.selection import sample_from_datasets as sample_from_datasets
from millstream.datasets.transformations import Counter as Counter
from millstream.datasets.transformations import batch_and_drop_remainder as batch_and_drop_remainder
from millstream.datasets.transformations import bucket_by_sequence_length as bucket_by_sequence_length
from millstream.datasets.transformations import copy_to_device as copy_to_device
from millstream.datasets.transformations import enumerate_dataset as enumerate_dataset
from millstream.datasets.transformations import group_by_window as group_by_window
from millstream.datasets.transformations import ignore_errors as ignore_errors
from millstream.datasets.transformations import map_and_batch as map_and_batch
from millstream.datasets.transformations import padded_batch_and_drop_remainder as padded_batch_and_drop_remainder
from millstream.datasets.transformations import parallel_interleave as parallel_interleave
from millstream.datasets.transformations import prefetch_to_device as prefetch_to_device
from millstream.datasets.transformations import scan as scan
from millstream.datasets.transformations import shuffle_and_repeat as shuffle_and_repeat
from millstream.datasets.transformations import take_while as take_while
from millstream.datasets.transformations import unbatch as unbatch
from millstream.datasets.transformations import unique as unique

__all__ = [
    "Counter",
    "CsvDataset",
    "Dataset",
    "FixedLengthRecordDataset",
    "Iterator",
    "Optional",
    "RandomDataset",
    "Reducer",
    "TFRecordDataset",
    "TFRecordWriter",
    "TextLineDataset",
    "batch_and_drop_remainder",
    "bucket_by_sequence_length",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "get_next_as_optional",
    "get_single_element",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "make_saveable_from_iterator",
    "map_and_batch",
    "padded_batch_and_drop_remainder",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "scan",
    "shuffle_and_repeat",
    "take_while",
    "unbatch",
    "unique",
]
