# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.datasets.csv_datasets import CsvDataset as CsvDataset
from millstream.datasets.csv_datasets import make_batched_features_dataset as make_batched_features_dataset
from millstream.datasets.csv_datasets import make_csv_dataset as make_csv_dataset
from millstream.datasets.csv_datasets import parse_example_dataset as parse_example_dataset
from millstream.datasets.dataset_ops import AUTOTUNE as AUTOTUNE
from millstream.datasets.more_steps import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from millstream.datasets.more_steps import RandomDataset as RandomDataset
from millstream.datasets.more_steps import Reducer as Reducer
from millstream.datasets.more_steps import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
from millstream.datasets.more_steps import assert_cardinality as assert_cardinality
from millstream.datasets.more_steps import cardinality as cardinality
from millstream.datasets.more_steps import dense_to_sparse_batch as dense_to_sparse_batch
from millstream.datasets.more_steps import get_single_element as get_single_element
from millstream.datasets.more_steps import group_by_reducer as group_by_reducer
from millstream.datasets.optional_ops import Optional as Optional
from millstream.datasets.optional_ops import get_next_as_optional as get_next_as_optional
from millstream.datasets.options import AutoShardPolicy as AutoShardPolicy
from millstream.datasets.options import AutotuneOptions as AutotuneOptions
from millstream.datasets.options import DistributeOptions as DistributeOptions
from millstream.datasets.options import ExternalStatePolicy as ExternalStatePolicy
from millstream.datasets.options import OptimizationOptions as OptimizationOptions
from millstream.datasets.options import ThreadingOptions as ThreadingOptions
from millstream.datasets.saved_datasets import SHARD_HINT as SHARD_HINT
from millstream.datasets.saved_datasets import TFRecordWriter as TFRecordWriter
from millstream.datasets.saved_datasets import experimental_snapshot as snapshot
from millstream.datasets.saved_datasets import from_list as from_list
from millstream.datasets.saved_datasets import load as load
from millstream.datasets.saved_datasets import make_saveable_from_iterator as make_saveable_from_iterator
from millstream.datasets.saved_datasets import save as save
from millstream.datasets.selection import choose_from_datasets as choose_from_datasets
from millstream.datasets.selection import rejection_resample as rejection_resample
from millstream.datasets.selection import sample_from_datasets as sample_from_datasets
from millstream.datasets.transformations import Counter as Counter
from millstream.datasets.transformations import bucket_by_sequence_length as bucket_by_sequence_length
from millstream.datasets.transformations import copy_to_device as copy_to_device
from millstream.datasets.transformations import enumerate_dataset as enumerate_dataset
from millstream.datasets.transformations import group_by_window as group_by_window
from millstream.datasets.transformations import ignore_errors as ignore_errors
from millstream.datasets.transformations import map_and_batch as map_and_batch
from millstream.datasets.transformations import parallel_interleave as parallel_interleave
from millstream.datasets.transformations import prefetch_to_device as prefetch_to_device
from millstream.datasets.transformations import scan as scan
from millstream.datasets.transformations import shuffle_and_repeat as shuffle_and_repeat
from millstream.datasets.transformations import take_while as take_while
from millstream.datasets.transformations import unbatch as unbatch
from millstream.datasets.transformations import unique as unique

__all__ = [
    "AUTOTUNE",
    "AutoShardPolicy",
    "AutotuneOptions",
    "Counter",
    "CsvDataset",
    "DistributeOptions",
    "ExternalStatePolicy",
    "INFINITE_CARDINALITY",
    "OptimizationOptions",
    "Optional",
    "RandomDataset",
    "Reducer",
    "SHARD_HINT",
    "TFRecordWriter",
    "ThreadingOptions",
    "UNKNOWN_CARDINALITY",
    "assert_cardinality",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "from_list",
    "get_next_as_optional",
    "get_single_element",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "load",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "make_saveable_from_iterator",
    "map_and_batch",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "save",
    "scan",
    "shuffle_and_repeat",
    "snapshot",
    "take_while",
    "unbatch",
    "unique",
]
