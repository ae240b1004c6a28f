# SPDX-License-Identifier: Apache-2.0
"""tf.strings: functions whose results are ragged."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.array import array_ops
from millstream.ops.math import math_ops
from millstream.ops.ragged.public_names import RaggedTensor
from millstream.ops.ragged.ragged_ops import convert

if TYPE_CHECKING:
    from typing import Any, Optional


def _of_strings(input, function):  # pylint: disable=redefined-builtin
    """function(vector of strings) -> RaggedTensors with a row for each; of scalars a tensor, of ragged ones deeper ones."""
    value = convert(input)
    if isinstance(value, RaggedTensor):
        return [value.with_flat_values(r) for r in function(value.flat_values)]
    rank = value.shape.rank
    if rank is None:
        raise ValueError("Rank of input must be statically known.")
    if rank == 0:
        return [r.values for r in function(array_ops.reshape(value, [1]))]
    results = function(array_ops.reshape(value, [-1]))
    for axis in range(rank - 1, 0, -1):
        sizes = array_ops.shape(value, out_type=dtypes.int64)
        rows = gen_ops.prod(sizes[:axis], 0)
        results = [RaggedTensor(r, math_ops.range(rows + 1) * sizes[axis]) for r in results]
    return results


def _decoded(input, input_encoding, errors, replacement_char, replace_control_characters, with_offsets):  # pylint: disable=redefined-builtin
    def decode(flat):
        splits, codes, starts = gen_ops.unicode_decode_with_offsets(
            flat, input_encoding=input_encoding, errors=errors, replacement_char=replacement_char,
            replace_control_characters=replace_control_characters)
        codes = RaggedTensor(codes, splits)
        return [codes, codes.with_values(starts)] if with_offsets else [codes]
    return _of_strings(input, decode)


def unicode_decode(input: Any, input_encoding: Any, errors: str = "replace", replacement_char: Any = 65533,
                   replace_control_characters: bool = False, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    """Code points of strings."""
    with ops.name_scope(name, "UnicodeDecode"):
        return _decoded(input, input_encoding, errors, replacement_char, replace_control_characters, False)[0]


def unicode_decode_with_offsets(input, input_encoding, errors="replace", replacement_char=65533, replace_control_characters=False,  # pylint: disable=redefined-builtin
                                name=None):
    """(code points, where each begins)."""
    with ops.name_scope(name, "UnicodeDecodeWithOffsets"):
        return tuple(_decoded(input, input_encoding, errors, replacement_char, replace_control_characters, True))


def _characters(codes):
    """Each code point as a string of its own."""
    flat = codes.flat_values if isinstance(codes, RaggedTensor) else codes
    ones = math_ops.range(array_ops.shape(flat, out_type=dtypes.int64)[0] + 1)
    text = gen_ops.unicode_encode(flat, ones, output_encoding="UTF-8")
    return codes.with_flat_values(text) if isinstance(codes, RaggedTensor) else text


def _in_encoding(characters, encoding):
    if encoding == "UTF-8":
        return characters
    from millstream.ops.ragged import ragged_ops
    return ragged_ops.map_flat_values(lambda t: gen_ops.unicode_transcode(t, input_encoding="UTF-8", output_encoding=encoding), characters)


def unicode_split(input: Any, input_encoding: Any, errors: str = "replace", replacement_char: Any = 65533,
                  name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    """Characters of strings."""
    with ops.name_scope(name, "UnicodeSplit"):
        return _in_encoding(_characters(_decoded(input, input_encoding, errors, replacement_char, False, False)[0]), input_encoding)


def unicode_split_with_offsets(input: Any, input_encoding: Any, errors: str = "replace", replacement_char: Any = 65533,
                               name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    with ops.name_scope(name, "UnicodeSplitWithOffsets"):
        codes, starts = _decoded(input, input_encoding, errors, replacement_char, False, True)
        return _in_encoding(_characters(codes), input_encoding), starts


def unicode_encode(input: Any, output_encoding: Any, errors: str = "replace", replacement_char: Any = 65533,
                   name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    """Strings of code points: the innermost dimension becomes one string."""
    with ops.name_scope(name, "UnicodeEncode"):
        value = convert(input)

        def encode(codes, splits):
            return gen_ops.unicode_encode(codes, splits, output_encoding=output_encoding, errors=errors, replacement_char=replacement_char)
        if isinstance(value, RaggedTensor):
            if isinstance(value.values, RaggedTensor):
                return value.with_values(unicode_encode(value.values, output_encoding, errors, replacement_char))
            return encode(value.values, value.row_splits)
        size = array_ops.shape(value, out_type=dtypes.int64)
        if value.shape.rank == 1:
            return array_ops.reshape(encode(value, array_ops.stack([0 * size[0], size[0]])), [])
        flat, rows = array_ops.reshape(value, [-1]), gen_ops.prod(size[:-1], 0)
        return array_ops.reshape(encode(flat, math_ops.range(rows + 1) * size[-1]), size[:-1])


def bytes_split(input: Any, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    """Bytes of strings."""
    with ops.name_scope(name, "StringsByteSplit"):
        def split(flat):
            indices, values, shape = gen_ops.string_split(flat, "", skip_empty=False)
            return [RaggedTensor.from_value_rowids(values, indices[:, 0], nrows=shape[0])]
        return _of_strings(input, split)[0]


def ngrams(data, ngram_width, separator=" ", pad_values=None, padding_width=None, preserve_short_sequences=False, name=None):
    """Strings of `ngram_width` neighbours, joined."""
    with ops.name_scope(name, "StringNGrams"):
        widths = [ngram_width] if isinstance(ngram_width, int) else list(ngram_width)
        left, right = ("", "") if pad_values is None else (pad_values, pad_values) if isinstance(pad_values, (str, bytes)) else pad_values
        pad_width = 0 if pad_values is None else (-1 if padding_width is None else padding_width)
        value = convert(data)
        if isinstance(value, RaggedTensor):
            if isinstance(value.values, RaggedTensor):
                return value.with_values(ngrams(value.values, ngram_width, separator, pad_values, padding_width, preserve_short_sequences))
            flat, splits = value.values, value.row_splits
        else:
            size = array_ops.shape(value, out_type=dtypes.int64)
            flat, splits = array_ops.reshape(value, [-1]), math_ops.range(gen_ops.prod(size[:-1], 0) + 1) * size[-1]
        grams, grams_splits = gen_ops.string_n_grams(flat, splits, separator=separator, ngram_widths=widths, left_pad=left,
                                                     right_pad=right, pad_width=pad_width,
                                                     preserve_short_sequences=preserve_short_sequences)
        if not isinstance(value, RaggedTensor) and value.shape.rank == 1:
            return grams
        return RaggedTensor(grams, grams_splits)
