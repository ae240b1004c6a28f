# SPDX-License-Identifier: Apache-2.0
"""Queues."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes as dtypes_lib
from millstream.framework import ops, tensor_shape

if TYPE_CHECKING:
    from typing import Any, Optional, Union

    from millstream.framework.operation import Operation
    from millstream.framework.tensor import Tensor


def _as_types(dtypes):
    if not isinstance(dtypes, (list, tuple)):
        dtypes = [dtypes]
    return [dtypes_lib.as_dtype(d) for d in dtypes]


def _as_shapes(shapes, types, unknown_dims=False):
    if shapes is None:
        return None
    if isinstance(shapes, tensor_shape.TensorShape) or not isinstance(shapes, (list, tuple)) or \
            (len(types) == 1 and not any(isinstance(s, (list, tuple, tensor_shape.TensorShape)) for s in shapes)
             and not (isinstance(shapes, list) and len(shapes) == 1 and shapes[0] is None)):
        shapes = [shapes]
    shapes = [tensor_shape.TensorShape(s) for s in shapes]
    if len(shapes) != len(types):
        raise ValueError(f"Queue shapes must have the same length as dtypes, received len(shapes)={len(shapes)}, "
                         f"len(dtypes)={len(types)}")
    if not unknown_dims and any(not s.is_fully_defined() for s in shapes):
        raise ValueError(f"All shapes must be fully defined: {shapes}")
    return shapes


def _as_names(names, types):
    if not names:
        return None
    names = [names] if isinstance(names, str) else list(names)
    if len(names) != len(types):
        raise ValueError(f"List of names must have the same length as the list of dtypes, received len(names)={len(names)},"
                         f"len(dtypes)={len(types)}")
    return names


class QueueBase:
    """What all queues can do. Subclasses make the node."""

    def __init__(self, dtypes: Any, shapes: Any, names: Any, queue_ref: Any) -> None:
        self._dtypes, self._shapes, self._names = dtypes, shapes, names
        if shapes is None:
            self._shapes = [tensor_shape.TensorShape(None) for _ in dtypes]
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.split("/")[-1]

    @staticmethod
    def from_list(index: Any, queues: Any) -> Any:
        """The queue at a position that a tensor says."""
        if not queues or not isinstance(queues, list) or not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError("A list of queues expected")
        if any(q.dtypes != queues[0].dtypes for q in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(q.names != queues[0].names for q in queues):
            raise TypeError("Queues do not have matching component names.")
        ref = gen_ops.gather_v2(gen_ops.pack([q.queue_ref for q in queues]), index, 0)
        return QueueBase(queues[0].dtypes, queues[0].shapes, queues[0].names, ref)

    queue_ref = property(lambda self: self._queue_ref)
    name = property(lambda self: self._queue_ref.op.name)
    dtypes = property(lambda self: self._dtypes)
    shapes = property(lambda self: self._shapes)
    names = property(lambda self: self._names)

    def _components(self, vals, many):
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names) != sorted(vals):
                raise ValueError(f"Keys in dictionary to enqueue do not match names of Queue. Dictionary: {sorted(vals)}, "
                                 f"Queue: {sorted(self._names)}")
            vals = [vals[k] for k in self._names]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a Queue with names")
            if not isinstance(vals, (list, tuple)):
                vals = [vals]
        if len(vals) != len(self._dtypes):
            if len(self._dtypes) == 1:
                vals = [vals]
            else:
                raise ValueError(f"Unexpected number of inputs to Queue: {len(vals)} vs {len(self._dtypes)}")
        tensors = []
        for i, (value, dtype) in enumerate(zip(vals, self._dtypes)):
            tensors.append(ops.convert_to_tensor(value, dtype=dtype, name=f"component_{i}"))
        for tensor, shape in zip(tensors, self._shapes):
            own = tensor.get_shape()
            if many:
                if own.rank is not None:
                    own.with_rank_at_least(1)[1:].assert_is_compatible_with(shape)
            else:
                own.assert_is_compatible_with(shape)
        return tensors

    def enqueue(self, vals: Any, name: Optional[str] = None) -> Operation:
        with ops.name_scope(name, f"{self._name}_enqueue") as scope:
            return gen_ops.queue_enqueue_v2(self._queue_ref, self._components(vals, False), name=scope)

    def enqueue_many(self, vals: Any, name: Optional[str] = None) -> Operation:
        with ops.name_scope(name, f"{self._name}_EnqueueMany") as scope:
            return gen_ops.queue_enqueue_many_v2(self._queue_ref, self._components(vals, True), name=scope)

    def _result(self, tensors):
        if self._names:
            return dict(zip(self._names, tensors))
        return tensors[0] if len(tensors) == 1 else list(tensors)

    def dequeue(self, name: Optional[str] = None) -> Any:
        name = f"{self._name}_Dequeue" if name is None else name
        tensors = gen_ops.queue_dequeue_v2(self._queue_ref, component_types=self._dtypes, name=name)
        for tensor, shape in zip(tensors, self._shapes):
            tensor.set_shape(shape)
        return self._result(tensors)

    def _dequeue_rows(self, gen, n, name, known):
        tensors = gen(self._queue_ref, n, component_types=self._dtypes, name=name)
        from millstream.framework import tensor_util
        count = (tensor_util.constant_value(n) if isinstance(n, ops.Tensor) else n) if known else None
        for tensor, shape in zip(tensors, self._shapes):
            tensor.set_shape(tensor_shape.TensorShape([None if count is None else int(count)]).concatenate(shape))
        return self._result(tensors)

    def dequeue_many(self, n: Any, name: Optional[str] = None) -> Union[Tensor, list[Tensor]]:
        return self._dequeue_rows(gen_ops.queue_dequeue_many_v2, n, name or f"{self._name}_DequeueMany", True)

    def dequeue_up_to(self, n: Any, name: Optional[str] = None) -> Any:
        return self._dequeue_rows(gen_ops.queue_dequeue_up_to_v2, n, name or f"{self._name}_DequeueUpTo", False)

    def close(self, cancel_pending_enqueues: bool = False, name: Optional[str] = None) -> Operation:
        return gen_ops.queue_close_v2(self._queue_ref, cancel_pending_enqueues=cancel_pending_enqueues,
                                      name=name or f"{self._name}_Close")

    def is_closed(self, name: Optional[str] = None) -> Any:
        return gen_ops.queue_is_closed_v2(self._queue_ref, name=name or f"{self._name}_Is_Closed")

    def size(self, name: Optional[str] = None) -> Tensor:
        return gen_ops.queue_size_v2(self._queue_ref, name=name or f"{self._name}_Size")

    def __repr__(self):
        return f"<{type(self).__name__} '{self.name}'>"


class FIFOQueue(QueueBase):
    """A queue that returns its elements in the order in which they came.

    It holds at most `capacity` elements: enqueueing waits while it is full.
    """

    def __init__(self, capacity: Any, dtypes: Any, shapes: Any = None, names: Any = None, shared_name: Any = None,
                 name: str = "fifo_queue") -> None:
        types = _as_types(dtypes)
        shapes = _as_shapes(shapes, types)
        ref = gen_ops.fifo_queue_v2(component_types=types, shapes=shapes or [], capacity=capacity, shared_name=shared_name or "",
                                    name=name)
        super().__init__(types, shapes, _as_names(names, types), ref)


class RandomShuffleQueue(QueueBase):
    """A queue that returns its elements in random order and always keeps `min_after_dequeue` of them to choose from, until it is closed."""

    def __init__(self, capacity: Any, min_after_dequeue: Any, dtypes: Any, shapes: Any = None, names: Any = None,
                 seed: Optional[int] = None, shared_name: Any = None, name: str = "random_shuffle_queue") -> None:
        types = _as_types(dtypes)
        shapes = _as_shapes(shapes, types)
        from millstream.framework import random_seed
        seed1, seed2 = random_seed.get_seed(seed)
        if seed1 is None and seed2 is None:
            seed1, seed2 = 0, 0
        ref = gen_ops.random_shuffle_queue_v2(component_types=types, shapes=shapes or [], capacity=capacity,
                                              min_after_dequeue=min_after_dequeue, seed=seed1, seed2=seed2,
                                              shared_name=shared_name or "", name=name)
        super().__init__(types, shapes, _as_names(names, types), ref)


class PaddingFIFOQueue(QueueBase):
    """A FIFO queue of elements of varying size: `dequeue_many` pads them with zeros to the size of the largest."""

    def __init__(self, capacity: Any, dtypes: Any, shapes: Any, names: Any = None, shared_name: Any = None,
                 name: str = "padding_fifo_queue") -> None:
        types = _as_types(dtypes)
        shapes = _as_shapes(shapes, types, unknown_dims=True)
        ref = gen_ops.padding_fifo_queue_v2(component_types=types, shapes=shapes, capacity=capacity,
                                            shared_name=shared_name or "", name=name)
        super().__init__(types, shapes, _as_names(names, types), ref)

    def _dequeue_rows(self, gen, n, name, known):
        tensors = gen(self._queue_ref, n, component_types=self._dtypes, name=name)
        for tensor, shape in zip(tensors, self._shapes):
            tensor.set_shape(tensor_shape.TensorShape([n if known and isinstance(n, int) else None]).concatenate(shape))
        return self._result(tensors)


class PriorityQueue(QueueBase):
    """The first component is an int64 priority; the smallest comes first."""

    def __init__(self, capacity: Any, types: Any, shapes: Any = None, names: Any = None, shared_name: Any = None,
                 name: str = "priority_queue") -> None:
        types = _as_types(types)
        shapes = _as_shapes(shapes, types)
        ref = gen_ops.priority_queue_v2(component_types=types, shapes=shapes or [], capacity=capacity,
                                        shared_name=shared_name or "", name=name)
        all_types = [dtypes_lib.int64] + types
        all_shapes = [tensor_shape.TensorShape([])] + shapes if shapes else None
        super().__init__(all_types, all_shapes, _as_names(names, all_types), ref)
