# SPDX-License-Identifier: Apache-2.0
"""tf.data.experimental: functions for Dataset.apply()."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.datasets import structure
from millstream.datasets.dataset_ops import Dataset, _inside, _Spec
from millstream.framework import device as device_lib, dtypes, function, ops
from millstream.framework.tensor_shape import TensorShape

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Optional[int] = None) -> Any:
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(map_func: Any, batch_size: Any, num_parallel_batches: Any = None, drop_remainder: bool = False,
                  num_parallel_calls: Any = None) -> Any:
    return lambda dataset: dataset.map(map_func, num_parallel_calls).batch(batch_size, drop_remainder)


def parallel_interleave(map_func: Any, cycle_length: Any, block_length: Any = 1, sloppy: bool = False,
                        buffer_output_elements: Any = None, prefetch_input_elements: Any = None) -> Any:
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def unbatch() -> Any:
    return lambda dataset: dataset.unbatch()


def unique() -> Any:
    return lambda dataset: dataset.unique()


def take_while(predicate: Any) -> Any:
    return lambda dataset: dataset.take_while(predicate)


def enumerate_dataset(start: Any = 0) -> Any:
    return lambda dataset: dataset.enumerate(start)


def batch_and_drop_remainder(batch_size: Any) -> Any:
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(batch_size: Any, padded_shapes: Any, padding_values: Any = None) -> Any:
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


def prefetch_to_device(device: Any, buffer_size: Any = None) -> Any:
    _check_device("prefetch_to_device", device)
    return lambda dataset: dataset.prefetch(buffer_size or 1)


def copy_to_device(target_device: Any, source_device: str = "/cpu:0") -> Any:
    _check_device("copy_to_device", target_device)
    _check_device("copy_to_device", source_device)
    return lambda dataset: dataset.prefetch(1)


def _check_device(function, device):
    """Elements are in the memory of the process that reads them."""
    kind = device_lib.DeviceSpec.from_string(device).device_type if device else None
    if kind not in (None, "CPU"):
        raise NotImplementedError(f"{function}({device!r}): datasets give their elements on CPUs only")


def ignore_errors(log_warning: bool = False) -> Any:
    """Leaves out the elements whose computation fails."""
    return lambda dataset: dataset._step(gen_ops.ignore_errors_dataset)


def Counter(start: Any = 0, step: Any = 1, dtype: DTypeLike = dtypes.int64) -> Any:
    """start, start + step, ...: without end."""
    numbers = Dataset.range(2**62).map(lambda i: start + i * step)
    return numbers if dtypes.as_dtype(dtype) == dtypes.int64 else numbers.map(lambda i: gen_ops.cast(i, DstT=dtype))


def scan(initial_state: Any, scan_func: Any) -> Any:
    """(state, element) -> (state, output) over a dataset."""

    def apply(dataset):
        from millstream.ops import nest
        states = [ops.convert_to_tensor(s) for s in nest.flatten(initial_state)]
        leaves = structure.flatten(dataset._spec)
        result = {}

        def wrapper(*flat):
            state = nest.pack_sequence_as(initial_state, list(flat[:len(states)]))
            new, output = scan_func(state, structure.pack_like(dataset._spec, flat[len(states):]))
            result["structure"] = tuple(output) if isinstance(output, list) else output
            return [ops.convert_to_tensor(t, dtype=s.dtype) for t, s in zip(nest.flatten(new), states)] + [
                ops.convert_to_tensor(t) for t in structure.flatten(result["structure"])]
        built = function.build(wrapper, [s.dtype for s in states] + [s.dtype for s in leaves],
                               [s.shape for s in states] + [s.shape for s in leaves], name="Dataset_scan")
        specs = [_Spec(t, s) for t, s in zip(built.output_types, built.output_shapes)][len(states):]
        out = Dataset(structure.pack_like(result["structure"], specs), None)

        def make():
            built.add_to_graph()
            return gen_ops.scan_dataset(dataset._make(), [_inside(s) for s in states], [_inside(t) for t in built.captured],
                                        f=built, **out._flat())
        out._make = make
        return out
    return apply


def group_by_window(key_func: Any, reduce_func: Any, window_size: Any = None, window_size_func: Any = None) -> Any:
    """Consecutive elements with the same key, `window_size` of them at a time, reduced to a dataset."""
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Must pass either window_size or window_size_func.")
    size_func = window_size_func or (lambda key: ops.convert_to_tensor(window_size, dtype=dtypes.int64))

    def apply(dataset):
        keys, _ = dataset._build(lambda *e: gen_ops.cast(ops.convert_to_tensor(key_func(*e)), DstT=dtypes.int64), "key")
        sizes = function.build(lambda key: [gen_ops.cast(ops.convert_to_tensor(size_func(key)), DstT=dtypes.int64)],
                               [dtypes.int64], [[]], name="Dataset_window_size")
        result = {}

        def reduce(key, window):
            result["dataset"] = reduce_func(key, Dataset(dataset._spec, lambda: window))
            return [result["dataset"]._make()]
        reduced = function.build(reduce, [dtypes.int64, dtypes.variant], [[], []], name="Dataset_reduce_window")
        out = Dataset(result["dataset"]._spec, None)

        def make():
            for built in (keys, reduced, sizes):
                built.add_to_graph()
            captured = [[_inside(t) for t in built.captured] for built in (keys, reduced, sizes)]
            return gen_ops.group_by_window_dataset(dataset._make(), *captured, key_func=keys, reduce_func=reduced,
                                                   window_size_func=sizes, **out._flat())
        out._make = make
        return out
    return apply


def _filled(spec, shapes, size):
    """Shapes with `size` in place of what is not known: tensors, in the structure of `spec`."""
    from millstream.datasets.dataset_ops import _flatten_shapes
    from millstream.ops.array import array_ops
    leaves = []
    for shape in _flatten_shapes(spec, shapes):
        dims = TensorShape(shape).as_list()
        leaves.append(array_ops.stack([size if d is None else np.int64(d) for d in dims]) if None in dims else TensorShape(shape))
    return structure.pack_like(spec, leaves)


def bucket_by_sequence_length(element_length_func: Any, bucket_boundaries: Any, bucket_batch_sizes: Any,
                              padded_shapes: Any = None, padding_values: Any = None, pad_to_bucket_boundary: bool = False,
                              no_padding: bool = False, drop_remainder: bool = False) -> Any:
    """Batches of elements of similar length: those of a batch lie between the same boundaries."""
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError("`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but `len(bucket_batch_sizes)"
                         f"={len(bucket_batch_sizes)}` and `len(bucket_boundaries)={len(bucket_boundaries)}`.")
    sizes = np.array(bucket_batch_sizes, np.int64)

    def apply(dataset):
        from millstream.ops.array import index_ops
        from millstream.ops.math import math_ops, reduce_ops

        def key(*element):
            length = gen_ops.cast(ops.convert_to_tensor(element_length_func(*element)), DstT=dtypes.int64)
            boundaries = ops.convert_to_tensor(np.array(bucket_boundaries, np.int64))
            return reduce_ops.reduce_sum(math_ops.cast(gen_ops.less_equal(boundaries, length), dtypes.int64))

        def batch(bucket, window):
            size = index_ops.gather(ops.convert_to_tensor(sizes), bucket)
            if no_padding:
                return window.batch(size, drop_remainder)
            shapes = padded_shapes if padded_shapes is not None else dataset.output_shapes
            if pad_to_bucket_boundary:
                from millstream.ops.debugging import check_ops
                check = check_ops.assert_less(bucket, np.int64(len(sizes) - 1), message="When pad_to_bucket_boundary=True, elements must "
                                              "have length < max(bucket_boundaries).")
                with ops.control_dependencies([check]):
                    longest = index_ops.gather(ops.convert_to_tensor(np.array(bucket_boundaries, np.int64)), bucket) - 1
                shapes = _filled(dataset._spec, shapes, longest)
            return window.padded_batch(size, shapes, padding_values, drop_remainder)

        return dataset.apply(group_by_window(key, batch, window_size_func=lambda b: index_ops.gather(
            ops.convert_to_tensor(sizes), b)))
    return apply
