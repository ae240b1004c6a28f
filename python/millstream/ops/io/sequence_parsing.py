# SPDX-License-Identifier: Apache-2.0
"""tf.parse_single_sequence_example; tensors as strings and back."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops, sparse_tensor, tensor_shape
from millstream.ops.io.parsing_ops import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike, TensorLike


def serialize_tensor(tensor: TensorLike, name: Optional[str] = None) -> Any:
    return gen_ops.serialize_tensor(tensor, name=name)


def parse_tensor(serialized: Any, out_type: DTypeLike, name: Optional[str] = None) -> Any:
    return gen_ops.parse_tensor(serialized, out_type=out_type, name=name)


def _split(features, fixed_kind, what):
    """(sparse [(key, type)], dense [(key, feature)]) in the order of their names."""
    sparse, dense = [], []
    for key in sorted(features or {}):
        feature = features[key]
        if isinstance(feature, VarLenFeature):
            sparse.append((key, dtypes.as_dtype(feature.dtype)))
        elif isinstance(feature, fixed_kind):
            dense.append((key, feature))
        else:
            raise ValueError(f"Unsupported {type(feature).__name__} {key} in {what}.")
    return sparse, dense


def _default(key, feature):
    if feature.default_value is None:
        return ops.convert_to_tensor([], dtype=feature.dtype)
    value = ops.convert_to_tensor(feature.default_value, dtype=feature.dtype, name="default_" + key.replace("/", "_"))
    shape = tensor_shape.TensorShape(feature.shape)
    return value if value.shape.rank == shape.rank else gen_ops.reshape(value, shape.as_list())


def _results(sparse, dense, indices, values, shapes, tensors, leading):
    out = {key: sparse_tensor.SparseTensor(i, v, s) for (key, _), i, v, s in zip(sparse, indices, values, shapes)}
    for (key, feature), tensor in zip(dense, tensors):
        tensor.set_shape(tensor_shape.TensorShape(leading).concatenate(feature.shape))
        out[key] = tensor
    return out


def parse_single_sequence_example(serialized, context_features=None, sequence_features=None, example_name=None, name=None):
    """(context, sequences): dicts of tensors of one SequenceExample."""
    if not context_features and not sequence_features:
        raise ValueError("Missing features: either `context_features` or `sequence_features` must be given.")
    context_sparse, context_dense = _split(context_features, FixedLenFeature, "context_features")
    list_sparse, list_dense = _split(sequence_features, FixedLenSequenceFeature, "sequence_features")
    with ops.name_scope(name, "ParseSingleSequenceExample", [serialized]):
        outputs = gen_ops.parse_single_sequence_example(
            ops.convert_to_tensor(serialized, dtype=dtypes.string, name="serialized"),
            ops.convert_to_tensor([k for k, f in list_dense if f.allow_missing], dtype=dtypes.string),
            [ops.convert_to_tensor(k) for k, _ in context_sparse], [ops.convert_to_tensor(k) for k, _ in context_dense],
            [ops.convert_to_tensor(k) for k, _ in list_sparse], [ops.convert_to_tensor(k) for k, _ in list_dense],
            [_default(k, f) for k, f in context_dense], ops.convert_to_tensor(example_name or "", dtype=dtypes.string),
            context_sparse_types=[t for _, t in context_sparse], Tcontext_dense=[f.dtype for _, f in context_dense],
            context_dense_shapes=[f.shape for _, f in context_dense], feature_list_sparse_types=[t for _, t in list_sparse],
            feature_list_dense_types=[f.dtype for _, f in list_dense], feature_list_dense_shapes=[f.shape for _, f in list_dense])
        ci, cv, cs, cd, li, lv, ls, ld = outputs
        return (_results(context_sparse, context_dense, ci, cv, cs, cd, []),
                _results(list_sparse, list_dense, li, lv, ls, ld, [None]))


def parse_sequence_example(serialized: Any, context_features: Any = None, sequence_features: Any = None,
                           example_names: Any = None, name: Optional[str] = None) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Parses a batch of SequenceExamples into (context, sequences, lengths), which are dicts of tensors.

    Dense sequences are padded; `lengths` says how long each is.
    """
    if not context_features and not sequence_features:
        raise ValueError("Missing features: either `context_features` or `sequence_features` must be given.")
    context_sparse, context_dense = _split(context_features, FixedLenFeature, "context_features")
    list_sparse, list_dense = _split(sequence_features, FixedLenSequenceFeature, "sequence_features")
    keys = lambda pairs: ops.convert_to_tensor([k for k, _ in pairs], dtype=dtypes.string)
    with ops.name_scope(name, "ParseSequenceExample", [serialized]):
        none = ops.convert_to_tensor([], dtype=dtypes.string)
        out = gen_ops.parse_sequence_example_v2(
            ops.convert_to_tensor(serialized, dtype=dtypes.string, name="serialized"),
            ops.convert_to_tensor([] if example_names is None else example_names, dtype=dtypes.string), keys(context_sparse),
            keys(context_dense), none, keys(list_sparse), keys(list_dense), none,
            ops.convert_to_tensor([f.allow_missing for _, f in list_dense], dtype=dtypes.bool),
            [_default(k, f) for k, f in context_dense], Ncontext_sparse=len(context_sparse),
            context_sparse_types=[t for _, t in context_sparse], context_dense_shapes=[f.shape for _, f in context_dense],
            Nfeature_list_sparse=len(list_sparse), Nfeature_list_dense=len(list_dense),
            feature_list_dense_types=[f.dtype for _, f in list_dense], feature_list_sparse_types=[t for _, t in list_sparse],
            feature_list_dense_shapes=[f.shape for _, f in list_dense])
        context = _results(context_sparse, context_dense, out.context_sparse_indices, out.context_sparse_values,
                           out.context_sparse_shapes, out.context_dense_values, [None])
        lists = _results(list_sparse, list_dense, out.feature_list_sparse_indices, out.feature_list_sparse_values,
                         out.feature_list_sparse_shapes, out.feature_list_dense_values, [None, None])
        return context, lists, {key: length for (key, _), length in zip(list_dense, out.feature_list_dense_lengths)}
