# SPDX-License-Identifier: Apache-2.0
"""Strings: tf.string_split, tf.regex_replace, tf.strings.*"""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops, sparse_tensor
from millstream.ops.array import array_ops
from millstream.ops.math import math_ops
from millstream.ops.arguments import renamed

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.sparse_tensor import SparseTensor
    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import DTypeLike


def _sparse(parts):
    result = sparse_tensor.SparseTensor(*parts)
    result.indices.set_shape([None, 2])
    result.dense_shape.set_shape([2])
    return result


def _as(result_type, pieces):
    if result_type == "SparseTensor":
        return pieces
    if result_type != "RaggedTensor":
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")
    from millstream.ops.ragged import public_names as ragged
    return ragged.RaggedTensor.from_value_rowids(pieces.values, pieces.indices[:, 0], nrows=pieces.dense_shape[0])


def string_split(source: Any, sep: Any = None, skip_empty: bool = True, delimiter: Any = None,
                 result_type: str = "SparseTensor", name: Optional[str] = None) -> SparseTensor:
    """The pieces of each string, as rows of a SparseTensor. Every character of `sep` separates."""
    sep = renamed("sep", sep, "delimiter", delimiter)
    sep = " " if sep is None else sep
    if isinstance(source, str):
        source = [source]
    with ops.name_scope(name, "StringSplit", [source]):
        source = ops.convert_to_tensor(source, dtype=dtypes.string)
        sep = ops.convert_to_tensor(sep, dtype=dtypes.string)
        return _as(result_type, _sparse(gen_ops.string_split(source, delimiter=sep, skip_empty=skip_empty)))


def string_split_v2(input: Any = None, sep: Any = None, maxsplit: Any = -1, result_type: str = "SparseTensor",
                    source: Any = None, name: Optional[str] = None) -> SparseTensor:
    # pylint: disable=redefined-builtin
    """As Python's str.split()."""
    source = renamed("input", input, "source", source)
    with ops.name_scope(name, "StringSplit", [source]):
        source = ops.convert_to_tensor(source, dtype=dtypes.string, name="input")
        if source.shape.rank == 0:
            source = array_ops.expand_dims(source, 0)
        sep = ops.convert_to_tensor("" if sep is None else sep, dtype=dtypes.string)
        return _as(result_type, _sparse(gen_ops.string_split_v2(source, sep=sep, maxsplit=maxsplit)))


def string_join(inputs: Any, separator: str = "", name: Optional[str] = None) -> Tensor:
    return gen_ops.string_join(inputs, separator=separator, name=name)


def as_string(input: Any, precision: Any = -1, scientific: bool = False, shortest: bool = False, width: Any = -1,
              fill: str = "", name: Optional[str] = None) -> Tensor:
    """Formats each element as text.

    `precision`, `scientific` and `shortest` are for floating-point numbers, `width` and `fill` pad.
    """
    # pylint: disable=redefined-builtin
    return gen_ops.as_string(input, precision=precision, scientific=scientific, shortest=shortest, width=width, fill=fill,
                             name=name)


def string_to_number(string_tensor: Any = None, out_type: DTypeLike = dtypes.float32, name: Optional[str] = None,
                     input: Any = None) -> Tensor:  # pylint: disable=redefined-builtin
    """Parses each string as a number of `out_type`. Running it fails if one is not a number."""
    return gen_ops.string_to_number(renamed("input", input, "string_tensor", string_tensor), out_type=out_type, name=name)


def substr(input: Any, pos: Any, len: Any, name: Optional[str] = None, unit: str = "BYTE") -> Tensor:  # pylint: disable=redefined-builtin
    return gen_ops.substr(input, pos, len, unit=unit, name=name)


def regex_replace(input, pattern, rewrite, replace_global=True, name=None):  # pylint: disable=redefined-builtin
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return gen_ops.static_regex_replace(input, pattern=pattern, rewrite=rewrite, replace_global=replace_global,
                                            name=name)
    return gen_ops.regex_replace(input, pattern, rewrite, replace_global=replace_global, name=name)


def regex_full_match(input, pattern, name=None):  # pylint: disable=redefined-builtin
    if isinstance(pattern, (str, bytes)):
        return gen_ops.static_regex_full_match(input, pattern=pattern, name=name)
    return gen_ops.regex_full_match(input, pattern, name=name)


def string_length(input: Any, name: Optional[str] = None, unit: str = "BYTE") -> Tensor:  # pylint: disable=redefined-builtin
    return gen_ops.string_length(input, unit=unit, name=name)


def string_strip(input: Any, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    return gen_ops.string_strip(input, name=name)


def string_lower(input: Any, encoding: str = "", name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    return gen_ops.string_lower(input, encoding=encoding, name=name)


def string_upper(input: Any, encoding: str = "", name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    return gen_ops.string_upper(input, encoding=encoding, name=name)


def string_to_hash_bucket(string_tensor: Any = None, num_buckets: Any = None, name: Optional[str] = None,
                          input: Any = None) -> Tensor:  # pylint: disable=redefined-builtin
    return gen_ops.string_to_hash_bucket(renamed("input", input, "string_tensor", string_tensor), num_buckets=num_buckets,
                                         name=name)


def string_to_hash_bucket_fast(input: Any, num_buckets: Any, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    return gen_ops.string_to_hash_bucket_fast(input, num_buckets=num_buckets, name=name)


def string_to_hash_bucket_strong(input: Any, num_buckets: Any, key: Any, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    return gen_ops.string_to_hash_bucket_strong(input, num_buckets=num_buckets, key=list(key), name=name)


def reduce_join(inputs: Any, axis: Any = None, keep_dims: Optional[bool] = None, separator: str = "",
                name: Optional[str] = None, reduction_indices: Any = None, keepdims: Optional[bool] = None) -> Tensor:
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    inputs = ops.convert_to_tensor(inputs, dtype=dtypes.string, name="inputs")
    if axis is None:  # the last axis first
        rank = inputs.shape.rank
        axis = math_ops.range(rank - 1, -1, -1) if rank is not None else math_ops.range(gen_ops.rank(inputs) - 1, -1, -1)
    return gen_ops.reduce_join(inputs, axis, keep_dims=keep, separator=separator,
                               name=name)


def string_format(template: Any, inputs: Any, placeholder: str = "{}", summarize: Any = 3,
                  name: Optional[str] = None) -> Tensor:
    inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if template.count(placeholder) != len(inputs):
        raise ValueError(f"The template expects {template.count(placeholder)} tensors, but the inputs only has "
                         f"{len(inputs)}. "
                         "Please ensure the number of placeholders in template matches inputs length.")
    return gen_ops.string_format([ops.convert_to_tensor(i) for i in inputs], template=template, placeholder=placeholder,
                                 summarize=summarize, name=name)


def encode_base64(input: Any, pad: bool = False, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    return gen_ops.encode_base64(input, pad=pad, name=name)


def decode_base64(input: Any, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    return gen_ops.decode_base64(input, name=name)


def decode_json_example(json_examples: Any, name: Optional[str] = None) -> Any:
    return gen_ops.decode_json_example(json_examples, name=name)


def unicode_transcode(input: Any, input_encoding: Any, output_encoding: Any, errors: str = "replace",
                      replacement_char: Any = 65533, replace_control_characters: bool = False,
                      name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    return gen_ops.unicode_transcode(input, input_encoding=input_encoding, output_encoding=output_encoding, errors=errors,
                                     replacement_char=replacement_char,
                                     replace_control_characters=replace_control_characters, name=name)
