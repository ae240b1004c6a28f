# SPDX-License-Identifier: Apache-2.0
"""tf.data.Dataset. A dataset is a recipe: its nodes are made where an iterator needs them."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.datasets import iterator_ops, structure
from millstream.datasets.components import NestedSpec, Spec as _Spec, carried, spec_of
from millstream.datasets.more_steps import MoreSteps
from millstream.framework import constant_op, dtypes, function, ops, sparse_tensor, tensor_shape, tensor_util
from millstream.ops.arguments import unsupported

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.datasets.iterator_ops import Iterator

AUTOTUNE = -1


def _inside(tensor):
    """A tensor for the graph of now: constants of another graph are copied into a function's body."""
    graph = ops.get_default_graph()
    if isinstance(tensor, ops.Tensor) and tensor.graph is not graph and graph.building_function and tensor.op.type == "Const":
        return constant_op.constant(tensor_util.constant_value(tensor), dtype=tensor.dtype)
    return ops.convert_to_tensor(tensor)


def _int64(value, default=None):
    if value is None:
        value = default
    if isinstance(value, ops.Tensor):
        value = _inside(value)
        return value if value.dtype == dtypes.int64 else gen_ops.cast(value, DstT=dtypes.int64)
    return ops.convert_to_tensor(int(value), dtype=dtypes.int64)


