# SPDX-License-Identifier: Apache-2.0
"""Datasets of the records of CSV files, and of Examples in TFRecord files, in batches."""
from __future__ import annotations

import collections
import csv
import glob
from typing import TYPE_CHECKING

import numpy as np

from millstream.datasets import file_datasets
from millstream.datasets.dataset_ops import AUTOTUNE, Dataset
from millstream.framework import dtypes, ops
from millstream.ops.io import parsing_ops

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.type_aliases import TensorLike

_TYPES = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.string)  # in the order in which they are tried


def _default(value):
    """A default of a column; a type stands for a column that must be there."""
    if isinstance(value, ops.Tensor):
        return value
    if isinstance(value, (dtypes.DType, type)):
        return ops.convert_to_tensor(np.empty([0], dtypes.as_dtype(value).as_numpy_dtype), dtype=dtypes.as_dtype(value))
    return value if isinstance(value, (list, tuple, np.ndarray)) else [value]


def CsvDataset(filenames, record_defaults, compression_type=None, buffer_size=None, header=False, field_delim=",",  # pylint: disable=invalid-name
               use_quote_delim=True, na_value="", select_cols=None):
    """The records of files, each a tuple of columns. A record is one line of a file."""
    names = ops.convert_to_tensor(filenames, dtype=dtypes.string)
    one_file = lambda name: file_datasets.TextLineDataset(name, compression_type, buffer_size).skip(1 if header else 0)
    lines = one_file(names) if names.shape.rank == 0 else Dataset.from_tensor_slices(names).flat_map(one_file)

    def parse(line):
        columns = parsing_ops.decode_csv(line, [_default(d) for d in record_defaults], field_delim, use_quote_delim,
                                         na_value=na_value, select_cols=select_cols)
        return tuple(columns)
    from millstream.ops.strings import string_ops
    return lines.filter(lambda line: string_ops.string_length(line) > 0).map(parse)


def _rows(names, field_delim, use_quote_delim):
    for name in names:
        with open(name, newline="", encoding="utf-8") as f:
            yield from enumerate(csv.reader(f, delimiter=field_delim, quoting=csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE))


def _inferred_type(text, known, na_value):
    """The first of TensorFlow's types, from `known` on, that a column with this text can have."""
    if text in ("", na_value):
        return known
    for dtype in _TYPES[_TYPES.index(known):]:
        if dtype == dtypes.string:
            return dtype
        try:
            value = dtype.as_numpy_dtype(text)
        except (ValueError, OverflowError):
            continue
        if dtype == dtypes.float32 and np.isinf(value) and "inf" not in text.lower():
            continue
        return dtype
    return dtypes.string


def _inferred_defaults(names, number, field_delim, use_quote_delim, na_value, header, rows, select):
    kinds, seen = [None] * number, 0
    for index, row in _rows(names, field_delim, use_quote_delim):
        if header and index == 0:
            continue
        if len(row) != number:
            raise ValueError(f"Problem inferring types: CSV row has {len(row)} number of fields. Expected: {number}.")
        for i, text in enumerate(row):
            kinds[i] = _inferred_type(text, kinds[i] or dtypes.int32, na_value) if text not in ("", na_value) else kinds[i]
        seen += 1
        if rows is not None and seen >= rows:
            break
    kinds = [kind or dtypes.string for kind in kinds]
    kinds = kinds if select is None else [kinds[i] for i in select]
    return [[""] if k == dtypes.string else np.zeros([1], k.as_numpy_dtype) for k in kinds]


def _files(pattern):
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    names = sorted(name for p in patterns for name in glob.glob(p if isinstance(p, str) else p.decode()))
    if not names:
        raise ValueError(f"No files match `file_pattern` {pattern}.")
    return names


