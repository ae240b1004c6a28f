# SPDX-License-Identifier: Apache-2.0
"""Derivatives of every element of a tensor: tf.hessians(), and what tf.GradientTape's Jacobians are made of."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework import conversion, dtypes, gradients, scopes

if TYPE_CHECKING:
    from typing import Any


def element_gradients(ys, xs, parallel_iterations=None, **kwargs):
    """For each x, the gradients of ys[0], ys[1], ... stacked: [length of ys] + shape of x; None where no element depends on x.
    `ys` is a vector."""
    from millstream.ops.array import array_ops
    known = ys.shape.as_list()[0]
    if known is not None and _has_loops(ys.graph):  # loops cannot be differentiated inside of another loop
        rows = [_dense_gradients(ys[i], xs, kwargs) for i in range(known)]
        return [array_ops.stack([row[k] for row, _ in rows]) if rows and rows[0][1][k] else None for k in range(len(xs))]
    return _in_a_loop(ys, xs, parallel_iterations or 10, kwargs)


def _has_loops(graph):
    return any(op.type == "Enter" for op in graph.get_operations())


def _dense_gradients(y, xs, kwargs):
    """(gradients, zeros where there is none; which of them there are)."""
    from millstream.ops.array import array_ops
    found = gradients.gradients(y, xs, **kwargs)
    dense = [array_ops.zeros_like(x) if g is None else conversion.internal_convert_to_tensor(g) for g, x in zip(found, xs)]
    return dense, [g is not None for g in found]


def _in_a_loop(ys, xs, parallel_iterations, kwargs):
    """One gradient is built, however many elements there are."""
    from millstream.ops.array import array_ops
    from millstream.ops.flow import control_flow_ops, tensor_array_ops
    length = array_ops.size(ys)
    start = [tensor_array_ops.TensorArray(conversion.internal_convert_to_tensor(x).dtype.base_dtype, length) for x in xs]
    connected = []

    def body(i, *arrays):
        dense, connected[:] = _dense_gradients(ys[i], xs, kwargs)
        return [i + 1] + [a.write(i, g) for a, g in zip(arrays, dense)]

    zero = conversion.internal_convert_to_tensor(0, dtypes.int32)
    ends = control_flow_ops.while_loop(lambda i, *_: i < length, body, [zero] + start, parallel_iterations=parallel_iterations)
    return [array.stack() if depends else None for array, depends in zip(ends[1:], connected)]


def hessians(ys: Any, xs: Any, name: str = "hessians", colocate_gradients_with_ops: bool = False, gate_gradients: bool = False,
             aggregation_method: Any = None) -> Any:
    """Second derivatives of sum(ys) by each x: tensors of the shape of x, twice."""
    from millstream.ops.array import array_ops
    kwargs = {"colocate_gradients_with_ops": colocate_gradients_with_ops, "gate_gradients": gate_gradients,
              "aggregation_method": aggregation_method}
    xs = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    out = []
    with scopes.name_scope(name):
        for x, grad in zip(xs, gradients.gradients(ys, xs, **kwargs)):
            if grad is None:
                raise ValueError(f"The gradient of {ys} with respect to {x} is None: they are not connected.")
            rows = element_gradients(array_ops.reshape(grad, [-1]), [x], **kwargs)[0]
            if rows is None:
                raise ValueError(f"The second derivative of {ys} with respect to {x} is None: the first does not depend on it.")
            shape = array_ops.shape(x)
            hessian = array_ops.reshape(rows, array_ops.concat([shape, shape], 0))
            hessian.set_shape(x.shape.concatenate(x.shape))
            out.append(hessian)
    return out