class Dataset(MoreSteps):
    """Elements are tensors, or tuples and dicts of them."""

    def __init__(self, spec: Any, make: Any) -> None:
        self._spec = spec    # a structure of _Spec
        self._make = make    # () -> the variant tensor, in the default graph

    # What elements are.

    @property
    def output_types(self) -> Any:
        return structure.map_structure(lambda s: s.dtype, self._spec)

    @property
    def output_shapes(self) -> Any:
        return structure.map_structure(lambda s: s.shape, self._spec)

    @property
    def output_classes(self) -> Any:
        return structure.map_structure(lambda s: s.kind, self._spec)

    def _flat(self):
        leaves = structure.flatten(self._spec)
        return dict(output_types=[s.flat_dtype for s in leaves], output_shapes=[s.flat_shape for s in leaves])

    def _as_variant_tensor(self):
        return self._make()

    def __repr__(self):
        return f"<{type(self).__name__} shapes: {self.output_shapes}, types: {self.output_types}>"

    __str__ = __repr__

    # Sources.

    @staticmethod
    def from_tensors(tensors: Any) -> Dataset:
        """A dataset with one element."""
        return _from_values(tensors, False)

    @staticmethod
    def from_tensor_slices(tensors: Any) -> Dataset:
        """A dataset of the slices along the first dimension."""
        if any(hasattr(leaf, "nested_row_splits") for leaf in structure.flatten(tensors)):
            from millstream.datasets import ragged_slices
            return ragged_slices.from_tensor_slices(tensors)
        return _from_values(tensors, True)

    @staticmethod
    def range(*args: Any) -> Dataset:
        """A dataset of numbers, with the arguments of Python's range."""
        start, stop, step = {1: lambda a: (0, a[0], 1), 2: lambda a: (a[0], a[1], 1), 3: lambda a: tuple(a)}[len(args)](args)
        spec = _Spec(dtypes.int64, [])
        return Dataset(spec, lambda: gen_ops.range_dataset(_int64(start), _int64(stop), _int64(step),
                                                           output_types=[dtypes.int64], output_shapes=[[]]))

    @staticmethod
    def zip(datasets: Any) -> Dataset:
        """A dataset of tuples of the elements of several datasets."""
        parts = structure.flatten(datasets)
        if not all(isinstance(d, Dataset) for d in parts):
            raise TypeError(f"The argument to `Dataset.zip()` must be a nested structure of datasets: {datasets}")
        spec = structure.pack_like(datasets, [d._spec for d in parts])
        out = Dataset(spec, None)
        out._make = lambda: gen_ops.zip_dataset([d._make() for d in parts], **out._flat())
        return out

    @staticmethod
    def from_generator(generator: Any, output_types: Any, output_shapes: Any = None, args: Any = None) -> Dataset:
        """A dataset of what the iterator that `generator` makes yields."""
        from millstream.datasets import generator as generator_lib
        return generator_lib.from_generator(generator, output_types, output_shapes, args)

    @staticmethod
    def list_files(file_pattern, shuffle=None, seed=None):
        """A dataset of the names of files that match a pattern."""
        pattern = file_pattern
        out = Dataset(_Spec(dtypes.string, []), lambda: gen_ops.tensor_slice_dataset(
            [gen_ops.matching_files(_inside(pattern))], Toutput_types=[dtypes.string], output_shapes=[[]]))
        return out if shuffle is False else out.shuffle(10000, seed=seed)

    # Steps.

    def _step(self, gen, *inputs, spec=None, **attrs):
        """A dataset of this one's variant, further inputs (functions that make tensors) and attributes."""
        out = Dataset(self._spec if spec is None else spec, None)

        def make():
            return gen(self._make(), *[i() for i in inputs], **attrs, **out._flat())
        out._make = make
        return out

    def _build(self, callable_, name):
        """The function of an element, and the structure of what it returns."""
        leaves = structure.flatten(self._spec)
        result = {}

        def wrapper(*flat):
            element = structure.pack_like(self._spec, [s.value(t) for s, t in zip(leaves, flat)])
            value = callable_(*element) if isinstance(element, tuple) else callable_(element)
            if isinstance(value, Dataset):
                result["dataset"] = value
                return [value._make()]
            if isinstance(value, list):
                value = tuple(value)
            result["structure"] = value
            result["specs"] = [spec_of(v) for v in structure.flatten(value)]
            return [carried(v) for v in structure.flatten(value)]
        built = function.build(wrapper, [s.flat_dtype for s in leaves], [s.flat_shape for s in leaves], name=name)
        return built, result

    def map(self, map_func: Any, num_parallel_calls: Any = None, deterministic: Any = None) -> Dataset:
        """Applies a function to each element, several at a time with `num_parallel_calls`."""
        built, result = self._build(map_func, "Dataset_map")
        if "dataset" in result:
            raise TypeError("map() with a function that returns a dataset; use flat_map() or interleave()")
        spec = structure.pack_like(result["structure"], [
            spec or _Spec(t, s) for spec, t, s in zip(result["specs"], built.output_types, built.output_shapes)])
        out = Dataset(spec, None)

        def make():
            built.add_to_graph()
            captured = [_inside(t) for t in built.captured]
            if num_parallel_calls is None:
                return gen_ops.map_dataset(self._make(), captured, f=built, **out._flat())
            return gen_ops.parallel_map_dataset_v2(self._make(), captured, _int64(num_parallel_calls), f=built, **out._flat())
        out._make = make
        return out

    def _of_datasets(self, map_func, name):
        built, result = self._build(map_func, name)
        if "dataset" not in result:
            raise TypeError("`map_func` must return a `Dataset` object.")
        return built, result["dataset"]._spec

    def flat_map(self, map_func: Any) -> Dataset:
        """Joins the datasets that a function makes of the elements."""
        built, spec = self._of_datasets(map_func, "Dataset_flat_map")
        out = Dataset(spec, None)

        def make():
            built.add_to_graph()
            return gen_ops.flat_map_dataset(self._make(), [_inside(t) for t in built.captured], f=built, **out._flat())
        out._make = make
        return out

    def interleave(self, map_func: Any, cycle_length: Any = AUTOTUNE, block_length: Any = 1, num_parallel_calls: Any = None,
                   deterministic: Any = None) -> Dataset:
        """As flat_map, but takes `block_length` elements from each of `cycle_length` datasets in turn."""
        built, spec = self._of_datasets(map_func, "Dataset_interleave")
        length = 4 if cycle_length is None or cycle_length == AUTOTUNE else cycle_length
        out = Dataset(spec, None)

        def make():
            built.add_to_graph()
            captured = [_inside(t) for t in built.captured]
            if num_parallel_calls is not None:
                return gen_ops.parallel_interleave_dataset_v2(self._make(), captured, _int64(length), _int64(block_length),
                                                              _int64(num_parallel_calls), f=built, **out._flat())
            if length == 1:
                return gen_ops.flat_map_dataset(self._make(), captured, f=built, **out._flat())
            return gen_ops.interleave_dataset(self._make(), captured, _int64(length), _int64(block_length), f=built,
                                              **out._flat())
        out._make = make
        return out

    def filter(self, predicate: Any) -> Dataset:
        """Keeps the elements for which the function is true."""
        return self._with_predicate(gen_ops.filter_dataset, predicate, "Dataset_filter")

    def batch(self, batch_size: Any, drop_remainder: bool = False) -> Any:
        """Stacks consecutive elements; the last batch may be smaller unless `drop_remainder`."""
        size = batch_size if drop_remainder and not isinstance(batch_size, ops.Tensor) else None
        spec = structure.map_structure(lambda s: s.batched(size), self._spec)
        return self._step(gen_ops.batch_dataset_v2, lambda: _int64(batch_size), lambda: ops.convert_to_tensor(drop_remainder),
                          spec=spec)

    def padded_batch(self, batch_size: Any, padded_shapes: Any = None, padding_values: Any = None,
                     drop_remainder: bool = False) -> Dataset:
        """As batch, for elements of unequal shapes, which are padded."""
        leaves = structure.flatten(self._spec)
        if any(s.sparse for s in leaves):
            raise TypeError("Batching of padded sparse tensors is not currently supported")
        if padded_shapes is None:
            given = [s.shape for s in leaves]
        else:
            given = _flatten_shapes(self._spec, padded_shapes)
        shapes = [_static(g) for g in given]
        if padding_values is None:
            pads = [b"" if s.dtype == dtypes.string else 0 for s in leaves]
        else:
            pads = structure.flatten(padding_values) if structure.is_nested(padding_values) else [padding_values] * len(leaves)
        size = batch_size if drop_remainder and not isinstance(batch_size, ops.Tensor) else None
        spec = structure.pack_like(self._spec, [_Spec(s.dtype, tensor_shape.TensorShape([size]).concatenate(p))
                                                for s, p in zip(leaves, shapes)])
        out = Dataset(spec, None)

        def make():
            sizes = [_int64(g) if isinstance(g, ops.Tensor) else ops.convert_to_tensor(
                [-1 if d is None else d for d in p.as_list()], dtype=dtypes.int64) for g, p in zip(given, shapes)]
            values = [ops.convert_to_tensor(v, dtype=s.dtype) for v, s in zip(pads, leaves)]
            return gen_ops.padded_batch_dataset_v2(self._make(), _int64(batch_size), sizes, values,
                                                   ops.convert_to_tensor(drop_remainder),
                                                   Toutput_types=[s.dtype for s in leaves],
                                                   output_shapes=[s.shape for s in structure.flatten(spec)])
        out._make = make
        return out

    def window(self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: bool = False) -> Dataset:
        """Each element is a dataset of `size` elements, `stride` apart; windows begin `shift` apart (default: size).
        Of a dataset of tuples or dicts, a tuple or dict of datasets."""
        return self._step(gen_ops.window_dataset, lambda: _int64(size), lambda: _int64(shift, size), lambda: _int64(stride),
                          lambda: ops.convert_to_tensor(drop_remainder), spec=structure.map_structure(NestedSpec, self._spec))

    def reduce(self, initial_state: Any, reduce_func: Any) -> Any:
        """What reduce_func(state, element), called with all elements in turn, makes of the state."""
        from millstream.ops import nest
        states = [ops.convert_to_tensor(s) for s in nest.flatten(initial_state)]
        leaves = structure.flatten(self._spec)

        def wrapper(*flat):
            state = nest.pack_sequence_as(initial_state, list(flat[:len(states)]))
            element = structure.pack_like(self._spec, [s.value(t) for s, t in zip(leaves, flat[len(states):])])
            return [ops.convert_to_tensor(t, dtype=s.dtype) for t, s in zip(nest.flatten(reduce_func(state, element)), states)]

        def build(shapes):
            return function.build(wrapper, [s.dtype for s in states] + [s.flat_dtype for s in leaves],
                                  shapes + [s.flat_shape for s in leaves], name="Dataset_reduce")
        shapes = [s.get_shape() for s in states]
        built = build(shapes)
        grown = [_common(a, tensor_shape.TensorShape(b)) for a, b in zip(shapes, built.output_shapes)]
        if [str(s) for s in grown] != [str(s) for s in shapes]:  # states change their shape on the way
            built = build(grown)
        built.add_to_graph()
        out = gen_ops.reduce_dataset(self._make(), states, [_inside(t) for t in built.captured], f=built,
                                     output_types=[s.dtype for s in states], output_shapes=grown)
        return nest.pack_sequence_as(initial_state, list(out) if isinstance(out, (list, tuple)) else [out])

    def shuffle(self, buffer_size: Any, seed: Optional[int] = None, reshuffle_each_iteration: Any = None) -> Dataset:
        """Draws elements at random from a buffer of `buffer_size`."""
        from millstream.framework import random_seed
        seed1, seed2 = random_seed.get_seed(seed)
        return self._step(gen_ops.shuffle_dataset, lambda: _int64(buffer_size), lambda: _int64(seed1, 0),
                          lambda: _int64(seed2, 0), reshuffle_each_iteration=reshuffle_each_iteration is not False)

    def repeat(self, count: Any = None) -> Dataset:
        """Repeats the dataset `count` times, without end if it is None or -1."""
        return self._step(gen_ops.repeat_dataset, lambda: _int64(count, -1))

    def prefetch(self, buffer_size: Any) -> Dataset:
        """Prepares up to `buffer_size` elements ahead of time."""
        return self._step(gen_ops.prefetch_dataset, lambda: _int64(buffer_size, AUTOTUNE))

    def take(self, count: Any) -> Dataset:
        """The first `count` elements."""
        return self._step(gen_ops.take_dataset, lambda: _int64(count))

    def skip(self, count: Any) -> Dataset:
        """All elements but the first `count`."""
        return self._step(gen_ops.skip_dataset, lambda: _int64(count))

    def concatenate(self, dataset: Any) -> Dataset:
        """The elements of this dataset, then those of another."""
        spec = _joined_spec(self._spec, dataset._spec)
        return self._step(gen_ops.concatenate_dataset, dataset._make, spec=spec)

    def shard(self, num_shards: Any, index: Any) -> Dataset:
        """Every num_shards-th element, from `index` on: for one of several workers."""
        if not isinstance(num_shards, ops.Tensor) and num_shards < 1:
            raise ValueError(f"num_shards must be >= 1; got {num_shards}")
        if not isinstance(index, ops.Tensor) and not isinstance(num_shards, ops.Tensor) and not 0 <= index < num_shards:
            raise ValueError(f"index must be >= 0 and < num_shards; got {index}")
        if not isinstance(index, ops.Tensor) and not isinstance(num_shards, ops.Tensor) and num_shards == 1:
            return self
        return self._step(gen_ops.shard_dataset, lambda: _int64(num_shards), lambda: _int64(index))

    def cache(self, filename: str = "") -> Any:
        """Elements are kept after the first pass: in memory, or in files if `filename` is given."""
        return self._step(gen_ops.cache_dataset, lambda: ops.convert_to_tensor(filename, dtype=dtypes.string))

    def _with_predicate(self, gen, predicate, name):
        built, _ = self._build(predicate, name)
        if built.output_types != [dtypes.bool]:
            raise ValueError("`predicate` must return a scalar boolean tensor.")
        out = Dataset(self._spec, None)

        def make():
            built.add_to_graph()
            return gen(self._make(), [_inside(t) for t in built.captured], predicate=built, **out._flat())
        out._make = make
        return out

    def take_while(self, predicate: Any) -> Any:
        return self._with_predicate(gen_ops.take_while_dataset, predicate, "Dataset_take_while")

    def apply(self, transformation_func: Any) -> Any:
        """Applies a function from dataset to dataset."""
        result = transformation_func(self)
        if not isinstance(result, Dataset):
            raise TypeError("`transformation_func` must return a Dataset.")
        return result

    def with_options(self, options):
        unsupported("Options", experimental_stats=options.experimental_stats)
        out = Dataset(self._spec, self._make)
        out._options = self.options().merge(options)
        return out

    # Iterators.

    def make_one_shot_iterator(self) -> Iterator:
        """An iterator that needs no initialization and runs through the dataset once."""
        return iterator_ops.make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name: Any = None) -> Iterator:
        """An iterator whose `initializer` must run before it, and may run again."""
        return iterator_ops.make_initializable_iterator(self, shared_name)


