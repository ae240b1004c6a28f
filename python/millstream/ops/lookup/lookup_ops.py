# SPDX-License-Identifier: Apache-2.0
"""Tables from keys to values: tf.lookup, tf.contrib.lookup, tf.tables_initializer."""
from __future__ import annotations

import collections
import itertools
from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import constant_op, dtypes, ops, sparse_tensor
from millstream.ops.array import array_ops, index_ops
from millstream.ops.math import math_ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.operation import Operation
    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import DTypeLike, TensorLike

_counter = itertools.count()


class TextFileIndex:
    """Says what of a text file becomes a key or a value of a table: the whole line, the line number, or (a number from 0) a column."""
    WHOLE_LINE = -2
    LINE_NUMBER = -1


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """An operation that fills all tables of the graph."""
    from millstream.ops.flow import control_flow_ops
    initializers = ops.get_collection(ops.GraphKeys.TABLE_INITIALIZERS)
    return control_flow_ops.group(*initializers, name=name) if initializers else gen_ops.no_op(name=name)


initialize_all_tables = tables_initializer


class KeyValueTensorInitializer:
    """Fills a lookup table from a tensor of keys and a tensor of values of the same length."""

    def __init__(self, keys: Any, values: Any, key_dtype: Optional[DTypeLike] = None, value_dtype: Optional[DTypeLike] = None,
                 name: Optional[str] = None) -> None:
        with ops.name_scope(name, "key_value_init", [keys, values]):
            self._keys = ops.convert_to_tensor(keys, dtype=key_dtype, name="keys")
            self._values = ops.convert_to_tensor(values, dtype=value_dtype, name="values")
            if value_dtype is not None:
                self._values = math_ops.cast(self._values, value_dtype)
        self.key_dtype, self.value_dtype = self._keys.dtype.base_dtype, self._values.dtype.base_dtype

    def shared_name(self) -> None:
        return None

    def initialize(self, table: Any) -> Operation:
        with ops.name_scope("key_value_init"):
            op = gen_ops.initialize_table_v2(table.resource_handle, self._keys, self._values)
        ops.add_to_collection(ops.GraphKeys.TABLE_INITIALIZERS, op)
        return op


class TextFileInitializer:
    """Keys and values from the lines of a file: columns, whole lines or line numbers."""

    def __init__(self, filename: str, key_dtype: DTypeLike, key_index: Any, value_dtype: DTypeLike, value_index: Any,
                 vocab_size: Any = None, delimiter: str = "\t", name: Optional[str] = None,
                 value_index_offset: Any = 0) -> None:
        if not isinstance(filename, ops.Tensor) and not filename:
            raise ValueError("`filename` argument required for tf.lookup.TextFileInitializer")
        self._filename, self._name = filename, name
        self.key_dtype, self.value_dtype = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)
        self._key_index, self._value_index = key_index, value_index
        self._vocab_size, self._delimiter, self._offset = vocab_size, delimiter, value_index_offset

    def shared_name(self) -> Any:
        if isinstance(self._filename, ops.Tensor):
            return None
        size = -1 if self._vocab_size is None else self._vocab_size
        return f"hash_table_{self._filename}_{size}_{self._key_index}_{self._value_index}"

    def initialize(self, table: Any) -> Any:
        with ops.name_scope(self._name, "text_file_init"):
            filename = ops.convert_to_tensor(self._filename, dtypes.string, name="asset_filepath")
            extra = {"offset": self._offset} if self._offset else {}
            op = gen_ops.initialize_table_from_text_file_v2(
                table.resource_handle, filename, key_index=int(self._key_index), value_index=int(self._value_index),
                vocab_size=-1 if self._vocab_size is None else self._vocab_size, delimiter=self._delimiter, **extra)
        ops.add_to_collection(ops.GraphKeys.TABLE_INITIALIZERS, op)
        ops.add_to_collection(ops.GraphKeys.ASSET_FILEPATHS, filename)
        return op


