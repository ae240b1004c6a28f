# SPDX-License-Identifier: Apache-2.0
"""Loss scales: numbers that keep the gradients of a step in the range of 16-bit floats."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.flow import control_flow_group, control_flow_ops
from millstream.ops.math import reduce_ops
from millstream.ops.variables import variables

if TYPE_CHECKING:
    from typing import Any


class LossScale:
    """The base: calling it gives the scale as a float tensor, update() changes it after the gradients of a step."""

    def __init__(self) -> None:
        self._weights: dict[Any, Any] = {}  # by name and graph

    def __call__(self) -> Any:
        raise NotImplementedError

    def update(self, grads: Any) -> Any:
        """(an op that changes the scale, whether the gradients of this step should be applied)."""
        raise NotImplementedError

    def get_config(self) -> Any:
        """The arguments to make it again."""
        raise NotImplementedError

    @classmethod
    def from_config(cls, config: Any) -> Any:
        return cls(**config)

    def _add_weight(self, name: str, initial_value: Any, dtype: Any = None) -> Any:
        """A variable of the scale, in the current graph."""
        key = name, ops.get_default_graph()
        if key not in self._weights:
            with ops.init_scope():
                self._weights[key] = variables.Variable(initial_value, name=name, dtype=dtype, trainable=False, use_resource=True)
        return self._weights[key]

    def variables(self) -> list[Any]:
        """What changes, in the current graph."""
        graph = ops.get_default_graph()
        return sorted((v for (_, of), v in self._weights.items() if of is graph), key=lambda v: v.name)


class FixedLossScale(LossScale):
    """One number for all steps."""

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        if isinstance(loss_scale_value, bool) or not isinstance(loss_scale_value, (int, float)):
            raise ValueError("loss_scale_value must be a Python int or float.")
        if loss_scale_value < 1:
            raise ValueError("loss_scale_value must be at least 1.")
        self._loss_scale_value = float(loss_scale_value)

    def __call__(self) -> Any:
        return ops.convert_to_tensor(self._loss_scale_value, dtype=dtypes.float32)

    def update(self, grads: Any) -> Any:
        return gen_ops.no_op(), True

    def __repr__(self) -> str:
        return f"FixedLossScale({self._loss_scale_value})"

    def get_config(self) -> dict[str, Any]:
        return {"loss_scale_value": self._loss_scale_value}


def _all_finite(grads):
    values = [g.values if isinstance(g, ops.IndexedSlices) else g for g in grads if g is not None]
    return reduce_ops.reduce_all(gen_ops.pack([reduce_ops.reduce_all(gen_ops.is_finite(v)) for v in values]))


class DynamicLossScale(LossScale):
    """Grows by `multiplier` after `increment_period` steps with finite gradients, and shrinks by it (not below 1) after a step without; such a step
    changes no variable."""

    def __init__(self, initial_loss_scale: float = 2 ** 15, increment_period: int = 2000, multiplier: float = 2.) -> None:
        super().__init__()
        self._initial_loss_scale = float(initial_loss_scale)
        self._increment_period = int(increment_period)
        self._multiplier = float(multiplier)

    @property
    def initial_loss_scale(self) -> float:
        return self._initial_loss_scale

    @property
    def increment_period(self) -> int:
        return self._increment_period

    @property
    def multiplier(self) -> float:
        return self._multiplier

    @property
    def _current_loss_scale(self):
        return self._add_weight("current_loss_scale", self._initial_loss_scale, dtypes.float32)

    @property
    def _num_good_steps(self):
        return self._add_weight("good_steps", 0, dtypes.int64)

    def __call__(self) -> Any:
        scale = self._current_loss_scale
        self._num_good_steps  # noqa: B018  made in the same place
        return scale.value()

    def update(self, grads: Any) -> Any:
        if not any(g is not None for g in grads):
            raise ValueError("DynamicLossScale.update() needs gradients; all are None")
        scale, good_steps = self._current_loss_scale, self._num_good_steps
        is_finite = _all_finite(grads)

        def grow():
            larger = scale.value() * self._multiplier
            change = control_flow_ops.cond(gen_ops.is_finite(larger), lambda: scale.assign(larger, read_value=False), gen_ops.no_op)
            return control_flow_group.group(change, good_steps.assign(0, read_value=False))

        def after_finite():
            enough = good_steps.value() + 1 >= self._increment_period
            return control_flow_ops.cond(enough, grow, lambda: good_steps.assign_add(1, read_value=False)).op

        def after_overflow():
            smaller = gen_ops.maximum(scale.value() / self._multiplier, 1.0)
            return control_flow_group.group(good_steps.assign(0, read_value=False), scale.assign(smaller, read_value=False))

        return control_flow_ops.cond(is_finite, after_finite, after_overflow), is_finite

    def __repr__(self) -> str:
        return (f"DynamicLossScale(initial_loss_scale={self._initial_loss_scale}, increment_period={self._increment_period}, "
                f"multiplier={self._multiplier})")

    def get_config(self) -> dict[str, Any]:
        return {"initial_loss_scale": self.initial_loss_scale, "increment_period": self.increment_period, "multiplier": self.multiplier}


def get(identifier: Any) -> Any:
    """A LossScale for "dynamic", a number, or a LossScale."""
    if isinstance(identifier, LossScale):
        return identifier
    if identifier is None:
        return None
    if identifier == "dynamic":
        return DynamicLossScale()
    if isinstance(identifier, (int, float)):
        return FixedLossScale(identifier)
    raise ValueError(f"Could not interpret loss scale identifier: {identifier}")
