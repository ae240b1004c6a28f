# SPDX-License-Identifier: Apache-2.0
"""Nested structures of lists, tuples, namedtuples and dicts: tf.nest, tf.contrib.framework.nest.

A dict counts in the order of its sorted keys. Strings, arrays and tensors are leaves.
"""
from __future__ import annotations

import collections.abc
from typing import TYPE_CHECKING

from millstream.framework import sparse_tensor
from millstream.framework.indexed_slices import IndexedSlices

if TYPE_CHECKING:
    from typing import Any


def is_nested(value: Any) -> bool:
    return (isinstance(value, (collections.abc.Sequence, collections.abc.Mapping))
            and not isinstance(value, (str, bytes, bytearray)) and not _is_shape(value)) or isinstance(
                value, collections.abc.MappingView)


is_sequence = is_nested
is_sequence_or_composite = is_nested


def _is_shape(value):
    from millstream.framework.tensor_shape import TensorShape
    return isinstance(value, TensorShape)


def _is_composite(value):
    return isinstance(value, (sparse_tensor.SparseTensor, IndexedSlices))


def _parts(value):
    if isinstance(value, sparse_tensor.SparseTensor):
        return [value.indices, value.values, value.dense_shape]
    return [value.values, value.indices] + ([] if value.dense_shape is None else [value.dense_shape])


def _of_parts(value, parts):
    if isinstance(value, sparse_tensor.SparseTensor):
        return sparse_tensor.SparseTensor(*parts)
    return IndexedSlices(*parts)


def _children(value):
    if isinstance(value, collections.abc.Mapping):
        return [value[k] for k in sorted_keys(value)]
    return list(value)


def sorted_keys(mapping):
    try:
        return sorted(mapping)
    except TypeError:
        raise TypeError("nest only supports dicts with sortable keys.") from None


def flatten(structure, expand_composites=False):
    out = []
    _flatten(structure, out, expand_composites)
    return out


def _flatten(value, out, expand):
    if is_nested(value):
        for child in _children(value):
            _flatten(child, out, expand)
    elif expand and _is_composite(value):
        out.extend(_parts(value))
    else:
        out.append(value)


def _rebuild(structure, children):
    if isinstance(structure, collections.abc.Mapping):
        by_key = dict(zip(sorted_keys(structure), children))
        ordered = [(k, by_key[k]) for k in structure]
        if isinstance(structure, collections.defaultdict):
            return type(structure)(structure.default_factory, ordered)
        return type(structure)(ordered)
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*children)
    if isinstance(structure, (list, tuple)):
        return type(structure)(children)
    return list(children)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    flat = list(flat_sequence)
    if not is_nested(structure) and not (expand_composites and _is_composite(structure)):
        if len(flat) != 1:
            raise ValueError(f"The target structure is of type `{type(structure)}`\n  However the input is a sequence "
                             f"({type(flat_sequence)}) of length {len(flat)}.\n  {flat}\nnest cannot guarantee that it is "
                             f"safe "
                             "to map one to the other.")
        return flat[0]
    wanted = len(flatten(structure, expand_composites))
    if wanted != len(flat):
        raise ValueError(f"Could not pack sequence. Structure had {wanted} atoms, but flat_sequence had {len(flat)} items.  "
                         f"Structure: {structure}, flat_sequence: {flat}.")
    return _pack(structure, iter(flat), expand_composites)


def _pack(structure, values, expand):
    if is_nested(structure):
        return _rebuild(structure, [_pack(child, values, expand) for child in _children(structure)])
    if expand and _is_composite(structure):
        return _of_parts(structure, [next(values) for _ in _parts(structure)])
    return next(values)


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False) -> None:
    if is_nested(nest1) != is_nested(nest2):
        raise ValueError("The two structures don't have the same nested structure.\n\n"
                         f"First structure: {nest1}\n\nSecond structure: {nest2}")
    if not is_nested(nest1):
        return
    if check_types and type(nest1) is not type(nest2) and not _same_kind(nest1, nest2):
        raise TypeError("The two structures don't have the same sequence type. First structure has type "
                        f"{type(nest1)}, while second structure has type {type(nest2)}.")
    if isinstance(nest1, collections.abc.Mapping) and set(nest1) != set(nest2):
        raise ValueError(f"The two dictionaries don't have the same set of keys. First structure has keys {list(nest1)}, "
                         f"while "
                         f"second structure has keys {list(nest2)}")
    one, two = _children(nest1), _children(nest2)
    if len(one) != len(two):
        raise ValueError("The two structures don't have the same number of elements. First structure: "
                         f"{nest1}. Second structure: {nest2}")
    for a, b in zip(one, two):
        assert_same_structure(a, b, check_types, expand_composites)


def _same_kind(a, b):
    if isinstance(a, collections.abc.Mapping) and isinstance(b, collections.abc.Mapping):
        return True
    return (isinstance(a, tuple) and isinstance(b, tuple) and hasattr(a, "_fields") and hasattr(b, "_fields")
            and type(a).__name__ == type(b).__name__ and a._fields == b._fields)


def map_structure(func: Any, *structure: Any, **kwargs: Any) -> Any:
    check_types = kwargs.pop("check_types", True)
    expand = kwargs.pop("expand_composites", False)
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types=check_types)
    flat = [flatten(s, expand) for s in structure]
    return pack_sequence_as(structure[0], [func(*xs) for xs in zip(*flat)], expand)


def flatten_up_to(shallow_tree, input_tree):
    if not is_nested(shallow_tree):
        return [input_tree]
    out = []
    for a, b in zip(_children(shallow_tree), _children(input_tree)):
        out.extend(flatten_up_to(a, b))
    return out


def map_structure_up_to(shallow_tree, func, *inputs):
    flat = [flatten_up_to(shallow_tree, i) for i in inputs]
    return pack_sequence_as(shallow_tree, [func(*xs) for xs in zip(*flat)])


def flatten_dict_items(dictionary):
    out = {}
    for key, value in dictionary.items():
        if is_nested(key):
            assert_same_structure(key, value, check_types=False)
            for k, v in zip(flatten(key), flatten_up_to(key, value)):
                if k in out:
                    raise ValueError(f"Could not flatten dictionary: key {k} is not unique.")
                out[k] = v
        else:
            out[key] = value
    return out