class TextFileStringTableInitializer(TextFileInitializer):
    def __init__(self, filename: str, key_column_index: Any = TextFileIndex.LINE_NUMBER,
                 value_column_index: Any = TextFileIndex.WHOLE_LINE, vocab_size: Any = None, delimiter: str = "\t",
                 name: str = "text_file_string_table_init") -> None:
        super().__init__(filename, dtypes.int64, key_column_index, dtypes.string, value_column_index, vocab_size, delimiter,
                         name)


class TextFileIdTableInitializer(TextFileInitializer):
    def __init__(self, filename: str, key_column_index: Any = TextFileIndex.WHOLE_LINE,
                 value_column_index: Any = TextFileIndex.LINE_NUMBER, vocab_size: Any = None, delimiter: str = "\t",
                 name: str = "text_file_id_table_init", key_dtype: DTypeLike = dtypes.string) -> None:
        super().__init__(filename, key_dtype, key_column_index, dtypes.int64, value_column_index, vocab_size, delimiter,
                         name)


class _Table:
    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype, self._value_dtype = key_dtype, value_dtype

    key_dtype = property(lambda self: self._key_dtype)
    value_dtype = property(lambda self: self._value_dtype)
    resource_handle = property(lambda self: self._handle)
    table_ref = property(lambda self: self._handle)
    name = property(lambda self: self._name)

    def size(self, name=None):
        return gen_ops.lookup_table_size_v2(self._handle, name=name or f"{self._name}_Size")

    def lookup(self, keys, name=None):
        key_tensor = keys.values if isinstance(keys, sparse_tensor.SparseTensor) else keys
        if ops.is_dense_tensor_like(key_tensor) and key_tensor.dtype.base_dtype != self._key_dtype:
            raise TypeError(f"Dtype of argument `keys` must be {self._key_dtype}, received: {key_tensor.dtype}")
        with ops.name_scope(name, f"{self._name}_Lookup"):
            key_tensor = ops.convert_to_tensor(key_tensor, dtype=self._key_dtype)
            values = gen_ops.lookup_table_find_v2(self._handle, key_tensor, self._default)
        values.set_shape(key_tensor.shape) if self._default.shape.rank == 0 else None
        if isinstance(keys, sparse_tensor.SparseTensor):
            return sparse_tensor.SparseTensor(keys.indices, values, keys.dense_shape)
        return values

    def __getitem__(self, keys):
        return self.lookup(keys)

    def export(self, name=None):
        return tuple(gen_ops.lookup_table_export_v2(self._handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype,
                                                    name=name or f"{self._name}_export_values"))


class StaticHashTable(_Table):
    """A table that its initializer fills, in the collection that tables_initializer() runs."""

    def __init__(self, initializer: Any, default_value: Any, shared_name: Any = None, name: Optional[str] = None) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        shared = shared_name or initializer.shared_name() or f"hash_table_{next(_counter)}"
        with ops.name_scope(name or "hash_table", "hash_table") as scope:
            self._name = name or scope.rstrip("/").split("/")[-1]
            self._default = ops.convert_to_tensor(default_value, dtype=self._value_dtype)
            self._handle = gen_ops.hash_table_v2(key_dtype=self._key_dtype, value_dtype=self._value_dtype,
                                                 shared_name=shared,
                                                 name=self._name)
            self._init = initializer.initialize(self)

    default_value = property(lambda self: self._default)
    initializer = property(lambda self: self._init)
    init = property(lambda self: self._init)


class HashTable(StaticHashTable):
    def __init__(self, initializer: Any, default_value: Any, shared_name: Any = None, name: Optional[str] = None) -> None:
        super().__init__(initializer, default_value, shared_name, name)


