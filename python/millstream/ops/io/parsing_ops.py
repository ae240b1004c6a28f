# SPDX-License-Identifier: Apache-2.0
"""Parsing of Example messages, CSV and raw bytes."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops, sparse_tensor, tensor_shape

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike, TensorLike
    from millstream.framework.tensor import Tensor


class VarLenFeature(collections.namedtuple("VarLenFeature", ["dtype"])):
    """Any number of values: a SparseTensor."""


class SparseFeature(collections.namedtuple("SparseFeature", ["index_key", "value_key", "dtype", "size", "already_sorted"])):
    def __new__(cls, index_key, value_key, dtype, size, already_sorted=False):
        return super().__new__(cls, index_key, value_key, dtype, size, already_sorted)


class FixedLenFeature(collections.namedtuple("FixedLenFeature", ["shape", "dtype", "default_value"])):
    """A fixed shape: a tensor."""

    def __new__(cls, shape, dtype, default_value=None):
        return super().__new__(cls, shape, dtype, default_value)


class FixedLenSequenceFeature(collections.namedtuple("FixedLenSequenceFeature",
                                                     ["shape", "dtype", "allow_missing", "default_value"])):
    """Rows of a fixed shape, as many as there are."""

    def __new__(cls, shape, dtype, allow_missing=False, default_value=None):
        return super().__new__(cls, shape, dtype, allow_missing, default_value)


class _Plan:
    """Features in the order of the op: sparse by key, dense by key."""

    def __init__(self, features):
        if not features:
            raise ValueError("Missing: features was {}.".format(features))
        self.sparse, self.dense, self.composed = [], [], {}
        for key in sorted(features):
            feature = features[key]
            if isinstance(feature, VarLenFeature):
                if not feature.dtype:
                    raise ValueError(f"Missing type for feature {key}.")
                self._add_sparse(key, feature.dtype)
            elif isinstance(feature, SparseFeature):
                indices = [feature.index_key] if isinstance(feature.index_key, str) else list(feature.index_key)
                for index in sorted(indices):
                    self._add_sparse(index, dtypes.int64)
                self._add_sparse(feature.value_key, feature.dtype)
                self.composed[key] = feature
            elif isinstance(feature, (FixedLenFeature, FixedLenSequenceFeature)):
                self._add_dense(key, feature)
            else:
                raise ValueError(f"Invalid feature {key}:{feature}.")
        self.sparse.sort()
        self.plain_sparse = [k for k, f in features.items() if isinstance(f, VarLenFeature)]

    def _add_sparse(self, key, dtype):
        entry = (key, dtypes.as_dtype(dtype))
        if entry not in self.sparse:
            self.sparse.append(entry)

    def _add_dense(self, key, feature):
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}.")
        if feature.shape is None:
            raise ValueError(f"Missing shape for feature {key}.")
        dtype, shape = dtypes.as_dtype(feature.dtype), tensor_shape.TensorShape(feature.shape)
        if isinstance(feature, FixedLenSequenceFeature):
            if not feature.allow_missing:
                raise ValueError(f"Unsupported: FixedLenSequenceFeature requires allow_missing to be True: {key}")
            full = tensor_shape.TensorShape([None]).concatenate(shape)
            default = ops.convert_to_tensor(b"" if dtype == dtypes.string else 0, dtype=dtype) \
                if feature.default_value is None else ops.convert_to_tensor(feature.default_value, dtype=dtype)
        else:
            full = shape
            if feature.default_value is None:
                default = ops.convert_to_tensor([], dtype=dtype)
            else:
                default = ops.convert_to_tensor(feature.default_value, dtype=dtype, name="default_" + key.replace("/", "_"))
                if default.shape.rank == 0 and shape.num_elements() not in (None, 1) or shape.rank != default.shape.rank:
                    default = gen_ops.reshape(default, shape.as_list()) if default.shape.num_elements() == shape.num_elements() \
                        else gen_ops.fill(shape.as_list(), gen_ops.reshape(default, []))
        self.dense.append((key, dtype, full, default))

    def result(self, outputs, single):
        indices, values, shapes, dense = outputs
        sparse = {k: sparse_tensor.SparseTensor(i, v, s) for (k, _), i, v, s in zip(self.sparse, indices, values, shapes)}
        out = {k: sparse[k] for k in self.plain_sparse}
        for (key, _, shape, _), tensor in zip(self.dense, dense):
            if tensor.shape.rank is None or not tensor.shape.is_fully_defined():
                tensor.set_shape(shape if single else tensor_shape.TensorShape([None]).concatenate(shape))
            out[key] = tensor
        for key, feature in self.composed.items():
            out[key] = self._compose(feature, sparse, single)
        return out

    @staticmethod
    def _compose(feature, sparse, single):
        if not isinstance(feature.index_key, str):
            raise NotImplementedError("SparseFeature with several index keys")
        values, index = sparse[feature.value_key], sparse[feature.index_key]
        column = gen_ops.expand_dims(index.values, 1)
        rows = [] if single else [gen_ops.slice(values.indices, [0, 0], [-1, 1])]
        indices = gen_ops.concat_v2(rows + [column], 1) if rows else column
        size = ops.convert_to_tensor([feature.size], dtype=dtypes.int64)
        shape = size if single else gen_ops.concat_v2([gen_ops.slice(values.dense_shape, [0], [1]), size], 0)
        return sparse_tensor.SparseTensor(indices, values.values, shape)


def parse_example(serialized, features, name=None, example_names=None) -> dict[str, Any]:
    """A dict of tensors from a vector of serialized Examples."""
    plan = _Plan(features)
    with ops.name_scope(name, "ParseExample", [serialized]):
        serialized = ops.convert_to_tensor(serialized, dtype=dtypes.string, name="serialized")
        if serialized.shape.rank == 0:
            return _parse_single(serialized, plan)
        names = ops.convert_to_tensor([] if example_names is None else example_names, dtype=dtypes.string, name="names")
        outputs = gen_ops.parse_example_v2(  # type: ignore[call-arg]  # Tdense, which is usually inferred
            serialized, names, [k for k, _ in plan.sparse], [d[0] for d in plan.dense], ops.convert_to_tensor([], dtypes.string),
            [d[3] for d in plan.dense], num_sparse=len(plan.sparse), sparse_types=[t for _, t in plan.sparse],
            ragged_value_types=[], ragged_split_types=[], dense_shapes=[d[2] for d in plan.dense],
            Tdense=[d[1] for d in plan.dense], name="ParseExampleV2")
        return plan.result(outputs[:4], False)


def _parse_single(serialized, plan):
    outputs = gen_ops.parse_single_example(
        serialized, [d[3] for d in plan.dense], num_sparse=len(plan.sparse), sparse_keys=[k for k, _ in plan.sparse],
        dense_keys=[d[0] for d in plan.dense], sparse_types=[t for _, t in plan.sparse],
        dense_shapes=[d[2] for d in plan.dense], Tdense=[d[1] for d in plan.dense], name="ParseSingleExample")
    return plan.result(outputs, True)


def parse_single_example(serialized: Any, features: TensorLike, name: Optional[str] = None, example_names: Any = None) -> dict[str, Any]:
    """Parses one serialized `tf.train.Example` into a dict of tensors, as `features` describes them."""
    plan = _Plan(features)
    with ops.name_scope(name, "ParseSingleExample", [serialized]):
        return _parse_single(ops.convert_to_tensor(serialized, dtype=dtypes.string, name="serialized"), plan)


def decode_csv(records: Any, record_defaults: Any, field_delim: str = ",", use_quote_delim: bool = True,
               name: Optional[str] = None, na_value: str = "", select_cols: Any = None) -> list[Tensor]:
    """Splits lines of CSV into one tensor per column, whose dtypes are those of `record_defaults`; the defaults stand for empty fields."""
    if select_cols is not None and any(select_cols[i] >= select_cols[i + 1] for i in range(len(select_cols) - 1)):
        raise ValueError("select_cols is not strictly increasing.")
    return gen_ops.decode_csv(records, record_defaults, field_delim=field_delim, use_quote_delim=use_quote_delim,
                              na_value=na_value, select_cols=select_cols or [], name=name)


def decode_raw(input_bytes: Any = None, out_type: Optional[DTypeLike] = None, little_endian: bool = True,
               name: Optional[str] = None, bytes: Any = None) -> Tensor:  # pylint: disable=redefined-builtin
    """Reads the bytes of each string as numbers of `out_type`; the result has one more dimension than the input."""
    return gen_ops.decode_raw(input_bytes if input_bytes is not None else bytes, out_type=out_type, little_endian=little_endian,
                              name=name)