def make_csv_dataset(file_pattern: Any, batch_size: Any, column_names: Any = None, column_defaults: Any = None,
                     label_name: Any = None, select_columns: Any = None, field_delim: str = ",", use_quote_delim: bool = True,
                     na_value: str = "", header: bool = True, num_epochs: Any = None, shuffle: bool = True,
                     shuffle_buffer_size: Any = 10000, shuffle_seed: Any = None, prefetch_buffer_size: Any = None,
                     num_parallel_reads: Any = None, sloppy: bool = False, num_rows_for_inference: Any = 100,
                     compression_type: Any = None, ignore_errors: bool = False) -> Any:
    """Batches of records as dicts of columns, or (dict, label). Names and types that are not given are read off the files."""
    names = _files(file_pattern)
    if column_names is None:
        if not header:
            raise ValueError("Expected `column_names` or `header` arguments. Neither is provided.")
        column_names = next(row for _, row in _rows(names[:1], field_delim, use_quote_delim))
    if len(set(column_names)) != len(column_names):
        raise ValueError("Either `column_names` argument or CSV header row contains duplicate column names: "
                         f"{[n for n, c in collections.Counter(column_names).items() if c > 1]}.")
    select = None
    if select_columns is not None:
        select = sorted(c if isinstance(c, int) else list(column_names).index(c) for c in select_columns)
    defaults = column_defaults
    if defaults is None:
        defaults = _inferred_defaults(names, len(column_names), field_delim, use_quote_delim, na_value, header,
                                      num_rows_for_inference, select)
    if select is not None:
        if len(defaults) != len(select):
            raise ValueError("If specified, `column_defaults` and `select_columns` must have the same length: `column_defaults` has "
                             f"length {len(defaults)}, `select_columns` has length {len(select)}.")
        column_names = [column_names[i] for i in select]
    if label_name is not None and label_name not in column_names:
        raise ValueError(f"`label_name` provided must be one of the columns: {column_names}. Received: {label_name}.")

    def records(name):
        one = CsvDataset(name, defaults, compression_type, None, header, field_delim, use_quote_delim, na_value, select)
        return one._step(_ignore_errors()) if ignore_errors else one

    def organize(*columns):
        features = collections.OrderedDict(zip(column_names, columns))
        return (features, features.pop(label_name)) if label_name is not None else features
    dataset = _file_order(names, shuffle, shuffle_seed).interleave(records, num_parallel_reads or 1, 1)
    dataset = _shuffled(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(organize)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _ignore_errors():
    from millstream import gen_ops
    return gen_ops.ignore_errors_dataset


def _file_order(names, shuffle, seed):
    dataset = Dataset.from_tensor_slices(np.array(names, object))
    return dataset.shuffle(len(names), seed) if shuffle else dataset


def _shuffled(dataset, num_epochs, shuffle, buffer_size, seed):
    if shuffle:
        dataset = dataset.shuffle(buffer_size, seed)
    return dataset if num_epochs == 1 else dataset.repeat(num_epochs)


def parse_example_dataset(features: TensorLike, num_parallel_calls: Any = 1, deterministic: Any = None) -> Any:
    """Parses batches of serialized Examples: for Dataset.apply()."""
    if features is None:
        raise ValueError("Argument `features` is required, but not specified.")
    return lambda dataset: dataset.map(lambda serialized: parsing_ops.parse_example(serialized, features), num_parallel_calls)


def make_batched_features_dataset(file_pattern: Any, batch_size: Any, features: Any, reader: Any = None, label_key: Any = None,
                                  reader_args: Any = None, num_epochs: Any = None, shuffle: Any = True,
                                  shuffle_buffer_size: Any = 10000, shuffle_seed: Any = None, prefetch_buffer_size: Any = None,
                                  reader_num_threads: Any = None, parser_num_threads: Any = None, sloppy_ordering: Any = False,
                                  drop_final_batch: Any = False) -> Any:
    """Batches of parsed Examples of TFRecord files, as dicts or (dict, label)."""
    reader = reader or file_datasets.TFRecordDataset
    names = _files(file_pattern)
    dataset = _file_order(names, shuffle, shuffle_seed).interleave(
        lambda name: reader(name, *(reader_args or [])), reader_num_threads or 1, 1)
    if isinstance(dataset.output_types, tuple):
        dataset = dataset.map(lambda _, value: value)  # (key, value) of some readers
    dataset = _shuffled(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    dataset = dataset.apply(parse_example_dataset(features, parser_num_threads or 2))
    if label_key:
        if label_key not in features:
            raise ValueError(f"The `label_key` provided ({label_key!r}) must be one of the `features` keys: {list(features)}.")
        dataset = dataset.map(lambda x: (x, x.pop(label_key)))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)
