# SPDX-License-Identifier: Apache-2.0
"""The variables of a graph: lists of them, their initializers, and checks that they are initialized."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.variables import state_ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.operation import Operation
    from millstream.framework.tensor import Tensor
    from millstream.ops.variables.variables import Variable


def global_variables(scope: Optional[str] = None) -> list[Variable]:
    """Returns the variables of the default graph that all tasks share; only those whose names match `scope` if it is given."""
    return ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope: Optional[str] = None) -> list[Variable]:
    """Returns the variables that belong to one task, such as those of metrics; they are not saved in checkpoints."""
    return ops.get_collection(ops.GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: Optional[str] = None) -> list[Variable]:
    """Returns the variables that the model needs for inference, as layers of `tf.contrib` register them."""
    return ops.get_collection(ops.GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope: Optional[str] = None) -> list[Variable]:
    """Returns the variables that optimizers update by default; only those whose names match `scope` if it is given."""
    return ops.get_collection(ops.GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: Optional[str] = None) -> list[Variable]:
    """Returns the variables of which `tf.train.ExponentialMovingAverage` keeps an average."""
    return ops.get_collection(ops.GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def all_variables() -> list[Variable]:
    """The old name of `tf.global_variables`."""
    return global_variables()


def _all_saveable_objects(scope=None):
    return (ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES, scope) +
            ops.get_collection(ops.GraphKeys.SAVEABLE_OBJECTS, scope))


def no_op_group(operations, name):
    """One node that waits for all of these, with one more for each device, as tf.group() has it."""
    from millstream.ops.flow import control_flow_group
    return control_flow_group.group(*operations, name=name)


def variables_initializer(var_list: Any, name: str = "init") -> Operation:
    """An operation that initializes all of `var_list`."""
    if var_list:
        return no_op_group([v.initializer for v in var_list], name)
    return gen_ops.no_op(name=name)


def initialize_variables(var_list: Any, name: str = "init") -> Any:
    return variables_initializer(var_list, name)


def global_variables_initializer() -> Operation:
    """An operation that initializes all global variables of the default graph."""
    return variables_initializer(global_variables())


def initialize_all_variables() -> Operation:
    """The old name of `tf.global_variables_initializer`. It returns the same operation."""
    return global_variables_initializer()


def local_variables_initializer() -> Operation:
    """An operation that initializes all local variables of the default graph."""
    return variables_initializer(local_variables())


def initialize_local_variables() -> Any:
    return local_variables_initializer()


def is_variable_initialized(variable: Any) -> Any:
    """Whether a variable has a value, as a tensor."""
    return state_ops.is_variable_initialized(variable)


def assert_variables_initialized(var_list: Any = None) -> Any:
    """Reads them all; running it fails if one is not initialized."""
    if var_list is None:
        var_list = global_variables() + local_variables()
    if not var_list:
        var_list = [op.outputs[0] for op in ops.get_default_graph().get_operations()
                    if op.type in ("Variable", "VariableV2", "AutoReloadVariable")]
    if not var_list:
        return None
    ranks = []
    for var in var_list:
        with ops.colocate_with(var.op):
            ranks.append(gen_ops.rank(var))
    return ranks[0] if len(ranks) == 1 else gen_ops.pack(ranks)


def report_uninitialized_variables(var_list: Any = None, name: str = "report_uninitialized_variables") -> Tensor:
    """A vector of the names of those that are not initialized."""
    if var_list is None:
        var_list = global_variables() + local_variables()
        if not var_list:
            var_list = [op.outputs[0] for op in ops.get_default_graph().get_operations()
                        if op.type in ("Variable", "VariableV2", "AutoReloadVariable")]
    with ops.name_scope(name):
        initialized = [state_ops.is_variable_initialized(v) for v in var_list]
        with ops.device("/cpu:0"):
            if not var_list:
                from millstream.framework import constant_op
                return constant_op.constant([], dtype=dtypes.string)
            mask = gen_ops.logical_not(gen_ops.pack(initialized, name="stack"))
            names = ops.convert_to_tensor([s.op.name for s in var_list], dtype=dtypes.string)
        with ops.device("/cpu:0"), ops.name_scope("boolean_mask"):
            indices = gen_ops.squeeze(gen_ops.where(mask), squeeze_dims=[1])
            report = gen_ops.gather_v2(names, indices, 0)
    setattr(report, "_reported_variables", {s.op.name for s in var_list})  # noqa: B010 - for training.live_variables
    return report
