# SPDX-License-Identifier: Apache-2.0
"""Exponential moving averages."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.flow import control_flow_group
from millstream.ops.variables import init_ops, state_ops, variable_collections, variable_scope, variables
from millstream.training import slot_creator

if TYPE_CHECKING:
    from typing import Any

_VARIABLE_TYPES = ("Variable", "VariableV2", "VarHandleOp")


def assign_moving_average(variable, value, decay, zero_debias=True, name=None):
    """variable -= (1 - decay) * (variable - value); with zero_debias, corrected for a start at zero."""
    with ops.name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        with ops.colocate_with(variable.op):
            decay = ops.convert_to_tensor(1.0 - decay, name="decay")
            base = variable.dtype.base_dtype
            if decay.dtype.base_dtype != base:
                decay = gen_ops.cast(decay, DstT=base)
            if zero_debias:
                delta = _zero_debias(variable, value, decay)
            else:
                delta = (variable - value) * decay
            return state_ops.assign_sub(variable, delta, name=scope)


def _zero_debias(unbiased, value, decay):
    with variable_scope.variable_scope(unbiased.op.name, values=[unbiased, value, decay]):
        with ops.colocate_with(unbiased.op):
            dtype = unbiased.dtype.base_dtype
            biased = variable_scope.get_variable("biased", initializer=init_ops.Zeros(dtype), shape=unbiased.get_shape(),
                                                 dtype=dtype, trainable=False)
            local_step = variable_scope.get_variable("local_step", shape=[], dtype=dtype, initializer=init_ops.Zeros(),
                                                     trainable=False)
            update_biased = state_ops.assign_sub(biased, (biased - value) * decay)
            update_step = local_step.assign_add(1)
            correction = 1 - gen_ops.pow(1.0 - decay, update_step)
            return unbiased - (update_biased / correction)


class ExponentialMovingAverage:
    """Shadow variables that follow others. apply() gives the op that updates them."""

    def __init__(self, decay, num_updates=None, zero_debias=False, name="ExponentialMovingAverage"):
        self._decay, self._num_updates, self._zero_debias, self._name = decay, num_updates, zero_debias, name
        self._averages = {}  # id of a variable or tensor -> (it, its average)

    @property
    def name(self) -> Any:
        return self._name

    def _make(self, var):
        with ops.init_scope():
            if isinstance(var, variables.Variable):
                average = slot_creator.create_slot(var, var.initialized_value(), self._name, colocate_with_primary=True)
                ops.add_to_collection(ops.GraphKeys.MOVING_AVERAGE_VARIABLES, var)
                return average, False
            average = slot_creator.create_zeros_slot(var, self._name, colocate_with_primary=var.op.type in _VARIABLE_TYPES)
            return average, self._zero_debias

    def apply(self, var_list: Any = None) -> Any:
        if var_list is None:
            var_list = variable_collections.trainable_variables()
        corrected = set()
        for var in var_list:
            if var.dtype.base_dtype not in (dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64):
                raise TypeError(f"The variables must be half, float, or double: {var}")
            if id(var) in self._averages:
                continue
            average, debias = self._make(var)
            self._averages[id(var)] = (var, average)
            if debias:
                corrected.add(id(var))
        with ops.name_scope(self._name) as scope:
            decay = ops.convert_to_tensor(self._decay, dtype=dtypes.float32, name="decay")
            if self._num_updates is not None:
                updates = gen_ops.cast(self._num_updates, DstT=dtypes.float32, name="num_updates")
                decay = gen_ops.minimum(decay, (1.0 + updates) / (10.0 + updates))
            changes = [assign_moving_average(self._averages[id(v)][1], v, decay, zero_debias=id(v) in corrected)
                       for v in var_list]
            return control_flow_group.group(*changes, name=scope)

    def average(self, var):
        found = self._averages.get(id(var))
        return None if found is None else found[1]

    def average_name(self, var: Any) -> str:
        """The name that the average has, or would have."""
        found = self._averages.get(id(var))
        if found is not None:
            return found[1].op.name
        return ops.get_default_graph().unique_name(var.op.name + "/" + self._name, mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Any = None) -> Any:
        """For a Saver: variables by the names under which a checkpoint has their averages."""
        if moving_avg_variables is None:
            moving_avg_variables = variable_collections.trainable_variables() + \
                variable_collections.moving_average_variables()
        wanted = {id(v): v for v in moving_avg_variables}
        names = {self.average_name(v): v for v in wanted.values()}
        taken = {v.op.name for v in wanted.values()}
        for v in variable_collections.global_variables():
            if v.op.name not in taken and v.op.name not in names:
                names[v.op.name] = v
        return names