class MutableHashTable(_Table):
    """A table that a graph may change with insert() and remove()."""

    def __init__(self, key_dtype, value_dtype, default_value, shared_name=None, name="MutableHashTable", checkpoint=True):
        super().__init__(dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype))
        self._default = ops.convert_to_tensor(default_value, dtype=self._value_dtype)
        self._name = name
        kwargs = {"key_dtype": self._key_dtype, "value_dtype": self._value_dtype, "name": name,
                  "shared_name": shared_name or f"mutable_hash_table_{next(_counter)}"}
        if self._default.shape.rank == 0:
            self._handle = gen_ops.mutable_hash_table_v2(**kwargs)
        else:
            self._handle = gen_ops.mutable_hash_table_of_tensors_v2(value_shape=self._default.shape, **kwargs)
        if checkpoint:
            self._save_in_checkpoints()

    def _save_in_checkpoints(self):
        from millstream.ops.lookup import table_saveable
        ops.add_to_collection(ops.GraphKeys.SAVEABLE_OBJECTS, table_saveable.TableSaveable(self))

    def insert(self, keys: Any, values: Any, name: Optional[str] = None) -> Any:
        keys, values = ops.convert_to_tensor(keys, self._key_dtype), ops.convert_to_tensor(values, self._value_dtype)
        return gen_ops.lookup_table_insert_v2(self._handle, keys, values, name=name or f"{self._name}_lookup_table_insert")

    def remove(self, keys: Any, name: Optional[str] = None) -> Any:
        keys = ops.convert_to_tensor(keys, self._key_dtype)
        return gen_ops.lookup_table_remove_v2(self._handle, keys, name=name or f"{self._name}_lookup_table_remove")


HasherSpec = collections.namedtuple("HasherSpec", ["hasher", "key"])
FastHashSpec = HasherSpec("fasthash", None)


class StrongHashSpec(HasherSpec):
    """Hashes that depend on a secret key: two unsigned numbers."""

    def __new__(cls, key):
        if len(key) != 2:
            raise ValueError(f"key must have size 2, got {key}.")
        if not all(isinstance(part, (int, np.integer)) for part in key):
            raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
        return super().__new__(cls, "stronghash", key)


class StaticVocabularyTable:
    """A table of ids, and buckets by hash for keys that it does not have."""

    def __init__(self, initializer: Any, num_oov_buckets: Any, lookup_key_dtype: Any = None, name: Optional[str] = None,
                 table: Any = None, hasher_spec: Any = None) -> None:
        self._table = table if table is not None else (None if initializer is None else HashTable(initializer, -1))
        self._buckets, self._name, self._hasher = num_oov_buckets, name or "string_to_index", hasher_spec or FastHashSpec
        if self._hasher.hasher not in ("fasthash", "stronghash"):
            raise ValueError(f"Unknown hasher {self._hasher.hasher}")
        if lookup_key_dtype is not None and self._table is not None and (
                dtypes.as_dtype(lookup_key_dtype).is_integer != self._table.key_dtype.is_integer):
            raise TypeError(f"Invalid key dtype, expected {self._table.key_dtype}, but got {lookup_key_dtype}.")

    def _bucket(self, text):
        if self._hasher.hasher == "stronghash":
            return gen_ops.string_to_hash_bucket_strong(text, num_buckets=self._buckets, key=list(self._hasher.key))
        return gen_ops.string_to_hash_bucket_fast(text, num_buckets=self._buckets)

    @property
    def initializer(self) -> Any:
        return self._table.initializer if self._table is not None else gen_ops.no_op()

    init = property(lambda self: self.initializer)
    resource_handle = property(lambda self: self._table.resource_handle)
    key_dtype = property(lambda self: self._table.key_dtype)
    value_dtype = property(lambda self: dtypes.int64)
    name = property(lambda self: self._name)

    def size(self, name: Optional[str] = None) -> Tensor:
        with ops.name_scope(name, f"{self._name}_Size"):
            known = constant_op.constant(0, dtypes.int64) if self._table is None else self._table.size()
            return known + self._buckets

    def lookup(self, keys, name=None):
        values = keys.values if isinstance(keys, sparse_tensor.SparseTensor) else ops.convert_to_tensor(keys)
        with ops.name_scope(name, f"{self._name}_Lookup"):
            text = values if values.dtype.base_dtype == dtypes.string else gen_ops.as_string(values)
            own = values if self._table is None or values.dtype.base_dtype == self._table.key_dtype else math_ops.cast(
                values, self._table.key_dtype)
            if self._table is None:
                ids = self._bucket(text)
            else:
                ids = self._table.lookup(own)
                if self._buckets > 0:
                    buckets = self._bucket(text) + self._table.size()
                    ids = index_ops.where(gen_ops.not_equal(ids, -1), ids, buckets)
        if isinstance(keys, sparse_tensor.SparseTensor):
            return sparse_tensor.SparseTensor(keys.indices, ids, keys.dense_shape)
        return ids


