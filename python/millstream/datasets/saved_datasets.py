# SPDX-License-Identifier: Apache-2.0
"""Datasets that are kept in files: snapshots, save() and load(), records; saved iterators."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.datasets import components, structure
from millstream.datasets.dataset_ops import Dataset, _inside, _Spec
from millstream.framework import dtypes, function, ops

if TYPE_CHECKING:
    from typing import Any, Optional

SHARD_HINT = -1


def _string(value):
    return lambda: _inside(value) if isinstance(value, ops.Tensor) else ops.convert_to_tensor(value, dtype=dtypes.string)


def _reader(spec, reader_func, name):
    """The function of a dataset of datasets that makes one dataset of them."""
    def wrapper(variant):
        shards = Dataset(components.NestedSpec(spec), lambda: variant)
        made = reader_func(shards)
        if not isinstance(made, Dataset):
            raise TypeError(f"`reader_func` must return a `Dataset` object. Got {type(made)}")
        return [made._make()]
    return function.build(wrapper, [dtypes.variant], [[]], name=name)


def _shard(dataset, shard_func, name):
    def wrapper(*element):
        shard = ops.convert_to_tensor(shard_func(*element))
        if not shard.dtype.is_integer or not shard.get_shape().is_compatible_with([]):
            raise TypeError(f"`shard_func` must return a scalar integer. Got {shard}")
        return gen_ops.cast(shard, DstT=dtypes.int64) if shard.dtype != dtypes.int64 else shard
    return dataset._build(wrapper, name)[0]


def _captured(built):
    built.add_to_graph()
    return [_inside(t) for t in built.captured]


def snapshot(dataset, path, compression="AUTO", reader_func=None, shard_func=None):
    """Does the work of Dataset.snapshot()."""
    shards = os.cpu_count() or 1
    source, numbered = dataset, shard_func is None
    if numbered:
        source = dataset.enumerate()
        shard_func = lambda number, *_: number % shards
    if reader_func is None:
        reader_func = lambda datasets: datasets.interleave(lambda x: x, cycle_length=shards, num_parallel_calls=-1)
    shard = _shard(source, shard_func, "snapshot_shard")
    reader = _reader(source._spec, reader_func, "snapshot_reader")
    out = Dataset(source._spec, None)

    def make():
        reader_args, shard_args = _captured(reader), _captured(shard)
        return gen_ops.snapshot_dataset_v2(source._make(), _string(path)(), reader_args, shard_args, compression=compression or "",
                                           reader_func=reader, shard_func=shard, **out._flat())
    out._make = make
    return out.map(lambda _, *element: element[0] if len(element) == 1 else element) if numbered else out


def experimental_snapshot(path: Any, compression: Optional[str] = "AUTO", reader_func: Any = None, shard_func: Any = None) -> Any:
    """The elements are written to files below `path` in the first pass, and read from there from then on."""
    return lambda dataset: snapshot(dataset, path, compression, reader_func, shard_func)


def save(dataset: Any, path: Any, compression: Optional[str] = None, shard_func: Any = None, checkpoint_args: Any = None) -> Any:
    """An operation that writes the elements of a dataset below `path`, for load()."""
    if checkpoint_args is not None:
        raise ValueError("`checkpoint_args` need eager execution")
    shard = _shard(dataset, shard_func or (lambda *_: ops.convert_to_tensor(0, dtype=dtypes.int64)), "save_shard")
    arguments = _captured(shard)
    return gen_ops.save_dataset(dataset._make(), _string(path)(), arguments, compression=compression or "", shard_func=shard,
                                use_shard_func=shard_func is not None)


def load(path: Any, element_spec: Any = None, compression: Optional[str] = None, reader_func: Any = None, wait: bool = False) -> Any:
    """The dataset that save() has written below `path`. `element_spec` says what its elements are."""
    if element_spec is None:
        raise ValueError("In graph mode the `element_spec` argument must be provided.")
    if wait:
        raise NotImplementedError("load(wait=True) reads what a data service still writes; there is none")
    spec = structure.map_structure(_of_public, element_spec)
    reader = _reader(spec, reader_func or (lambda datasets: datasets.flat_map(lambda x: x)), "load_reader")
    out = Dataset(spec, None)

    def make():
        arguments = _captured(reader)
        return gen_ops.load_dataset(_string(path)(), arguments, compression=compression or "", reader_func=reader, **out._flat())
    out._make = make
    return out


def _of_public(spec):
    sparse = type(spec).__name__ == "SparseTensorSpec"
    return _Spec(spec.dtype, spec.shape, sparse, None if sparse else ())


def from_list(elements: Any, name: Optional[str] = None) -> Any:
    """A dataset of the elements of a Python list, which may be nested structures of one kind."""
    if not isinstance(elements, list):
        raise ValueError("`elements` must be a list.")
    if not elements:
        raise ValueError("Empty `elements`.")
    datasets = [Dataset.from_tensors(e) for e in elements]
    first = datasets[0]
    if any(structure.flatten(other.output_types) != structure.flatten(first.output_types) for other in datasets):
        raise ValueError("All elements must have the same nested structure and types.")
    leaves = structure.flatten(first._spec)
    out = Dataset(first._spec, None)

    def make():
        rows = [[ops.convert_to_tensor(v, dtype=s.dtype) for v, s in zip(structure.flatten(e), leaves)] for e in elements]
        return gen_ops.list_dataset([t for row in rows for t in row], Tinput_types=[s.dtype for _ in rows for s in leaves],
                                    **out._flat())
    out._make = make
    return out


class TFRecordWriter:
    """Writes a dataset of strings to a TFRecord file."""

    def __init__(self, filename: Any, compression_type: Optional[str] = None) -> None:
        self._filename, self._compression_type = filename, compression_type

    def write(self, dataset: Any) -> Any:
        """The operation that does it."""
        if not isinstance(dataset, Dataset):
            raise TypeError(f"Invalid `dataset.` Expected a `tf.data.Dataset` object but got {type(dataset)}.")
        spec = dataset._spec
        if structure.is_nested(spec) or spec.dtype != dtypes.string or not spec.shape.is_compatible_with([]):
            raise TypeError("Invalid `dataset`. Expected elements that are scalar strings, but got "
                            f"{dataset.output_types} of shapes {dataset.output_shapes}.")
        return gen_ops.dataset_to_tf_record(dataset._make(), _string(self._filename)(), _string(self._compression_type or "")())


def make_saveable_from_iterator(iterator: Any, external_state_policy: Any = None) -> Any:
    """An object that a Saver keeps the position of an iterator with: tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, it)."""
    from millstream.training import saveable
    resource = iterator._iterator_resource
    policy = {None: 0, "warn": 0, "ignore": 1, "fail": 2}.get(external_state_policy, external_state_policy)
    state = gen_ops.serialize_iterator(resource, external_state_policy=int(getattr(policy, "value", policy)))

    class _Saveable(saveable.SaveableObject):
        def __init__(self):
            super().__init__(resource, [saveable.SaveSpec(state, "", resource.op.name + "-state")], resource.op.name)

        def restore(self, restored_tensors, restored_shapes):
            del restored_shapes
            with ops.colocate_with(resource.op):
                return gen_ops.deserialize_iterator(resource, restored_tensors[0])
    return _Saveable()
