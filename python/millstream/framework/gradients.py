# SPDX-License-Identifier: Apache-2.0
"""tf.gradients() and gradients that are defined in Python. The walk itself is C++."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework import conversion, dtypes, errors, scopes
from millstream.framework.indexed_slices import IndexedSlices
from millstream.framework.tensor import Tensor

if TYPE_CHECKING:
    from typing import Any


class AggregationMethod:
    """Names the ways in which `tf.gradients` may sum up the gradients that reach one tensor; all of them give the same sum here."""
    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


class UnconnectedGradients:
    NONE = "none"
    ZERO = "zero"


_registry: dict = {}  # op type, or name in gradient_override_map() -> function or None


def register(op_type, function):
    if op_type in _registry:
        raise KeyError(f"Registering two gradient with name '{op_type}'! (Previous registration was in {_registry[op_type]})")
    _registry[op_type] = function


def get_gradient_function(op):
    """The Python function that is registered for an operation; None if there is none."""
    override = op.graph._core.attr(op._id, "_gradient_op_type")
    return _registry.get(op.type if override is None else override[1].decode())


def _grad_to_pairs(grad):
    if grad is None:
        return None
    if isinstance(grad, IndexedSlices):
        shape = None if grad.dense_shape is None else grad.dense_shape._id_pair()
        return [grad.values._id_pair(), grad.indices._id_pair(), shape]
    return conversion.internal_convert_to_tensor(grad)._id_pair()


def _grad_from_pairs(graph, pairs):
    if pairs is None:
        return None
    if isinstance(pairs, list):
        return IndexedSlices(*[graph._output_by_id(p) for p in pairs])
    return graph._output_by_id(pairs)


def _call_registered(graph, node_id, dys, prefix):
    """What C++ calls for a node whose gradient may be defined in Python."""
    from millstream import gen_ops
    op = graph._op_by_id(node_id)
    override = graph._core.attr(node_id, "_gradient_op_type")
    name = op.type if override is None else override[1].decode()
    if name not in _registry:
        if override is None:
            return None
        raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {name}). In general every operation must "
                          "have an associated `@tf.RegisterGradient` for correct autodiff.")
    function = _registry[name]
    if function is None:
        return [None] * len(op.inputs)
    with graph.as_default(), graph._inside(prefix):
        grads = []
        for output, pairs in zip(op.outputs, dys):
            grad = _grad_from_pairs(graph, pairs)
            if grad is None and (output.dtype.is_floating or output.dtype.is_complex):
                grad = gen_ops.zeros_like(output)
            grads.append(grad)
        results = function(op, *grads)
    if isinstance(results, (Tensor, IndexedSlices)) or results is None:
        results = [results]
    if len(results) != len(op.inputs):
        raise ValueError(f"Num gradients {len(results)} generated for op {op.name} do not match num inputs "
                         f"{len(op.inputs)}")
    return [_grad_to_pairs(r) for r in results]


def _as_list(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _sources(xs):
    out = []
    for x in xs:
        handle = getattr(x, "handle", None)
        if isinstance(handle, Tensor) and handle.dtype == dtypes.resource:
            out.append(handle)
        elif isinstance(x, IndexedSlices):
            out.append(x.values)
        else:
            out.append(conversion.internal_convert_to_tensor(x, as_ref=True))
    return out


def _producers(graph, op):
    return [pair[0] for pair in graph._core.inputs(op._id)] + list(graph._core.control_inputs(op._id))


def _in_loops(graph, ops):
    """Ids of new nodes inside of loops, and of those that loops which were there before need: neither can wait for what comes
    after the loops."""
    new = {op._id: op for op in ops}
    entries = ("Enter", "RefEnter")
    if not any(op.type in entries for op in ops):
        return set()
    depth, older, again = {}, set(), []
    for op in graph.get_operations():
        step = 1 if op.type in entries else -1 if op.type in ("Exit", "RefExit") else 0
        depth[op._id] = max((depth.get(i, 0) for i in _producers(graph, op)), default=0) + step
        if step == 1 and op._id not in new:
            older.add(op.get_attr("frame_name"))
        elif step == 1 and op.get_attr("frame_name") in older:
            again.append(op._id)
    inside, needed = {i for i in new if depth[i] > 0}, [i for e in again for i in _producers(graph, new[e])]
    while needed:
        i = needed.pop()
        if i in new and i not in inside:
            inside.add(i)
            needed.extend(_producers(graph, new[i]))
    return inside


def _add_outer_dependencies(graph, ops):
    """Nodes that C++ has made wait for what the program's control_dependencies() say, as if made one by one."""
    if not graph._state.control or graph._context_starts:
        return
    inside = _in_loops(graph, ops)
    for op in ops:
        if op._id not in inside:
            for control in graph._control_for([pair[0] for pair in graph._core.inputs(op._id)]):
                graph._core.add_control_input(op._id, control)
        for scope in graph._state.control:
            scope.seen.add(op._id)


def gradients(ys: Any, xs: Any, grad_ys: Any = None, name: str = "gradients", colocate_gradients_with_ops: bool = False,
              gate_gradients: bool = False, aggregation_method: Any = None, stop_gradients: Any = None,
              unconnected_gradients: Any = UnconnectedGradients.NONE) -> list[Any]:
    """Symbolic derivatives of sum(ys) by each x: a list of tensors, IndexedSlices, or None where ys do not depend on x."""
    single = _as_list(xs)
    ys, xs = _as_list(ys), single
    grad_ys = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
    if len(grad_ys) != len(ys):
        raise ValueError("Must have as many grad_ys as ys")
    if unconnected_gradients not in (UnconnectedGradients.NONE, UnconnectedGradients.ZERO):
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients}")
    graph = scopes.graph_of(ys)
    graph._check_not_finalized()
    with graph.as_default(), graph._lock, graph.name_scope(name or "gradients") as scope:
        ys = [conversion.internal_convert_to_tensor(y, name="y") for y in ys]
        x_tensors = _sources(xs)
        seeds = [None if g is None else conversion.internal_convert_to_tensor(g, name=f"grad_ys_{i}")
                 for i, g in enumerate(grad_ys)]
        stops = _sources(_as_list(stop_gradients or [])) + graph.__dict__.get("_without_gradients", [])  # and loops without back_prop
        graph._sync()
        try:
            found = graph._core.gradients(
                scope, [y._id_pair() for y in ys], [x._id_pair() for x in x_tensors],
                [None if s is None else s._id_pair() for s in seeds], [s._id_pair() for s in stops],
                bool(colocate_gradients_with_ops), bool(gate_gradients),
                aggregation_method == AggregationMethod.EXPERIMENTAL_TREE, set(_registry),
                lambda *args: _call_registered(graph, *args))
        except errors.NotFoundError as e:
            raise LookupError(e.message) from None
        except errors.InvalidArgumentError as e:
            raise (TypeError if "must set grad_ys" in e.message else ValueError)(e.message) from None
        finally:
            made = graph._sync()
            graph._place_new(made)
        _add_outer_dependencies(graph, made)
        results = [_grad_from_pairs(graph, pairs) for pairs in found]
    if unconnected_gradients == UnconnectedGradients.ZERO:
        from millstream import gen_ops
        results = [gen_ops.zeros_like(conversion.internal_convert_to_tensor(x), name="zeros_like") if r is None else r
                   for r, x in zip(results, xs)]
    return results
