# SPDX-License-Identifier: Apache-2.0
"""tf.lookup.experimental.DenseHashTable."""
from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.lookup import lookup_ops

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.type_aliases import DTypeLike

_counter = itertools.count()


class DenseHashTable(lookup_ops.MutableHashTable):
    """A mutable table in one block of memory. `empty_key` and `deleted_key` mark places in it, and cannot be keys."""

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike, default_value: Any, empty_key: Any, deleted_key: Any,
                 initial_num_buckets: Any = None, name: str = "MutableDenseHashTable", checkpoint: bool = True,
                 experimental_is_anonymous: bool = False, shared_name: Any = None) -> None:
        lookup_ops._Table.__init__(self, dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype))
        self._default = ops.convert_to_tensor(default_value, dtype=self._value_dtype)
        self._name = name
        given = {} if initial_num_buckets is None else {"initial_num_buckets": initial_num_buckets}
        self._handle = gen_ops.mutable_dense_hash_table_v2(
            ops.convert_to_tensor(empty_key, self._key_dtype), ops.convert_to_tensor(deleted_key, self._key_dtype),
            shared_name=shared_name or f"dense_hash_table_{next(_counter)}", value_dtype=self._value_dtype, value_shape=self._default.shape,
            name=name, **given)
        if checkpoint:
            self._save_in_checkpoints()


class MutableDenseHashTable(DenseHashTable):
    """tf.contrib.lookup.MutableDenseHashTable, where deleted_key came later."""

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike, default_value: Any, empty_key: Any,
                 deleted_key: Any = None, initial_num_buckets: Any = None, shared_name: Any = None,
                 name: str = "MutableDenseHashTable", checkpoint: bool = True) -> None:
        if deleted_key is None:
            empty = ops.convert_to_tensor(empty_key, dtypes.as_dtype(key_dtype))
            deleted_key = gen_ops.string_join([empty, "deleted"]) if empty.dtype == dtypes.string else empty - 1
        super().__init__(key_dtype, value_dtype, default_value, empty_key, deleted_key, initial_num_buckets, name, checkpoint,
                         shared_name=shared_name)