class IdTableWithHashBuckets(StaticVocabularyTable):
    def __init__(self, table: Any, num_oov_buckets: Any, hasher_spec: Any = None, name: Optional[str] = None,
                 key_dtype: Optional[DTypeLike] = None) -> None:
        super().__init__(None, num_oov_buckets, key_dtype, name, table, hasher_spec)


def index_table_from_tensor(vocabulary_list: Any = None, num_oov_buckets: Any = 0, default_value: Any = -1,
                            hasher_spec: Any = None, dtype: DTypeLike = dtypes.string, name: Optional[str] = None,
                            mapping: Any = None) -> Any:
    vocabulary_list = mapping if vocabulary_list is None else vocabulary_list
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` must be specified.")
    with ops.name_scope(name, "string_to_index"):
        keys = ops.convert_to_tensor(vocabulary_list)
        if keys.dtype.is_integer != dtypes.as_dtype(dtype).is_integer:
            raise ValueError(f"Invalid `dtype`: Expected "
                             f"{'integer' if dtypes.as_dtype(dtype).is_integer else 'non-integer'}, got "
                             f"{keys.dtype}.")
        keys = math_ops.cast(keys, dtypes.int64) if keys.dtype.is_integer else keys
        values = math_ops.range(array_ops.size(keys), dtype=dtypes.int32)
        values = math_ops.cast(values, dtypes.int64)
        table = HashTable(KeyValueTensorInitializer(keys, values), default_value)
        return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, "string_to_index") if num_oov_buckets else table


def index_table_from_file(vocabulary_file: Any = None, num_oov_buckets: Any = 0, vocab_size: Any = None,
                          default_value: Any = -1, hasher_spec: Any = None, key_dtype: DTypeLike = dtypes.string,
                          name: Optional[str] = None, key_column_index: Any = TextFileIndex.WHOLE_LINE,
                          value_column_index: Any = TextFileIndex.LINE_NUMBER, delimiter: str = "\t") -> Any:
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError(f"`vocabulary_file` must be specified and must not be empty. Received: {vocabulary_file}")
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
    with ops.name_scope(name, "string_to_index"):
        init = TextFileIdTableInitializer(vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter,
                                          "table_init", key_dtype=key_dtype)
        table = HashTable(init, default_value)
        return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, "string_to_index") if num_oov_buckets else table


def index_to_string_table_from_tensor(vocabulary_list: Any = None, default_value: str = "UNK", name: Optional[str] = None,
                                      mapping: Any = None) -> Any:
    vocabulary_list = mapping if vocabulary_list is None else vocabulary_list
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` argument must be specified.")
    with ops.name_scope(name, "index_to_string"):
        values = ops.convert_to_tensor(vocabulary_list, dtypes.string)
        keys = math_ops.cast(math_ops.range(array_ops.size(values)), dtypes.int64)
        return HashTable(KeyValueTensorInitializer(keys, values), default_value)


def index_to_string_table_from_file(vocabulary_file: Any, vocab_size: Any = None, default_value: str = "UNK",
                                    name: Optional[str] = None, key_column_index: Any = TextFileIndex.LINE_NUMBER,
                                    value_column_index: Any = TextFileIndex.WHOLE_LINE, delimiter: str = "\t") -> Any:
    with ops.name_scope(name, "index_to_string"):
        init = TextFileStringTableInitializer(vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter,
                                              "table_init")
        return HashTable(init, default_value)


def string_to_index(tensor: TensorLike, mapping: Any, default_value: Any = -1, name: Optional[str] = None) -> Any:
    return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


def index_to_string(tensor: TensorLike, mapping: Any, default_value: str = "UNK", name: Optional[str] = None) -> Any:
    return index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)
