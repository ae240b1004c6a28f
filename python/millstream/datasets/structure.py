# SPDX-License-Identifier: Apache-2.0
"""Elements of datasets: tensors in tuples and dicts. Lists are values (they become tensors)."""


def is_nested(value):
    return isinstance(value, (tuple, dict))


def flatten(value):
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in flatten(value[key])]
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in flatten(item)]
    return [value]


def pack_like(structure, leaves):
    """`leaves` in the shape of `structure`."""
    iterator = iter(leaves)

    def pack(at):
        if isinstance(at, dict):
            packed = {key: pack(at[key]) for key in sorted(at)}
            return type(at)((key, packed[key]) for key in at) if type(at) is not dict else {key: packed[key] for key in at}
        if isinstance(at, tuple):
            items = [pack(item) for item in at]
            return type(at)(*items) if hasattr(at, "_fields") else tuple(items)
        return next(iterator)
    return pack(structure)


def map_structure(function, value):
    return pack_like(value, [function(leaf) for leaf in flatten(value)])
