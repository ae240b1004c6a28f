# SPDX-License-Identifier: Apache-2.0
"""Optimizer: gradients, slots and the train op. Subclasses say what one update of one variable is."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, gradients, ops
from millstream.ops.array import array_ops
from millstream.ops.flow import control_flow_group, control_flow_ops
from millstream.ops.variables import resource_variable_ops, state_ops, variable_scope, variables
from millstream.strategies import context
from millstream.training import slot_creator

if TYPE_CHECKING:
    from typing import Any, Optional, Union

    from millstream.framework.operation import Operation
    from millstream.framework.tensor import Tensor


class _RefProcessor:
    def __init__(self, v):
        self._v = v

    def target(self):
        return self._v._ref()

    def update_op(self, optimizer, g):
        if isinstance(g, ops.Tensor):
            update = optimizer._apply_dense(g, self._v)
        else:
            if self._v.constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            return optimizer._apply_sparse_duplicate_indices(g, self._v)
        return _constrained(self._v, update)


class _ResourceProcessor:
    def __init__(self, v):
        self._v = v

    def target(self):
        return self._v

    def update_op(self, optimizer, g):
        if isinstance(g, ops.IndexedSlices):
            if self._v.constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            return optimizer._resource_apply_sparse_duplicate_indices(g.values, self._v, g.indices)
        return _constrained(self._v, optimizer._resource_apply_dense(g, self._v))


class _TensorProcessor:
    def __init__(self, v):
        self._v = v

    def target(self):
        return self._v

    def update_op(self, optimizer, g):
        raise NotImplementedError("Trying to update a Tensor ", self._v)


def _constrained(v, update):
    if v.constraint is None:
        return update
    with ops.control_dependencies([update]):
        return v.assign(v.constraint(v))


def _get_processor(v):
    if hasattr(v, "restore_all") and context.copy_index() is None:
        raise RuntimeError(f"{v.name} has copies on several devices: gradients of it are computed and applied in a function that strategy.run() calls")
    if resource_variable_ops.is_resource_variable(v):
        return _ResourceProcessor(v)
    if isinstance(v, variables.Variable):
        return _RefProcessor(v)
    if isinstance(v, ops.Tensor):
        return _TensorProcessor(v)
    raise NotImplementedError("Trying to optimize unsupported type ", v)


def _deduplicate_indexed_slices(values, indices):
    """Rows with the same index are summed."""
    unique, position = gen_ops.unique(indices)
    return gen_ops.unsorted_segment_sum(values, position, array_ops.shape(unique)[0]), unique


def _var_key(var):
    return var.op.graph, var.name.partition(":")[0]  # a variable with copies on several devices has one name


class Optimizer:
    """Base of optimizers. A subclass defines _apply_dense() and, for its kinds of variables, _resource_apply_dense(),
    _apply_sparse(), _resource_apply_sparse(); it may define _create_slots(), _prepare() and _finish()."""

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking, name):
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._slots = {}
        self._non_slot_dict = {}

    def get_name(self) -> Any:
        """The name that scopes and slots have."""
        return self._name

    def minimize(self, loss: Any, global_step: Any = None, var_list: Any = None, gate_gradients: Any = GATE_OP,
                 aggregation_method: Any = None, colocate_gradients_with_ops: bool = False, name: Optional[str] = None,
                 grad_loss: Any = None) -> Union[Operation, Tensor]:
        """compute_gradients() and apply_gradients()."""
        grads_and_vars = self.compute_gradients(loss, var_list=var_list, gate_gradients=gate_gradients,
                                                aggregation_method=aggregation_method,
                                                colocate_gradients_with_ops=colocate_gradients_with_ops, grad_loss=grad_loss)
        if all(g is None for g, _ in grads_and_vars):
            raise ValueError("No gradients provided for any variable, check your graph for ops that do not support gradients, "
                             f"between variables {[str(v) for _, v in grads_and_vars]} and loss {loss}.")
        return self.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def compute_gradients(self, loss: Any, var_list: Any = None, gate_gradients: Any = GATE_OP, aggregation_method: Any = None,
                          colocate_gradients_with_ops: bool = False, grad_loss: Any = None) -> list[Any]:
        """[(gradient or None, variable)]."""
        if callable(loss):
            loss = loss()
        if gate_gradients not in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
            raise ValueError("gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH. "
                             f"Not {gate_gradients}")
        self._assert_valid_dtypes([loss])
        if grad_loss is not None:
            self._assert_valid_dtypes([grad_loss])
        if context.several_replicas() is not None:
            from millstream.strategies import strategy
            loss = strategy.scaled_loss(loss)
        if var_list is None:
            graph = loss.graph
            var_list = (graph.get_collection(ops.GraphKeys.TRAINABLE_VARIABLES) +
                        graph.get_collection(ops.GraphKeys.TRAINABLE_RESOURCE_VARIABLES))
        else:
            var_list = _flatten(var_list)
        if not var_list:
            raise ValueError("No variables to optimize.")
        targets = [_get_processor(v).target() for v in var_list]
        grads = gradients.gradients(loss, targets, grad_ys=grad_loss, aggregation_method=aggregation_method,
                                    gate_gradients=gate_gradients == Optimizer.GATE_OP,
                                    colocate_gradients_with_ops=colocate_gradients_with_ops)
        if gate_gradients == Optimizer.GATE_GRAPH:
            grads = control_flow_ops.tuple(grads)
        self._assert_valid_dtypes([v for g, v in zip(grads, var_list) if g is not None and v.dtype != dtypes.resource])
        return list(zip(grads, var_list))

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: Optional[str] = None) -> Operation:
        """The train op: an update of each variable, then of the step."""
        grads_and_vars = tuple(grads_and_vars)
        if context.several_replicas() is not None:
            from millstream.strategies import apply_gradients
            return apply_gradients.in_replica(self, grads_and_vars, global_step, name)
        if not grads_and_vars:
            raise ValueError("No variables provided.")
        converted = [(self._as_gradient(g), v, _get_processor(v)) for g, v in grads_and_vars]
        var_list = [v for g, v, _ in converted if g is not None]
        if not var_list:
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v, _ in converted]}.")
        with ops.init_scope():
            self._create_slots(var_list)
        with ops.name_scope(name, self._name) as scope:
            self._prepare()
            updates = []
            for grad, var, processor in converted:
                if grad is None:
                    continue
                with ops.name_scope("update_" + var.op.name), ops.colocate_with(var.op):
                    updates.append(processor.update_op(self, grad))
            if global_step is None:
                train_op = self._finish(updates, scope)
            else:
                with ops.control_dependencies([self._finish(updates, "update")]), ops.colocate_with(global_step.op):
                    train_op = self._count(global_step, scope)
            if isinstance(train_op, ops.Tensor):
                train_op = train_op.op
            collection = ops.get_collection_ref(ops.GraphKeys.TRAIN_OP)
            if train_op not in collection:
                collection.append(train_op)
            return train_op

    @staticmethod
    def _count(global_step, scope):
        one = ops.convert_to_tensor(1, dtype=global_step.dtype.base_dtype, name="value")
        if resource_variable_ops.is_resource_variable(global_step):
            return gen_ops.assign_add_variable_op(global_step.handle, one, name=scope)
        return state_ops.assign_add(global_step, one, name=scope)

    @staticmethod
    def _as_gradient(g):
        if g is None:
            return None
        try:
            g = ops.convert_to_tensor_or_indexed_slices(g)
        except TypeError:
            raise TypeError(f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {g}") from None
        if not isinstance(g, (ops.Tensor, ops.IndexedSlices)):
            raise TypeError(f"Gradient must be a Tensor, IndexedSlices, or None: {g}")
        return g

    # Slots.

    def get_slot(self, var: Any, name: str) -> Any:
        """The variable that the optimizer keeps for `var` under this name, or None."""
        return self._slots.get(name, {}).get(_var_key(var))

    def get_slot_names(self) -> list[str]:
        """The names of the slots."""
        return sorted(self._slots)

    def variables(self) -> Any:
        """The optimizer's own variables in the current graph, by name."""
        graph = ops.get_default_graph()
        own = [v for v in self._non_slot_dict.values() if v.graph is graph]
        own += [v for slots in self._slots.values() for v in slots.values() if v.graph is graph]
        return sorted(own, key=lambda v: v.name)

    def _create_non_slot_variable(self, initial_value, name, colocate_with):
        key = (name, colocate_with.graph)
        found = self._non_slot_dict.get(key)
        if found is None:
            with ops.colocate_with(colocate_with.op):
                found = variables.Variable(initial_value, name=name, trainable=False,
                                           use_resource=resource_variable_ops.is_resource_variable(colocate_with))
            self._non_slot_dict[key] = found
        return found

    def _get_non_slot_variable(self, name, graph=None):
        return self._non_slot_dict.get((name, graph))

    def _non_slot_variables(self):
        return self._non_slot_dict.values()

    def _assert_valid_dtypes(self, tensors):
        valid = self._valid_dtypes()
        for t in tensors:
            dtype = t.dtype.base_dtype
            if dtype not in valid:
                raise ValueError(f"Invalid type {dtype!r} for {t.name}, expected: {[v for v in valid]}.")

    def _valid_dtypes(self):
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

    def _slot_dict(self, slot_name):
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var, val, slot_name, op_name):
        return self._slot(var, slot_name, lambda: slot_creator.create_slot(var, val, op_name))

    def _get_or_make_slot_with_initializer(self, var, initializer, shape, dtype, slot_name, op_name):
        return self._slot(var, slot_name, lambda: slot_creator.create_slot_with_initializer(
            var, initializer, shape, dtype, op_name))

    def _zeros_slot(self, var, slot_name, op_name):
        return self._slot(var, slot_name, lambda: slot_creator.create_zeros_slot(var, op_name))

    def _slot(self, var, slot_name, make):
        slots, key = self._slot_dict(slot_name), _var_key(var)
        if key not in slots:
            slots[key] = make()
        return slots[key]

    # What subclasses define.

    def _create_slots(self, var_list):
        pass

    def _prepare(self):
        pass

    def _finish(self, update_ops, name_scope):
        return control_flow_group.group(*update_ops, name=name_scope)

    def _apply_dense(self, grad, var):
        raise NotImplementedError

    def _resource_apply_dense(self, grad, handle):
        raise NotImplementedError

    def _apply_sparse(self, grad, var):
        raise NotImplementedError

    def _resource_apply_sparse(self, grad, handle, indices):
        raise NotImplementedError

    def _apply_sparse_duplicate_indices(self, grad, var):
        values, indices = _deduplicate_indexed_slices(grad.values, grad.indices)
        return self._apply_sparse(ops.IndexedSlices(values, indices, grad.dense_shape), var)

    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices):
        values, indices = _deduplicate_indexed_slices(grad, indices)
        return self._resource_apply_sparse(values, handle, indices)

    def _resource_scatter_add(self, x, i, v):
        with ops.control_dependencies([gen_ops.resource_scatter_add(x.handle, i, v)]):
            return x.value()

    @staticmethod
    def _call_if_callable(param):
        return param() if callable(param) else param


def _flatten(var_list):
    out = []
    for v in (var_list.values() if isinstance(var_list, dict) else var_list if isinstance(var_list, (list, tuple))
              else [var_list]):
        if hasattr(v, "_get_variable_list"):
            out.extend(v._get_variable_list())
        elif isinstance(v, (list, tuple, dict)):
            out.extend(_flatten(v))
        else:
            out.append(v)
    return out


def handles(*items):
    """The tensors that an update op takes for variables: refs or handles."""
    return [v.handle if resource_variable_ops.is_resource_variable(v) else v._ref() for v in items]


def cast_to(tensor, var):
    """A number of the optimizer in the variable's type."""
    dtype = var.dtype.base_dtype
    return tensor if tensor.dtype.base_dtype == dtype else gen_ops.cast(tensor, DstT=dtype)


__all__ = ["Optimizer", "cast_to", "handles", "variable_scope"]
