# SPDX-License-Identifier: Apache-2.0
"""Functions over the first axis: tf.map_fn, tf.foldl, tf.foldr, tf.scan."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import constant_op, dtypes, ops, sparse_tensor
from millstream.framework.tensor_shape import TensorShape
from millstream.ops import nest
from millstream.ops.array import array_ops
from millstream.ops.arguments import check_callable, static_size
from millstream.ops.flow.control_flow_ops import while_loop
from millstream.ops.flow.tensor_array_ops import TensorArray

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike


def _elems(elems):
    flat = []
    for e in nest.flatten(elems):
        if isinstance(e, sparse_tensor.SparseTensor):
            raise TypeError("elems must be dense tensors")
        flat.append(ops.convert_to_tensor(e, name="elem"))
    return flat


def _count(flat):
    shape = flat[0].shape
    if shape.rank == 0:
        raise ValueError("elems must be at least one-dimensional, not scalars")
    known = static_size(shape[0]) if shape.rank is not None else None
    return array_ops.shape(flat[0])[0] if known is None else known


def _unstacked(flat, n):
    return [TensorArray(e.dtype.base_dtype, size=n, dynamic_size=False, infer_shape=True).unstack(e) for e in flat]


def _result_dtypes(dtype, elems, flat):
    if dtype is None:
        return elems, [e.dtype.base_dtype for e in flat]
    return dtype, [dtypes.as_dtype(d) for d in nest.flatten(dtype)]


def map_fn(fn: Any, elems: Any, dtype: Optional[DTypeLike] = None, parallel_iterations: Any = None, back_prop: bool = True,
           swap_memory: bool = False, infer_shape: bool = True, name: Optional[str] = None,
           fn_output_signature: Any = None) -> Any:
    """Applies `fn` to each element of `elems` along the first dimension (or to each tuple of elements) and stacks the results."""
    check_callable(fn, "The provided function is not callable. fn")
    dtype = fn_output_signature if dtype is None else dtype
    flat_in = nest.flatten(elems)
    if not flat_in:
        raise ValueError("elems must be a Tensor or (possibly nested) sequence of Tensors. Got an empty structure.")
    with ops.name_scope(name, "map", flat_in):
        flat = _elems(elems)
        structure, types = _result_dtypes(dtype, elems, flat)
        n = _count(flat)
        sources = _unstacked(flat, n)
        outs = [TensorArray(t, size=n, dynamic_size=False, infer_shape=infer_shape) for t in types]

        def body(i, arrays):
            value = fn(nest.pack_sequence_as(elems, [s.read(i) for s in sources]))
            nest.assert_same_structure(structure, value)
            return i + 1, [a.write(i, v) for a, v in zip(arrays, nest.flatten(value))]

        i = constant_op.constant(0)
        _, arrays = while_loop(lambda i, _: i < n, body, (i, outs), parallel_iterations=parallel_iterations or 10,
                               back_prop=back_prop, swap_memory=swap_memory, maximum_iterations=n)
        results = [a.stack() for a in arrays]
        size = static_size(flat[0].shape[0]) if flat[0].shape.rank else None
        for r in results:
            if r.shape.rank is not None:
                r.set_shape(TensorShape([size]).concatenate(r.shape[1:]))
        return nest.pack_sequence_as(structure, results)


def _fold(fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name, default, backwards):
    check_callable(fn, "fn")
    with ops.name_scope(name, default, nest.flatten(elems)):
        flat = _elems(elems)
        n = _count(flat)
        sources = _unstacked(flat, n)

        def element(i):
            return nest.pack_sequence_as(elems, [s.read(i) for s in sources])

        if initializer is None:
            first = n - 1 if backwards else 0
            accumulated = element(first)
            i = constant_op.constant(1) if not backwards else n - 1
        else:
            accumulated = nest.map_structure(ops.convert_to_tensor, initializer)
            i = constant_op.constant(0) if not backwards else n
        if backwards:
            i = ops.convert_to_tensor(i)
            _, result = while_loop(lambda i, a: i > 0, lambda i, a: [i - 1, fn(a, element(i - 1))], [i, accumulated],
                                   parallel_iterations=parallel_iterations, back_prop=back_prop, swap_memory=swap_memory)
        else:
            _, result = while_loop(lambda i, a: i < n, lambda i, a: [i + 1, fn(a, element(i))], [i, accumulated],
                                   parallel_iterations=parallel_iterations, back_prop=back_prop, swap_memory=swap_memory)
        return result


def foldl(fn: Any, elems: Any, initializer: Any = None, parallel_iterations: Any = 10, back_prop: bool = True,
          swap_memory: bool = False, name: Optional[str] = None) -> Any:
    return _fold(fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name, "foldl", False)


def foldr(fn: Any, elems: Any, initializer: Any = None, parallel_iterations: Any = 10, back_prop: bool = True,
          swap_memory: bool = False, name: Optional[str] = None) -> Any:
    return _fold(fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name, "foldr", True)


def scan(fn: Any, elems: Any, initializer: Any = None, parallel_iterations: Any = 10, back_prop: bool = True,
         swap_memory: bool = False, infer_shape: bool = True, reverse: bool = False, name: Optional[str] = None) -> Any:
    """All the values that a fold goes through, stacked."""
    check_callable(fn, "fn")
    with ops.name_scope(name, "scan", nest.flatten(elems)):
        flat = _elems(elems)
        n = _count(flat)
        sources = _unstacked(flat, n)

        def element(i):
            return nest.pack_sequence_as(elems, [s.read(i) for s in sources])

        if initializer is None:
            structure = elems
            start = [s.read(n - 1 if reverse else 0) for s in sources]
            i = 1
        else:
            structure = initializer
            start = [ops.convert_to_tensor(a) for a in nest.flatten(initializer)]
            i = 0
        outs = [TensorArray(a.dtype.base_dtype, size=n, dynamic_size=False, infer_shape=infer_shape,
                            element_shape=a.shape if infer_shape else None) for a in start]
        if i == 1:
            outs = [o.write(n - 1 if reverse else 0, a) for o, a in zip(outs, start)]
        first = n - 1 - i if reverse else constant_op.constant(i)
        first = ops.convert_to_tensor(first)

        def body(i, values, arrays):
            packed = fn(nest.pack_sequence_as(structure, values), element(i))
            nest.assert_same_structure(structure, packed)
            flat_values = [ops.convert_to_tensor(v) for v in nest.flatten(packed)]
            return [i - 1 if reverse else i + 1, flat_values, [a.write(i, v) for a, v in zip(arrays, flat_values)]]

        def more(i, *_):
            return gen_ops.greater_equal(i, 0) if reverse else gen_ops.less(i, n)

        _, _, arrays = while_loop(more, body, [first, start, outs], parallel_iterations=parallel_iterations,
                                  back_prop=back_prop, swap_memory=swap_memory, maximum_iterations=n)
        results = [a.stack() for a in arrays]
        size = static_size(flat[0].shape[0]) if flat[0].shape.rank else None
        for r in results:
            if r.shape.rank is not None:
                r.set_shape(TensorShape([size]).concatenate(r.shape[1:]))
        return nest.pack_sequence_as(structure, results)
