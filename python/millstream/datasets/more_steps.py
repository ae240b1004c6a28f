# SPDX-License-Identifier: Apache-2.0
"""Methods of tf.data.Dataset that other modules do the work of."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.datasets import components, structure
from millstream.framework import dtypes, ops, sparse_tensor, tensor_shape

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike

_INT64_MAX = 2**63 - 1


class MoreSteps:
    """A base of Dataset."""

    @property
    def element_spec(self):
        return structure.map_structure(lambda s: s.public(), self._spec)

    @staticmethod
    def random(seed: Optional[int] = None) -> Any:
        from millstream.datasets import selection
        return selection.random(seed)

    @staticmethod
    def counter(start: Any = 0, step: Any = 1, dtype: DTypeLike = dtypes.int64) -> Any:
        from millstream.datasets import transformations
        return transformations.Counter(start, step, dtype)

    @staticmethod
    def choose_from_datasets(datasets: Any, choice_dataset: Any, stop_on_empty_dataset: bool = True) -> Any:
        from millstream.datasets import selection
        return selection.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)

    @staticmethod
    def sample_from_datasets(datasets: Any, weights: Any = None, seed: Optional[int] = None,
                             stop_on_empty_dataset: bool = False) -> Any:
        from millstream.datasets import selection
        return selection.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: Any) -> Any:  # pylint: disable=redefined-outer-name
        """(indices, values, shape) of each row of a sparse tensor."""
        return from_sparse_tensor_slices(sparse_tensor)

    def rejection_resample(self, class_func: Any, target_dist: Any, initial_dist: Any = None,
                           seed: Optional[int] = None) -> Any:
        from millstream.datasets import selection
        return selection.rejection_resample(class_func, target_dist, initial_dist, seed)(self)

    def scan(self, initial_state: Any, scan_func: Any) -> Any:
        from millstream.datasets import transformations
        return transformations.scan(initial_state, scan_func)(self)

    def group_by_window(self, key_func: Any, reduce_func: Any, window_size: Any = None, window_size_func: Any = None) -> Any:
        from millstream.datasets import transformations
        return transformations.group_by_window(key_func, reduce_func, window_size, window_size_func)(self)

    def bucket_by_sequence_length(self, element_length_func: Any, bucket_boundaries: Any, bucket_batch_sizes: Any,
                                  padded_shapes: Any = None, padding_values: Any = None, pad_to_bucket_boundary: bool = False,
                                  no_padding: bool = False, drop_remainder: bool = False) -> Any:
        from millstream.datasets import transformations
        return transformations.bucket_by_sequence_length(
            element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes, padding_values, pad_to_bucket_boundary,
            no_padding, drop_remainder)(self)

    def map_with_legacy_function(self, map_func, num_parallel_calls=None, deterministic=None):
        return self.map(map_func, num_parallel_calls, deterministic)

    def filter_with_legacy_function(self, predicate):
        return self.filter(predicate)

    def ignore_errors(self, log_warning=False):
        """Leaves out the elements whose computation fails."""
        return self._step(gen_ops.ignore_errors_dataset)

    def enumerate(self, start=0):
        return type(self).zip((type(self).range(start, _INT64_MAX), self))

    def unbatch(self):
        """The rows of each element, one after another."""
        return self._step(gen_ops.unbatch_dataset, spec=structure.map_structure(lambda s: s.unbatched(), self._spec))

    def unique(self):
        return self._step(gen_ops.unique_dataset)

    def rebatch(self, batch_size, drop_remainder=False):
        """Batches of batches, cut anew: of `batch_size` rows, or of the sizes in a list in turn."""
        one = not isinstance(batch_size, (list, tuple, ops.Tensor)) and drop_remainder
        spec = structure.map_structure(lambda s: s.unbatched().batched(batch_size if one else None), self._spec)
        sizes = batch_size if isinstance(batch_size, (list, tuple)) else [batch_size]
        return self._step(gen_ops.rebatch_dataset_v2, lambda: ops.convert_to_tensor(sizes, dtype=dtypes.int64),
                          lambda: ops.convert_to_tensor(drop_remainder), spec=spec)

    def sparse_batch(self, batch_size, row_shape):
        """Sparse tensors of elements of different lengths."""
        row = tensor_shape.TensorShape(row_shape)
        spec = components.Spec(self._spec.dtype, tensor_shape.TensorShape([None]).concatenate(row), True, ())
        sizes = [-1 if d is None else d for d in row.as_list()]
        return self._step(gen_ops.dense_to_sparse_batch_dataset, lambda: ops.convert_to_tensor(batch_size, dtype=dtypes.int64),
                          lambda: ops.convert_to_tensor(sizes, dtype=dtypes.int64), spec=spec)

    def cardinality(self):
        """How many elements there are: a tensor; -1 infinitely many, -2 unknown."""
        return gen_ops.dataset_cardinality(self._make())

    def get_single_element(self):
        """The one element of a dataset, as tensors."""
        leaves = structure.flatten(self._spec)
        tensors = gen_ops.dataset_to_single_element(self._make(), **self._flat())
        tensors = tensors if isinstance(tensors, (list, tuple)) else [tensors]
        return structure.pack_like(self._spec, [s.value(t) for s, t in zip(leaves, tensors)])

    def snapshot(self, path: Any, compression: Any = "AUTO", reader_func: Any = None, shard_func: Any = None) -> Any:
        """The elements are written to files below `path` in the first pass, and read from there from then on."""
        from millstream.datasets import saved_datasets
        return saved_datasets.snapshot(self, path, compression, reader_func, shard_func)

    def save(self, path: Any, compression: Any = None, shard_func: Any = None, checkpoint_args: Any = None) -> Any:
        """An operation that writes the elements to files below `path`, for load()."""
        from millstream.datasets import saved_datasets
        return saved_datasets.save(self, path, compression, shard_func, checkpoint_args)

    @staticmethod
    def load(path: Any, element_spec: Any = None, compression: Any = None, reader_func: Any = None, wait: bool = False) -> Any:
        """The dataset that save() has written below `path`."""
        from millstream.datasets import saved_datasets
        return saved_datasets.load(path, element_spec, compression, reader_func, wait)

    def fingerprint(self):
        """A number that datasets share which are made in the same way."""
        return gen_ops.dataset_fingerprint(self._make())

    def as_numpy_iterator(self) -> Any:
        raise RuntimeError("as_numpy_iterator() is not supported while tracing functions or in graphs: use an iterator.")

    def __iter__(self):
        raise RuntimeError("`tf.data.Dataset` only supports Python-style iteration in eager mode or within tf.function: use "
                           "make_one_shot_iterator().")

    def options(self) -> Any:
        from millstream.datasets import options
        return self.__dict__.get("_options") or options.Options()


def from_sparse_tensor_slices(value):
    from millstream.datasets.dataset_ops import Dataset, _inside
    if isinstance(value, sparse_tensor.SparseTensorValue):
        value = sparse_tensor.SparseTensor.from_value(value)
    if not isinstance(value, sparse_tensor.SparseTensor):
        raise TypeError(f"Invalid `sparse_tensor`. `sparse_tensor` must be a `tf.sparse.SparseTensor`. Got {type(value)}.")
    rank = value.get_shape().rank
    rest = None if rank is None else rank - 1
    spec = (components.Spec(dtypes.int64, [None, rest]), components.Spec(value.dtype, [None]), components.Spec(dtypes.int64, [rest]))
    return Dataset(spec, lambda: gen_ops.sparse_tensor_slice_dataset(*map(_inside, (value.indices, value.values, value.dense_shape))))


def group_by_reducer(key_func: Any, reducer: Any) -> Any:
    """One element for each key: what the reducer makes of all elements with that key. For Dataset.apply()."""
    def apply(dataset):
        from millstream.datasets.dataset_ops import Dataset, _inside
        from millstream.framework import function
        from millstream.ops import nest
        keys, _ = dataset._build(lambda *e: gen_ops.cast(ops.convert_to_tensor(key_func(*e)), DstT=dtypes.int64), "key")
        states, final, leaves = {}, {}, structure.flatten(dataset._spec)

        def tensors(value, into):
            into["value"] = value
            return [ops.convert_to_tensor(v) for v in nest.flatten(value)]

        def reduce(*flat):
            state = nest.pack_sequence_as(states["value"], list(flat[:number]))
            element = structure.pack_like(dataset._spec, [s.value(t) for s, t in zip(leaves, flat[number:])])
            element = element if isinstance(element, tuple) else (element,)
            return [ops.convert_to_tensor(v) for v in nest.flatten(reducer.reduce_func(state, *element))]
        first = function.build(lambda key: tensors(reducer.init_func(key), states), [dtypes.int64], [[]], name="reducer_init")
        number = len(first.output_types)
        step = function.build(reduce, first.output_types + [s.flat_dtype for s in leaves],
                              first.output_shapes + [s.flat_shape for s in leaves], name="reducer_reduce")
        last = function.build(lambda *flat: tensors(reducer.finalize_func(*(
            [nest.pack_sequence_as(states["value"], list(flat))] if number == 1 or not isinstance(states["value"], tuple) else flat)), final),
            first.output_types, step.output_shapes, name="reducer_finalize")
        specs = [components.Spec(t, s) for t, s in zip(last.output_types, last.output_shapes)]
        out = Dataset(structure.pack_like(final["value"], specs), None)

        def make():
            functions = (keys, first, step, last)
            for built in functions:
                built.add_to_graph()
            return gen_ops.group_by_reducer_dataset(
                dataset._make(), *[[_inside(t) for t in f.captured] for f in functions], key_func=keys, init_func=first,
                reduce_func=step, finalize_func=last, **out._flat())
        out._make = make
        return out
    return apply


class Reducer:
    """init_func(key), reduce_func(state, element) and finalize_func(state) of group_by_reducer()."""

    def __init__(self, init_func: Any, reduce_func: Any, finalize_func: Any) -> None:
        self.init_func, self.reduce_func, self.finalize_func = init_func, reduce_func, finalize_func


def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Any:
    return lambda dataset: dataset.sparse_batch(batch_size, row_shape)


def cardinality(dataset: Any) -> Any:
    return dataset.cardinality()


def assert_cardinality(expected_cardinality: Any) -> Any:
    """Fails at the end of a pass if there were fewer or more elements."""
    return lambda dataset: dataset._step(gen_ops.assert_cardinality_dataset,
                                         lambda: ops.convert_to_tensor(expected_cardinality, dtype=dtypes.int64))


def get_single_element(dataset: Any) -> Any:
    return dataset.get_single_element()


def RandomDataset(seed: Optional[int] = None) -> Any:  # pylint: disable=invalid-name
    return MoreSteps.random(seed)


INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2
