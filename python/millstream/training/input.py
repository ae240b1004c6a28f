# SPDX-License-Identifier: Apache-2.0
"""Input through queues: producers of names and slices, and batches."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import constant_op, dtypes, ops, sparse_tensor, tensor_shape
from millstream.ops.array import array_ops
from millstream.ops.math import math_ops
from millstream.ops.queues import data_flow_ops
from millstream.ops.sparse import sparse_ops
from millstream.ops.variables import variables
from millstream.training import queue_runner_impl

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import TensorLike


def limit_epochs(tensor: Any, num_epochs: Any = None, name: Optional[str] = None) -> Tensor:
    """The tensor, so many times; then OutOfRange."""
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError("num_epochs must be > 0 not %d." % num_epochs)
    with ops.name_scope(name, "limit_epochs", [tensor]) as name:
        epochs = variables.Variable(constant_op.constant(0, dtypes.int64), name="epochs", trainable=False,
                                    collections=[ops.GraphKeys.LOCAL_VARIABLES])
        counter = epochs.count_up_to(num_epochs)
        with ops.control_dependencies([counter]):
            return gen_ops.identity(tensor, name=name)


def _fraction_summary(queue, capacity, name=None):
    from millstream.events import summary_ops
    full = gen_ops.cast(queue.size(), DstT=dtypes.float32) * (1. / capacity)
    summary_ops.scalar(name or f"fraction_of_{capacity}_full", full)


def input_producer(input_tensor: TensorLike, element_shape: Any = None, num_epochs: Any = None, shuffle: bool = True,
                   seed: Optional[int] = None, capacity: Any = 32, shared_name: Any = None, summary_name: Any = None,
                   name: Optional[str] = None, cancel_op: Any = None) -> Any:
    """A queue with the rows of a tensor, over and over."""
    with ops.name_scope(name, "input_producer", [input_tensor]):
        input_tensor = ops.convert_to_tensor(input_tensor, name="input_tensor")
        element_shape = input_tensor.shape[1:].merge_with(element_shape if element_shape is not None
                                                          else tensor_shape.TensorShape(None))
        if not element_shape.is_fully_defined():
            raise ValueError("Either `input_tensor` must have a fully defined shape or `element_shape` must be specified")
        if shuffle:
            from millstream.framework import random_seed
            seed1, seed2 = random_seed.get_seed(seed)
            input_tensor = gen_ops.random_shuffle(input_tensor, seed=seed1 or 0, seed2=seed2 or 0)
        input_tensor = limit_epochs(input_tensor, num_epochs)
        queue = data_flow_ops.FIFOQueue(capacity=capacity, dtypes=[input_tensor.dtype.base_dtype], shapes=[element_shape],
                                        shared_name=shared_name, name=name or "fifo_queue")
        enqueue = queue.enqueue_many([input_tensor])
        queue_runner_impl.add_queue_runner(queue_runner_impl.QueueRunner(queue, [enqueue], cancel_op=cancel_op))
        if summary_name is not None:
            _fraction_summary(queue, capacity, summary_name)
        return queue


def string_input_producer(string_tensor: Any, num_epochs: Any = None, shuffle: bool = True, seed: Optional[int] = None,
                          capacity: Any = 32, shared_name: Any = None, name: Optional[str] = None,
                          cancel_op: Any = None) -> Any:
    """A queue of names of files."""
    if not isinstance(string_tensor, ops.Tensor) and not hasattr(string_tensor, "_as_graph_element") and \
            not len(string_tensor):
        raise ValueError("string_input_producer requires a non-null input tensor")
    with ops.name_scope(name, "input_producer", [string_tensor]) as name:
        tensor = ops.convert_to_tensor(string_tensor, dtype=dtypes.string)
        return input_producer(tensor, [], num_epochs, shuffle, seed, capacity, shared_name,
                              f"fraction_of_{capacity}_full", name, cancel_op)


def range_input_producer(limit: Any, num_epochs: Any = None, shuffle: bool = True, seed: Optional[int] = None,
                         capacity: Any = 32, shared_name: Any = None, name: Optional[str] = None) -> Any:
    """A queue of the numbers from 0 to limit - 1."""
    with ops.name_scope(name, "input_producer", [limit]) as name:
        return input_producer(math_ops.range(limit), [], num_epochs, shuffle, seed, capacity, shared_name, f"fraction_of_{capacity}_full", name)


def slice_input_producer(tensor_list: Any, num_epochs: Any = None, shuffle: bool = True, seed: Optional[int] = None,
                         capacity: Any = 32, shared_name: Any = None, name: Optional[str] = None) -> list[Tensor]:
    """One row of each tensor, the same in all."""
    with ops.name_scope(name, "input_producer", tensor_list):
        tensors = [ops.convert_to_tensor(t) for t in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        index = range_input_producer(array_ops.shape(tensors[0])[0], num_epochs, shuffle, seed, capacity, shared_name).dequeue()
        return [gen_ops.gather_v2(t, index, 0) for t in tensors]


class _Packed:
    """Remembers whether the caller gave a dict or not, and which tensors were sparse: those go through queues as strings."""

    def __init__(self, tensors, enqueue_many):
        self._keys = sorted(tensors) if isinstance(tensors, dict) else None
        self._enqueue_many = enqueue_many
        if self._keys is not None:
            self.items = [tensors[k] for k in self._keys]
        else:
            self.items = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]

    def tensors(self):
        serialize = sparse_ops.serialize_many_sparse if self._enqueue_many else sparse_ops.serialize_sparse
        return [serialize(t) if isinstance(t, sparse_tensor.SparseTensor) else ops.convert_to_tensor(t) for t in self.items]

    def unpack(self, values):
        """The batch, as the caller gave its parts; one tensor, not a list, for a list of one."""
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        values = [self._batched(item, value) for item, value in zip(self.items, values)]
        if self._keys is not None:
            return dict(zip(self._keys, values))
        return values[0] if len(values) == 1 else values

    def _batched(self, item, value):
        if not isinstance(item, sparse_tensor.SparseTensor):
            return value
        rank = item.get_shape().rank
        if rank is not None and not self._enqueue_many:
            rank += 1
        return sparse_ops.deserialize_many_sparse(value, item.dtype, rank=rank)


def _queue_shapes(tensors, shapes, enqueue_many):
    if shapes is not None:
        return [tensor_shape.TensorShape(s) for s in shapes]
    return [t.get_shape()[1:] if enqueue_many else t.get_shape() for t in tensors]


def _common_shapes(lists, shapes, enqueue_many):
    per_list = [_queue_shapes(tensors, shapes, enqueue_many) for tensors in lists]
    result = []
    for column in zip(*per_list):
        merged = column[0]
        for other in column[1:]:
            if merged.rank is None or other.rank is None or merged.rank != other.rank:
                merged = tensor_shape.TensorShape(None)
                break
            merged = tensor_shape.TensorShape([a if a == b else None for a, b in zip(merged.as_list(), other.as_list())])
        result.append(merged)
    return result


def _gate(tensors, keep_input):
    """Rows are kept where `keep_input` is true: as tensors with 0 or 1 row."""
    keep = ops.convert_to_tensor(keep_input)
    where = gen_ops.strided_slice(gen_ops.where(gen_ops.reshape(keep, [1])), [0, 0], [1, 1], [1, 1], begin_mask=1, end_mask=1,
                                  shrink_axis_mask=2)
    return [gen_ops.gather_v2(gen_ops.expand_dims(t, 0), where, 0) for t in tensors]


def _batch(lists, make_queue, batch_size, num_copies, keep_input, enqueue_many, shapes, allow_smaller, name, default_name,
           dynamic_pad=False):
    packed = [_Packed(t, enqueue_many) for t in lists]
    with ops.name_scope(name, default_name, [x for p in packed for x in p.items]) as name:
        tensors = [p.tensors() for p in packed]
        queue_shapes = _common_shapes(tensors, shapes, enqueue_many)
        if not dynamic_pad and any(not s.is_fully_defined() for s in queue_shapes):
            raise ValueError(f"All shapes must be fully defined: {queue_shapes}")
        queue = make_queue([t.dtype.base_dtype for t in tensors[0]], queue_shapes)
        gated = keep_input is not True
        enqueues = []
        for values in tensors:
            rows = _gate(values, keep_input) if gated and not enqueue_many else values
            op = queue.enqueue_many(rows) if enqueue_many or gated else queue.enqueue(rows)
            enqueues.extend([op] * num_copies)
        queue_runner_impl.add_queue_runner(queue_runner_impl.QueueRunner(queue, enqueues))
        result = queue.dequeue_up_to(batch_size, name=name) if allow_smaller else queue.dequeue_many(batch_size, name=name)
        return packed[0].unpack(result)


def _fifo(capacity, shared_name, dynamic_pad):
    def make(types, shapes):
        kind = data_flow_ops.PaddingFIFOQueue if dynamic_pad else data_flow_ops.FIFOQueue
        queue = kind(capacity=capacity, dtypes=types, shapes=shapes, shared_name=shared_name)
        _fraction_summary(queue, capacity)
        return queue
    return make


def _shuffled(capacity, min_after_dequeue, seed, shared_name):
    def make(types, shapes):
        queue = data_flow_ops.RandomShuffleQueue(capacity=capacity, min_after_dequeue=min_after_dequeue, seed=seed, dtypes=types,
                                                 shapes=shapes, shared_name=shared_name)
        from millstream.events import summary_ops
        full = gen_ops.cast(gen_ops.maximum(0, queue.size() - min_after_dequeue), DstT=dtypes.float32) * \
            (1. / max(1, capacity - min_after_dequeue))
        summary_ops.scalar(f"fraction_over_{min_after_dequeue}_of_{capacity - min_after_dequeue}_full", full)
        return queue
    return make


def batch(tensors: Any, batch_size: Any, num_threads: Any = 1, capacity: Any = 32, enqueue_many: bool = False,
          shapes: Any = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: Any = None,
          name: Optional[str] = None) -> Any:
    """Batches tensors through a queue that threads fill; see start_queue_runners."""
    return _batch([tensors], _fifo(capacity, shared_name, dynamic_pad), batch_size, num_threads, True, enqueue_many, shapes,
                  allow_smaller_final_batch, name, "batch", dynamic_pad)


def maybe_batch(tensors: Any, keep_input: Any, batch_size: Any, num_threads: Any = 1, capacity: Any = 32,
                enqueue_many: bool = False, shapes: Any = None, dynamic_pad: bool = False,
                allow_smaller_final_batch: bool = False, shared_name: Any = None, name: Optional[str] = None) -> Any:
    """batch(), which drops the examples for which `keep_input` is false."""
    return _batch([tensors], _fifo(capacity, shared_name, dynamic_pad), batch_size, num_threads, keep_input, enqueue_many,
                  shapes, allow_smaller_final_batch, name, "batch", dynamic_pad)


def batch_join(tensors_list: Any, batch_size: Any, capacity: Any = 32, enqueue_many: bool = False, shapes: Any = None,
               dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: Any = None,
               name: Optional[str] = None) -> Any:
    """Batches examples from several lists of tensors, one thread per list."""
    return _batch(tensors_list, _fifo(capacity, shared_name, dynamic_pad), batch_size, 1, True, enqueue_many, shapes,
                  allow_smaller_final_batch, name, "batch_join", dynamic_pad)


def shuffle_batch(tensors: Any, batch_size: Any, capacity: Any, min_after_dequeue: Any, num_threads: Any = 1,
                  seed: Optional[int] = None, enqueue_many: bool = False, shapes: Any = None,
                  allow_smaller_final_batch: bool = False, shared_name: Any = None, name: Optional[str] = None) -> Any:
    """Batches tensors in random order through a queue that keeps at least `min_after_dequeue` elements."""
    return _batch([tensors], _shuffled(capacity, min_after_dequeue, seed, shared_name), batch_size, num_threads, True,
                  enqueue_many, shapes, allow_smaller_final_batch, name, "shuffle_batch")


def maybe_shuffle_batch(tensors: Any, batch_size: Any, capacity: Any, min_after_dequeue: Any, keep_input: Any,
                        num_threads: Any = 1, seed: Optional[int] = None, enqueue_many: bool = False, shapes: Any = None,
                        allow_smaller_final_batch: bool = False, shared_name: Any = None, name: Optional[str] = None) -> Any:
    """shuffle_batch(), which drops the examples for which `keep_input` is false."""
    return _batch([tensors], _shuffled(capacity, min_after_dequeue, seed, shared_name), batch_size, num_threads, keep_input,
                  enqueue_many, shapes, allow_smaller_final_batch, name, "shuffle_batch")


def shuffle_batch_join(tensors_list: Any, batch_size: Any, capacity: Any, min_after_dequeue: Any, seed: Optional[int] = None,
                       enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False,
                       shared_name: Any = None, name: Optional[str] = None) -> Any:
    """Batches shuffled examples from several lists of tensors, one thread per list."""
    return _batch(tensors_list, _shuffled(capacity, min_after_dequeue, seed, shared_name), batch_size, 1, True, enqueue_many,
                  shapes, allow_smaller_final_batch, name, "shuffle_batch_join")


def maybe_batch_join(tensors_list: Any, keep_input: Any, batch_size: Any, capacity: Any = 32, enqueue_many: bool = False,
                     shapes: Any = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False,
                     shared_name: Any = None, name: Optional[str] = None) -> Any:
    """batch_join(), which drops the examples for which `keep_input` is false."""
    return _batch(tensors_list, _fifo(capacity, shared_name, dynamic_pad), batch_size, 1, keep_input, enqueue_many, shapes,
                  allow_smaller_final_batch, name, "batch_join", dynamic_pad)


def maybe_shuffle_batch_join(tensors_list: Any, batch_size: Any, capacity: Any, min_after_dequeue: Any, keep_input: Any,
                             seed: Optional[int] = None, enqueue_many: bool = False, shapes: Any = None,
                             allow_smaller_final_batch: bool = False, shared_name: Any = None,
                             name: Optional[str] = None) -> Any:
    """shuffle_batch_join(), which drops the examples for which `keep_input` is false."""
    return _batch(tensors_list, _shuffled(capacity, min_after_dequeue, seed, shared_name), batch_size, 1, keep_input,
                  enqueue_many, shapes, allow_smaller_final_batch, name, "shuffle_batch_join")
