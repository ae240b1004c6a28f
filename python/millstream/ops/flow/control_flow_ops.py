# SPDX-License-Identifier: Apache-2.0
"""Branches, loops and order: tf.cond, tf.while_loop, tf.case, tf.group, tf.tuple, tf.Assert."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.framework.tensor_shape import TensorShape
from millstream.ops import nest
from millstream.ops.arguments import check_callable, renamed

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.operation import Operation
    from millstream.framework.type_aliases import TensorLike

_assert = getattr(gen_ops, "assert")
_TUPLE = type(())  # tuple() is a function here


def no_op(name: Optional[str] = None) -> Operation:
    """An operation that does nothing; useful with control dependencies."""
    return gen_ops.no_op(name=name)


def with_dependencies(dependencies, output_tensor, name=None):
    """`output_tensor` after `dependencies` have run."""
    with ops.name_scope(name, "control_dependency", list(dependencies) + [output_tensor]) as name:
        with ops.colocate_with(output_tensor), ops.control_dependencies(dependencies):
            if isinstance(output_tensor, ops.IndexedSlices):
                return ops.IndexedSlices(gen_ops.identity(output_tensor.values, name=name), output_tensor.indices,
                                         output_tensor.dense_shape)
            return gen_ops.identity(ops.convert_to_tensor(output_tensor), name=name)


def _grouped(device, deps, name=None):
    with ops.control_dependencies(deps):
        if not device:
            return gen_ops.no_op(name=name)
        with ops.device(device):
            return gen_ops.no_op(name=name)


def group(*inputs: Any, **kwargs: Any) -> Operation:
    """An operation that is done when all inputs are: one NoOp for each device, and one for all of them."""
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {list(kwargs)}")
    with ops.name_scope(name, "group_deps", inputs) as name:
        by_device: dict[Any, Any] = {}
        for item in nest.flatten(inputs):
            if hasattr(item, "_as_graph_element"):
                item = item._as_graph_element()
            if not hasattr(item, "device"):
                raise TypeError("'inputs' should be zero or more (nested) Tensors. Received '{}' with type '{}'.".format(
                    item, type(item)))
            op = item if isinstance(item, ops.Operation) else item.op
            by_device.setdefault(item.device, []).append(op)
        if not by_device:
            return gen_ops.no_op(name=name)
        if len(by_device) == 1:
            (device, deps), = by_device.items()
            return _grouped(device, deps, name)
        all_deps = [_grouped(device, by_device[device]) for device in sorted(by_device)]
        with ops.control_dependencies(all_deps):
            return gen_ops.no_op(name=name)


def tuple(tensors: Any, name: Optional[str] = None, control_inputs: Any = None) -> Any:  # pylint: disable=redefined-builtin
    """The tensors, each available only when all of them are."""
    with ops.name_scope(name, "tuple", [t for t in tensors if t is not None]):
        tensors = [t._as_graph_element() if hasattr(t, "_as_graph_element") and not isinstance(t, ops.Tensor) else t
                   for t in tensors]
        gating = [t if isinstance(t, ops.Operation) else t.op for t in tensors if t is not None]
        for c in control_inputs or []:
            if not isinstance(c, (ops.Tensor, ops.Operation)):
                raise TypeError(f"'control_inputs' must only contain Operation or Tensor. Received: {type(c)}")
            gating.append(c.op if isinstance(c, ops.Tensor) else c)
        if not gating:
            raise ValueError(f"'tensors' must have at least one Tensor. Received: {tensors}.")
        gating = sorted(set(gating), key=lambda op: op._id)
        gate = group(*gating)
        return [t if t is None else gate if isinstance(t, ops.Operation) else with_dependencies([gate], t) for t in tensors]


class _Errors:
    """Keeps the exception of a callback, which C++ would turn into a status."""

    def __init__(self):
        self.error = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is not None and self.error is None:
            self.error = error
        return False


def _branch(graph, fn, pred, errors, structures):
    def call(prefix, _):
        with errors, graph.as_default(), graph._inside(prefix):
            result = fn()
            if result is None:
                result = gen_ops.no_op()
            structures.append(result)
            flat = []
            for value in nest.flatten(result, expand_composites=True):
                if isinstance(value, ops.Operation):
                    with ops.control_dependencies([value]):
                        value = gen_ops.identity(pred)
                flat.append(ops.convert_to_tensor(value.flow if hasattr(value, "flow") else value))
            if any(t.dtype._is_ref_dtype for t in flat):
                flat = [gen_ops.identity(t) if t.dtype._is_ref_dtype else t for t in flat]
            return [t._id_pair() for t in flat]
    return call


def cond(pred, true_fn=None, false_fn=None, strict=False, name=None, fn1=None, fn2=None):
    """Returns what `true_fn` builds if `pred` holds, else what `false_fn` builds. Only ops inside the chosen function run."""
    true_fn, false_fn = renamed("true_fn", true_fn, "fn1", fn1), renamed("false_fn", false_fn, "fn2", fn2)
    for what, fn in (("true_fn", true_fn), ("false_fn", false_fn)):
        if fn is None:
            raise TypeError(f"cond(): '{what}' argument required")
        check_callable(fn, what)
    if isinstance(pred, bool):
        raise TypeError("'pred' must not be a Python bool.")
    with ops.name_scope(name, "cond", [pred]) as scope:
        pred = ops.convert_to_tensor(pred, name="pred")
        graph = pred.graph
        if graph._state.control:  # the branches begin after what the program's control_dependencies() say
            pred = gen_ops.identity(pred)
        errors, structures = _Errors(), []
        results = _build(graph, errors, lambda: graph._core.cond(
            "", scope, pred._id_pair(), _branch(graph, true_fn, pred, errors, structures),
            _branch(graph, false_fn, pred, errors, structures)))
        _check_branches(*structures)
        return _pack_results(structures[0], [graph._output_by_id(p) for p in results], strict)


def _check_branches(one, two):
    try:
        nest.assert_same_structure(one, two)
    except (TypeError, ValueError) as e:
        raise type(e)(f"Incompatible return types of true_fn and false_fn: {e}") from None


def _pack_results(structure, values, strict):
    from millstream.ops.flow import tensor_array_ops
    flat = []
    leaves = nest.flatten(structure, expand_composites=True)
    for leaf, value in zip(leaves, values):
        flat.append(tensor_array_ops.with_flow(leaf, value) if isinstance(leaf, tensor_array_ops.TensorArray) else value)
    packed = nest.pack_sequence_as(structure, flat, expand_composites=True)
    if not strict and isinstance(packed, (list, _TUPLE)) and len(packed) == 1 and not hasattr(packed, "_fields"):
        return packed[0]
    return packed


def _build(graph, errors, build):
    """Runs what builds nodes in C++; raises the exceptions of callbacks as they were."""
    graph._sync()
    try:
        with graph._lock:
            return build()
    except Exception as e:  # pylint: disable=broad-except
        if errors.error is not None:
            raise errors.error from None
        from millstream.framework import errors as errors_lib
        if isinstance(e, errors_lib.InvalidArgumentError):
            wrong_type = "Loop variable" in e.message and "has type" in e.message
            raise (TypeError if wrong_type else ValueError)(e.message) from None
        raise
    finally:
        graph._place_new(graph._sync())


def smart_cond(pred: TensorLike, true_fn: Any = None, false_fn: Any = None, name: Optional[str] = None, fn1: Any = None,
               fn2: Any = None) -> Any:
    """cond() that decides while the graph is built where it can."""
    from millstream.ops.arguments import smart_bool
    true_fn, false_fn = renamed("true_fn", true_fn, "fn1", fn1), renamed("false_fn", false_fn, "fn2", fn2)
    check_callable(true_fn, "`true_fn`")
    check_callable(false_fn, "`false_fn`")
    known = smart_bool(pred)
    if known is None:
        return cond(pred, true_fn, false_fn, name=name)
    return true_fn() if known else false_fn()


class _LoopVars:
    """Flat tensors of the variables of a loop, and back. TensorArrays take part with their flows."""

    def __init__(self, structure):
        from millstream.ops.flow import tensor_array_ops
        self._arrays = tensor_array_ops
        self.structure = structure
        self.leaves = nest.flatten(structure, expand_composites=True)

    def tensors(self, values):
        out = []
        for v in values:
            v = v.flow if isinstance(v, self._arrays.TensorArray) else ops.convert_to_tensor(v)
            out.append(gen_ops.identity(v) if v.dtype._is_ref_dtype else v)
        return out

    def packed(self, tensors):
        flat = [self._arrays.with_flow(leaf, t) if isinstance(leaf, self._arrays.TensorArray) else t
                for leaf, t in zip(self.leaves, tensors)]
        return nest.pack_sequence_as(self.structure, flat, expand_composites=True)


def _invariants(loop_vars, shape_invariants):
    if shape_invariants is None:
        return []
    flat = []
    for var, shape in zip(nest.flatten(loop_vars), _flat_shapes(shape_invariants)):
        parts = nest.flatten(var, expand_composites=True)
        if len(parts) == 1:
            flat.append(TensorShape(None) if hasattr(var, "flow") else TensorShape(shape))
        else:  # a sparse tensor: the number of values varies
            flat += [TensorShape([None] + p.shape.as_list()[1:]) if i < 2 else p.shape for i, p in enumerate(parts)]
    return [s._to_core() for s in flat]


def _flat_shapes(shapes):
    if isinstance(shapes, (list, _TUPLE)) and not all(s is None or isinstance(s, int) for s in shapes):
        return [s for shape in shapes for s in _flat_shapes(shape)]
    if isinstance(shapes, dict):
        return [s for k in nest.sorted_keys(shapes) for s in _flat_shapes(shapes[k])]
    return [shapes]


def while_loop(cond, body, loop_vars, shape_invariants=None, parallel_iterations=10, back_prop=True, swap_memory=False,
               name=None, maximum_iterations=None, return_same_structure=False):  # pylint: disable=redefined-outer-name
    """Repeats loop_vars = body(*loop_vars) while cond(*loop_vars)."""
    check_callable(cond, "'cond'")
    check_callable(body, "'body'")
    if not loop_vars:
        raise ValueError("'loop_vars' must be provided.")
    if parallel_iterations < 1:
        raise TypeError("'parallel_iterations' must be a positive integer.")
    with ops.name_scope(name, "while", loop_vars if isinstance(loop_vars, (list, _TUPLE)) else [loop_vars]) as scope:
        limit = None if maximum_iterations is None else _limit(maximum_iterations)
        names = nest.pack_sequence_as(loop_vars, [_named(v, i) for i, v in enumerate(nest.flatten(loop_vars))])
        variables = _LoopVars(names)
        start = variables.tensors(variables.leaves)
        graph = ops.graph_of(start)
        if graph._state.control:
            start = [gen_ops.identity(t) for t in start]
        errors, results = _Errors(), []

        def args(pairs):
            packed = variables.packed([graph._output_by_id(p) for p in pairs])
            return packed if isinstance(packed, (list, _TUPLE)) and not hasattr(packed, "_fields") else [packed]

        def call_cond(prefix, pairs):
            with errors, graph.as_default(), graph._inside(prefix):
                return [ops.convert_to_tensor(cond(*args(pairs)))._id_pair()]

        def call_body(prefix, pairs):
            with errors, graph.as_default(), graph._inside(prefix):
                return [t._id_pair() for t in _body_results(body(*args(pairs)), variables, results)]

        pairs = _build(graph, errors, lambda: graph._core.while_loop(
            "", scope, call_cond, call_body, [t._id_pair() for t in start], int(parallel_iterations),
            [] if limit is None else [limit._id_pair()], bool(swap_memory),
            _invariants(loop_vars, shape_invariants)))
        exits = [graph._output_by_id(p) for p in pairs]
        if not back_prop:
            graph.__dict__.setdefault("_without_gradients", []).extend(exits)
        ends = _LoopVars(results[0]).packed(exits) if results else variables.packed(exits)
        if return_same_structure:
            return nest.pack_sequence_as(loop_vars, nest.flatten(ends))
        return ends[0] if len(exits) == 1 and nest.is_nested(ends) else ends


def _named(value, i):
    if ops.is_dense_tensor_like(value) or hasattr(value, "flow") or hasattr(value, "indices"):
        return value
    return ops.convert_to_tensor(value, name=f"loop_var_{i}" if i else "Const")


def _limit(maximum_iterations):
    limit = ops.convert_to_tensor(maximum_iterations, name="maximum_iterations")
    if limit.shape.rank not in (None, 0):
        raise ValueError(f"'maximum_iterations' must be a scalar. Received shape: {limit.shape}")
    return limit


def _body_results(result, variables, results):
    if isinstance(result, ops.Operation) or result is None:
        raise TypeError(f"The body of a loop must return tensors, not {result!r}")
    structure = variables.structure
    if not nest.is_nested(result) and nest.is_nested(structure):
        result = [result]
    elif nest.is_nested(structure) and len(structure) == 1 and not isinstance(structure, dict) and not (
            isinstance(result, (list, _TUPLE)) and len(result) == 1):
        result = [result]
    try:
        nest.assert_same_structure(list(structure) if isinstance(structure, (list, _TUPLE)) else structure,
                                   list(result) if isinstance(result, (list, _TUPLE)) else result,
                                   check_types=False)
    except ValueError as e:
        raise ValueError(f"The two structures don't have the same nested structure.\n\n{e}") from None
    results.append(result)
    flat = nest.flatten(result, expand_composites=True)
    tensors = []
    for leaf, value in zip(variables.leaves, flat):
        if hasattr(value, "flow"):
            tensors.append(value.flow)
            continue
        dtype = leaf.dtype.base_dtype if not ops.is_dense_tensor_like(value) and ops.is_dense_tensor_like(leaf) else None
        tensor = ops.convert_to_tensor(value, dtype=dtype)
        tensors.append(gen_ops.identity(tensor) if tensor.dtype._is_ref_dtype else tensor)
    return tensors


def Assert(condition: Any, data: Any, summarize: Any = None, name: Optional[str] = None) -> Operation:  # pylint: disable=invalid-name
    """An operation that fails with the values of `data` if the condition is false."""
    with ops.name_scope(name, "Assert", [condition] + list(data)):
        condition = ops.convert_to_tensor(condition, name="Const", dtype=dtypes.bool)
        data = [ops.convert_to_tensor(d) for d in data]
        return _assert(condition, data, summarize=3 if summarize is None else summarize, name="Assert")


