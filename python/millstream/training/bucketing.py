# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.training.bucket and bucket_by_sequence_length: batches of elements that are alike, by queues."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import dtypes, errors, ops
from millstream.framework.tensor_shape import TensorShape
from millstream.ops.flow import control_flow_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.queues import data_flow_ops
from millstream.training import queue_runner_impl

if TYPE_CHECKING:
    from typing import Any, Optional

_ENDS = (errors.OutOfRangeError, errors.CancelledError)


def bucket(tensors: Any, which_bucket: Any, batch_size: Any, num_buckets: Any, num_threads: Any = 1, capacity: Any = 32,
           bucket_capacities: Any = None, shapes: Any = None, dynamic_pad: bool = False,
           allow_smaller_final_batch: bool = False, keep_input: bool = True, shared_name: Any = None,
           name: Optional[str] = None) -> Any:
    """(bucket, batch of elements for which `which_bucket` was the same); elements are lists or dicts of tensors."""
    names = sorted(tensors) if isinstance(tensors, dict) else None
    items = [tensors[n] for n in names] if names else list(tensors)
    sizes = list(batch_size) if isinstance(batch_size, (list, tuple)) else [batch_size] * num_buckets
    capacities = list(bucket_capacities or [capacity] * num_buckets)
    if len(sizes) != num_buckets or len(capacities) != num_buckets:
        raise ValueError(f"The lists batch_size and bucket_capacities must have length num_buckets ({num_buckets})")
    with ops.name_scope(name, "bucket", items):
        items = [ops.convert_to_tensor(t) for t in items]
        kinds = [t.dtype.base_dtype for t in items]
        shapes = [TensorShape(s) for s in shapes] if shapes is not None else [t.shape for t in items]
        if not dynamic_pad and not all(s.is_fully_defined() for s in shapes):
            raise ValueError("All shapes must be fully defined, or dynamic_pad must be True")
        make = data_flow_ops.PaddingFIFOQueue if dynamic_pad else data_flow_ops.FIFOQueue
        queues = [make(c, dtypes=kinds, shapes=shapes, shared_name=shared_name and f"{shared_name}_{i}", name=f"bucket_queue_{i}")
                  for i, c in enumerate(capacities)]
        top = data_flow_ops.FIFOQueue(capacity, [dtypes.int32] + kinds, name="top_queue")
        which = math_ops.cast(which_bucket, dtypes.int32)
        puts = [control_flow_ops.cond(gen_ops.logical_and(ops.convert_to_tensor(keep_input), gen_ops.equal(which, i)),
                                      lambda q=q: _done(q.enqueue(items)), lambda: ops.convert_to_tensor(False))
                for i, q in enumerate(queues)]
        _run(queues, [control_flow_ops.group(*puts)] * num_threads)
        take = "dequeue_up_to" if allow_smaller_final_batch else "dequeue_many"
        _run([top], [_to_top(top, i, getattr(q, take)(size)) for i, (q, size) in enumerate(zip(queues, sizes))])
        found, *batch = top.dequeue(name="dequeue_top")
        same = None if allow_smaller_final_batch or len(set(sizes)) > 1 else sizes[0]
        for tensor, shape in zip(batch, shapes):
            tensor.set_shape(TensorShape([same]).concatenate(shape))
        found.set_shape([])
        return found, dict(zip(names, batch)) if names else batch


def _done(op):
    with ops.control_dependencies([op]):
        return gen_ops.identity(ops.convert_to_tensor(True))


def _to_top(top, index, batch):
    return top.enqueue([ops.convert_to_tensor(np.int32(index))] + (list(batch) if isinstance(batch, (list, tuple)) else [batch]))


def _run(queues, enqueue_ops):
    """A runner that closes all of `queues` when its threads have ended."""
    close = control_flow_ops.group(*[q.close() for q in queues])
    cancel = control_flow_ops.group(*[q.close(cancel_pending_enqueues=True) for q in queues])
    queue_runner_impl.add_queue_runner(queue_runner_impl.QueueRunner(queues[0], enqueue_ops, close_op=close, cancel_op=cancel,
                                                                     queue_closed_exception_types=_ENDS))


def bucket_by_sequence_length(input_length: Any, tensors: Any, batch_size: Any, bucket_boundaries: Any, num_threads: Any = 1,
                              capacity: Any = 32, bucket_capacities: Any = None, shapes: Any = None, dynamic_pad: bool = False,
                              allow_smaller_final_batch: bool = False, keep_input: bool = True, shared_name: Any = None,
                              name: Optional[str] = None) -> Any:
    """(lengths, batch) of elements whose lengths are between the same boundaries."""
    boundaries = list(bucket_boundaries)
    if not boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    if any(a >= b for a, b in zip(boundaries, boundaries[1:])):
        raise ValueError(f"Buckets must contain increasing integers, but saw: {boundaries}")
    if isinstance(batch_size, (list, tuple)) and len(batch_size) != len(boundaries) + 1:
        raise ValueError(f"If batch_size is a list it must have length {len(boundaries) + 1}")
    with ops.name_scope(name, "bucket_by_sequence_length", [input_length]):
        length = math_ops.cast(input_length, dtypes.int32)
        which = reduce_ops.reduce_sum(math_ops.cast(gen_ops.greater_equal(length, np.int32(boundaries)), dtypes.int32))
        named = isinstance(tensors, dict)
        items = {**tensors, "\x00length": input_length} if named else [input_length] + list(tensors)
        if shapes is not None and not named:
            shapes = [TensorShape([])] + list(shapes)
        _, batch = bucket(items, which, batch_size, len(boundaries) + 1, num_threads, capacity, bucket_capacities, shapes, dynamic_pad,
                          allow_smaller_final_batch, keep_input, shared_name)
        if named:
            return batch.pop("\x00length"), batch
        return batch[0], batch[1:]