def _static(shape):
    """What is known of a shape that a program gives, which may be a tensor of sizes."""
    return tensor_util.constant_value_as_shape(shape) if isinstance(shape, ops.Tensor) else tensor_shape.TensorShape(shape)


def _common(a, b):
    if a.rank is None or a.rank != b.rank:
        return tensor_shape.TensorShape(None)
    return tensor_shape.TensorShape([x if x == y else None for x, y in zip(a.as_list(), b.as_list())])


def _joined_spec(one, other):
    """What is known of elements that may come from either dataset."""
    return structure.pack_like(one, [a if a.sparse else _Spec(a.dtype, _common(a.shape, b.shape))
                                     for a, b in zip(structure.flatten(one), structure.flatten(other))])


def _flatten_shapes(spec, shapes):
    """Shapes as users write them: lists of sizes at the leaves."""
    if isinstance(spec, dict):
        return [leaf for key in sorted(spec) for leaf in _flatten_shapes(spec[key], shapes[key])]
    if isinstance(spec, tuple):
        return [leaf for s, part in zip(spec, shapes) for leaf in _flatten_shapes(s, part)]
    return [shapes]


def _from_values(values, slices):
    if isinstance(values, list) and values and any(isinstance(v, (ops.Tensor, np.ndarray)) for v in values) and \
            not slices:
        values = tuple(values)
    leaves = structure.flatten(values)
    kept, specs = [], []
    for leaf in leaves:
        value = leaf if isinstance(leaf, (ops.Tensor, sparse_tensor.SparseTensor)) or hasattr(leaf, "_as_graph_element") \
            else _array(leaf)
        kept.append(value)
        shape = tensor_shape.TensorShape(value.shape if isinstance(value, np.ndarray) else value.get_shape())
        if slices and shape.rank == 0:
            raise ValueError(f"Unbatching a tensor is only supported for rank >= 1: {leaf}")
        dtype = dtypes.as_dtype(value.dtype) if not isinstance(value, np.ndarray) else _dtype_of(value)
        specs.append(_Spec(dtype, shape[1:] if slices else shape, isinstance(value, sparse_tensor.SparseTensor)))
    if slices:
        first = {s.shape[0] if isinstance(s, np.ndarray) else None for s in kept} - {None}
        if len(first) > 1:
            raise ValueError(f"Dimensions {sorted(first)} are not compatible")
    out = Dataset(structure.pack_like(values, specs), None)

    def make():
        tensors = [_tensor_of(v, s, slices) for v, s in zip(kept, specs)]
        gen = gen_ops.tensor_slice_dataset if slices else gen_ops.tensor_dataset
        return gen(tensors, Toutput_types=[s.flat_dtype for s in specs], output_shapes=[s.flat_shape for s in specs])
    out._make = make
    return out


def _tensor_of(value, spec, slices):
    if isinstance(value, np.ndarray):
        return constant_op.constant(value, dtype=spec.dtype)
    if spec.sparse:
        return carried(sparse_tensor.SparseTensor(*map(_inside, (value.indices, value.values, value.dense_shape))), slices)
    return _inside(value)


def _array(value):
    array = np.asarray(value)
    if array.dtype.kind in "SU" and not isinstance(value, np.ndarray):
        return np.array(value, dtype=object)  # NumPy's own strings lose zeros at their end
    if array.dtype == np.float64 and not isinstance(value, (np.ndarray, np.generic)):
        return array.astype(np.float32)
    if array.dtype == np.int64 and not isinstance(value, (np.ndarray, np.generic)):
        return array.astype(np.int32) if array.size == 0 or np.abs(array).max() < 2**31 else array
    return array


def _dtype_of(array):
    return dtypes.string if array.dtype.kind in "SUO" else dtypes.as_dtype(array.dtype)
