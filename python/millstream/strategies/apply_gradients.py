# SPDX-License-Identifier: Apache-2.0
"""How an optimizer of tf.train applies gradients when there are several replicas."""
from __future__ import annotations

from millstream.framework import ops
from millstream.ops.flow import control_flow_ops
from millstream.strategies import context
from millstream.strategies.values import MirroredVariable, ReduceOp, select


def in_replica(optimizer, grads_and_vars, global_step, name, guard=None):
    """What Optimizer.apply_gradients() does in one of several replicas: the gradients of all are summed and applied once. `guard(sums, apply)`, for
    all replicas at once, calls apply(), perhaps on a branch, and returns the op of the whole."""
    replica = context.current()[1]
    if replica is None:
        raise RuntimeError("apply_gradients() cannot be called in cross-replica context. Call it in a function that strategy.run() runs.")
    grads_and_vars = [(optimizer._as_gradient(g), v) for g, v in grads_and_vars]
    if not grads_and_vars:
        raise ValueError("No variables provided.")
    present = [(g, v) for g, v in grads_and_vars if g is not None]
    if not present:
        raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v in grads_and_vars]}.")

    def apply(strategy, gradients, variables):  # of the first replica, whose optimizer keeps the slots
        return _apply(strategy, gradients, variables, optimizer, global_step, name, guard)
    return replica.merge_call(apply, args=([g for g, _ in present], [v for _, v in present]))


def _apply(strategy, gradients, variables, optimizer, global_step, name, guard):
    reduced = strategy.extended.batch_reduce_to(ReduceOp.SUM, list(zip(gradients, variables)))
    with ops.init_scope():
        optimizer._create_slots(variables)
    if guard is None:
        return _apply_sums(strategy, reduced, variables, optimizer, global_step, name)
    return guard([select(0, r) for r in reduced], lambda: _apply_sums(strategy, reduced, variables, optimizer, global_step, name))


def _apply_sums(strategy, reduced, variables, optimizer, global_step, name):
    with ops.name_scope(name, optimizer._name) as scope:
        optimizer._prepare()
        copies = max(len(v.values) if isinstance(v, MirroredVariable) else 1 for v in variables)
        done = [_update_copy(strategy, optimizer, index, list(zip(reduced, variables))) for index in range(copies)]
        with ops.control_dependencies(done):
            if global_step is None:
                train_op = control_flow_ops.no_op(name=scope)
            else:
                train_op = _count(global_step, scope)
    collection = ops.get_collection_ref(ops.GraphKeys.TRAIN_OP)
    if train_op not in collection:
        collection.append(train_op)
    return train_op


def _update_copy(strategy, optimizer, index, grads_and_vars):
    """Updates of the copies number `index` of all variables, and of what the optimizer keeps."""
    from millstream.training import optimizer as optimizer_lib
    updates = []
    with context.entered(strategy, None, index):
        for grad, var in grads_and_vars:
            several = isinstance(var, MirroredVariable)
            if index and not several:
                continue
            with ops.name_scope("update_" + var.op.name), ops.device(var.values[index].device if several else var.device):
                updates.append(optimizer_lib._get_processor(var).update_op(optimizer, select(index, grad)))
        with ops.device(strategy.extended.parameter_devices[min(index, len(strategy.extended.parameter_devices) - 1)]):
            return optimizer._finish(updates, f"update_{index}")


def _count(global_step, scope):
    from millstream.ops.variables import resource_variable_ops, state_ops
    one = ops.convert_to_tensor(1, dtype=global_step.dtype.base_dtype)
    if isinstance(global_step, MirroredVariable):
        return control_flow_ops.group(global_step.assign_add(one, read_value=False), name=scope)
    with ops.colocate_with(global_step.op):
        if resource_variable_ops.is_resource_variable(global_step):
            return control_flow_ops.group(global_step.assign_add(one, read_value=False), name=scope)
        return control_flow_ops.group(state_ops.assign_add(global_step, one), name=scope)
