# SPDX-License-Identifier: Apache-2.0
"""Initial values that are computed from other variables wait for those variables' own initialization."""
from millstream.framework.tensor import Tensor

_VARIABLE_OPS = ("Variable", "VariableV2", "AutoReloadVariable", "VarHandleOp", "ReadVariableOp")
_LOOP_OPS = ("Enter", "RefEnter", "Exit", "RefExit", "NextIteration", "RefNextIteration", "LoopCond", "Switch", "RefSwitch",
             "Merge", "RefMerge")


def _depends_on_variable(tensor):
    seen, todo = set(), [tensor.op]
    found = False
    while todo:
        op = todo.pop()
        if op in seen:
            continue
        seen.add(op)
        if op.type in _LOOP_OPS:
            return False  # nodes in loops and branches cannot be copied one by one
        found = found or op.type in _VARIABLE_OPS
        todo.extend(t.op for t in op.inputs)
    return found


def guarded_initial_value(name, value):
    """`value`, with each variable in its ancestry replaced by `initialized_value()`."""
    if not isinstance(value, Tensor) or not _depends_on_variable(value):
        return value
    return _safe(name, value, {})


def _variable_of(op):
    from millstream.ops.variables import variable_collections
    for variable in variable_collections.global_variables() + variable_collections.local_variables():
        if variable.op is op or getattr(variable, "_variable", None) is not None and variable._variable.op is op:
            return variable
    return None


def _safe(name, tensor, done):
    key = tensor.name
    if key in done:
        return done[key]
    op = tensor.op
    if op.type in ("IsVariableInitialized", "VarIsInitializedOp", "ReadVariableOp"):
        result = tensor
        if op.type == "ReadVariableOp":
            variable = _variable_of(op.inputs[0].op)
            result = variable.initialized_value() if variable is not None else tensor
    elif op.type in _VARIABLE_OPS:
        variable = _variable_of(op)
        result = variable.initialized_value() if variable is not None else tensor
    else:
        inputs = [_safe(name, t, done) for t in op.inputs]
        if any(new is not old for new, old in zip(inputs, op.inputs)):
            new_op = op.graph.create_op(op.type, inputs, name=f"{op.name.split('/')[-1]}_{name.replace('/', '_')}",
                                        attrs={k: op.graph._core.attr(op._id, k)[1] for k in op.node_def.attr if k != "_class"})
            result = new_op.outputs[op.outputs.index(tensor)]
        else:
            result = tensor
    done[key] = result
    return result
