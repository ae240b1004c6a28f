# SPDX-License-Identifier: Apache-2.0
"""Learning rates that change with the step."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import TensorLike


def _start(learning_rate, global_step, name):
    if global_step is None:
        raise ValueError(f"global_step is required for {name}.")
    rate = ops.convert_to_tensor(learning_rate, name="learning_rate")
    return rate, rate.dtype.base_dtype


def _as(value, dtype, name=None):
    value = ops.convert_to_tensor(value, name=name) if isinstance(value, ops.Tensor) or hasattr(value, "_as_graph_element") \
        else ops.convert_to_tensor(value, dtype=dtype, name=name)
    return value if value.dtype.base_dtype == dtype else gen_ops.cast(value, DstT=dtype)


def exponential_decay(learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False,
                      name: Optional[str] = None) -> Tensor:
    """Returns learning_rate * decay_rate ** (global_step / decay_steps).

    With `staircase` the exponent is rounded down to whole steps.
    """
    with ops.name_scope(name, "ExponentialDecay", [learning_rate, global_step, decay_steps, decay_rate]) as scope:
        rate, dtype = _start(learning_rate, global_step, "exponential_decay")
        p = _as(global_step, dtype) / _as(decay_steps, dtype)
        if staircase:
            p = gen_ops.floor(p)
        return gen_ops.mul(rate, gen_ops.pow(_as(decay_rate, dtype), p), name=scope)


def natural_exp_decay(learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False,
                      name: Optional[str] = None) -> Tensor:
    """learning_rate * exp(-decay_rate * global_step / decay_steps)."""
    with ops.name_scope(name, "NaturalExpDecay", [learning_rate, global_step, decay_rate]) as scope:
        rate, dtype = _start(learning_rate, global_step, "natural_exp_decay")
        p = _as(global_step, dtype) / _as(decay_steps, dtype)
        if staircase:
            p = gen_ops.floor(p)
        return gen_ops.mul(rate, gen_ops.exp(gen_ops.neg(_as(decay_rate, dtype)) * p), name=scope)


def inverse_time_decay(learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False,
                       name: Optional[str] = None) -> Tensor:
    """learning_rate / (1 + decay_rate * global_step / decay_steps)."""
    with ops.name_scope(name, "InverseTimeDecay", [learning_rate, global_step, decay_rate]) as scope:
        rate, dtype = _start(learning_rate, global_step, "inverse_time_decay")
        p = _as(global_step, dtype) / _as(decay_steps, dtype)
        if staircase:
            p = gen_ops.floor(p)
        return gen_ops.real_div(rate, _as(1, dtype) + _as(decay_rate, dtype) * p, name=scope)


def piecewise_constant(x: TensorLike, boundaries: Any, values: Any, name: Optional[str] = None) -> Tensor:
    """values[0] up to and with boundaries[0], then values[1], ..."""
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    with ops.name_scope(name, "PiecewiseConstant", [x, boundaries, values, name]) as scope:
        x = ops.convert_to_tensor(x)
        limits = [_as(b, x.dtype.base_dtype) for b in boundaries]
        levels = [ops.convert_to_tensor(v) for v in values]
        for level in levels[1:]:
            if level.dtype.base_dtype != levels[0].dtype.base_dtype:
                raise ValueError("Values must have elements all with the same dtype "
                                 f"({levels[0].dtype.base_dtype.name} vs {level.dtype.base_dtype.name}).")
        result = levels[-1]
        for limit, level in reversed(list(zip(limits, levels))):
            result = gen_ops.select(gen_ops.less_equal(x, limit), level, result)
        return gen_ops.identity(result, name=scope)


piecewise_constant_decay = piecewise_constant


def polynomial_decay(learning_rate: Any, global_step: Any, decay_steps: Any, end_learning_rate: Any = 0.0001, power: Any = 1.0,
                     cycle: bool = False, name: Optional[str] = None) -> Tensor:
    """From `learning_rate` to `end_learning_rate` within `decay_steps`, then constant (or again, with `cycle`)."""
    with ops.name_scope(name, "PolynomialDecay",
                        [learning_rate, global_step, decay_steps, end_learning_rate, power]) as scope:
        rate, dtype = _start(learning_rate, global_step, "polynomial_decay")
        end, exponent = _as(end_learning_rate, dtype), _as(power, dtype)
        step, steps = _as(global_step, dtype), _as(decay_steps, dtype)
        if cycle:
            turns = gen_ops.select(gen_ops.equal(step, _as(0, dtype)), _as(1.0, dtype), gen_ops.ceil(step / steps))
            steps = gen_ops.mul(steps, turns)
        else:
            step = gen_ops.minimum(step, steps)
        p = gen_ops.div(step, steps)
        return gen_ops.add_v2(gen_ops.mul(rate - end, gen_ops.pow(1 - p, exponent)), end, name=scope)


def _cosine(fraction, dtype):
    return 0.5 * (1.0 + gen_ops.cos(_as(math.pi, dtype) * fraction))


def cosine_decay(learning_rate: Any, global_step: Any, decay_steps: Any, alpha: Any = 0.0,
                 name: Optional[str] = None) -> Tensor:
    """From `learning_rate` to alpha * learning_rate along a cosine within `decay_steps`."""
    with ops.name_scope(name, "CosineDecay", [learning_rate, global_step]):
        rate, dtype = _start(learning_rate, global_step, "cosine decay")
        steps = _as(decay_steps, dtype)
        done = gen_ops.minimum(_as(global_step, dtype), steps) / steps
        return gen_ops.mul(rate, (1 - alpha) * _cosine(done, dtype) + alpha)


def cosine_decay_restarts(learning_rate: Any, global_step: Any, first_decay_steps: Any, t_mul: Any = 2.0, m_mul: Any = 1.0,
                          alpha: Any = 0.0, name: Optional[str] = None) -> Tensor:
    """Cosine decay that begins anew after periods of growing length."""
    with ops.name_scope(name, "SGDRDecay", [learning_rate, global_step]) as scope:
        rate, dtype = _start(learning_rate, global_step, "cosine decay restarts")
        done = _as(global_step, dtype) / _as(first_decay_steps, dtype)
        t = _as(t_mul, dtype)
        if float(t_mul) == 1.0:
            turn = gen_ops.floor(done)
            fraction = done - turn
        else:
            turn = gen_ops.floor(gen_ops.log(1.0 - done * (1.0 - t)) / gen_ops.log(t))
            before = (1.0 - gen_ops.pow(t, turn)) / (1.0 - t)
            fraction = (done - before) / gen_ops.pow(t, turn)
        factor = gen_ops.pow(_as(m_mul, dtype), turn)
        return gen_ops.mul(rate, (1 - alpha) * factor * _cosine(fraction, dtype) + alpha, name=scope)


def linear_cosine_decay(learning_rate: Any, global_step: Any, decay_steps: Any, num_periods: Any = 0.5, alpha: Any = 0.0,
                        beta: Any = 0.001, name: Optional[str] = None) -> Tensor:
    """A linear decay times a cosine decay."""
    with ops.name_scope(name, "LinearCosineDecay", [learning_rate, global_step]) as scope:
        rate, dtype = _start(learning_rate, global_step, "linear cosine decay")
        steps = _as(decay_steps, dtype)
        step = gen_ops.minimum(_as(global_step, dtype), steps)
        linear = (steps - step) / steps
        cosine = 0.5 * (1.0 + gen_ops.cos(_as(math.pi * 2.0 * num_periods, dtype) * (step / steps)))
        return gen_ops.mul(rate, (alpha + linear) * cosine + beta, name=scope)


def noisy_linear_cosine_decay(learning_rate: Any, global_step: Any, decay_steps: Any, initial_variance: Any = 1.0,
                              variance_decay: Any = 0.55, num_periods: Any = 0.5, alpha: Any = 0.0, beta: Any = 0.001,
                              name: Optional[str] = None) -> Any:
    """A linear decay with noise times a cosine decay."""
    with ops.name_scope(name, "NoisyLinearCosineDecay", [learning_rate, global_step]) as scope:
        rate, dtype = _start(learning_rate, global_step, "noisy linear cosine decay")
        from millstream.ops.variables import init_ops
        steps = _as(decay_steps, dtype)
        step = gen_ops.minimum(_as(global_step, dtype), steps)
        variance = _as(initial_variance, dtype) / gen_ops.pow(1.0 + step, _as(variance_decay, dtype))
        linear = (steps - step) / steps + init_ops.random_normal([], 0.0, 1.0, dtype, None) * gen_ops.sqrt(variance)
        cosine = 0.5 * (1.0 + gen_ops.cos(_as(math.pi * 2.0 * num_periods, dtype) * (step / steps)))
        return gen_ops.mul(rate, (alpha + linear) * cosine + beta, name=scope)


def linear_warmup(learning_rate: Any, global_step: Any, warmup_steps: Any, scale: Any = 1.0,
                  name: Optional[str] = None) -> Tensor:
    """For large batches: the rate grows from `learning_rate` to `scale * learning_rate` in `warmup_steps`, then stays.
    With `scale` = number of workers this is the linear scaling rule."""
    with ops.name_scope(name, "LinearWarmup", [learning_rate, global_step]) as scope:
        rate, dtype = _start(learning_rate, global_step, "linear_warmup")
        steps = _as(max(warmup_steps, 1), dtype)
        done = gen_ops.minimum(_as(global_step, dtype), steps) / steps
        return gen_ops.mul(rate, 1.0 + done * (_as(scale, dtype) - 1.0), name=scope)
