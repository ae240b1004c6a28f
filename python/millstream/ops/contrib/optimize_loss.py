# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.layers.optimize_loss."""
from __future__ import annotations

import numbers
from typing import TYPE_CHECKING

from millstream.framework import ops
from millstream.ops.array import array_ops
from millstream.ops.variables import variable_scope as vs

if TYPE_CHECKING:
    from typing import Any, Optional

OPTIMIZER_CLS_NAMES = {"Adagrad": "AdagradOptimizer", "Adam": "AdamOptimizer", "Ftrl": "FtrlOptimizer",
                       "Momentum": "MomentumOptimizer", "RMSProp": "RMSPropOptimizer", "SGD": "GradientDescentOptimizer"}


OPTIMIZER_SUMMARIES = ["learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm"]
_DEFAULT_SUMMARIES = ("loss", "learning_rate", "global_gradient_norm")


def _checked(summaries):
    for name in summaries:
        if name not in OPTIMIZER_SUMMARIES:
            raise ValueError(f"Summaries should be one of [{', '.join(OPTIMIZER_SUMMARIES)}], you provided {name}.")
    return summaries


def _with_noise(gradient, scale):
    """A gradient plus normal noise, cut off at two standard deviations."""
    from millstream.ops.random import random_ops
    if gradient is None:
        return None
    values = getattr(gradient, "values", gradient)
    noise = random_ops.truncated_normal(array_ops.shape(values), dtype=values.dtype.base_dtype) * scale
    if values is gradient:
        return gradient + noise
    return ops.IndexedSlices(values + noise, gradient.indices, gradient.dense_shape)


def _summarize_norm(name, grads, summaries):
    import millstream as tf
    if "gradient_norm" in summaries or "global_gradient_norm" in summaries:
        tf.summary.scalar(f"global_norm/{name}", tf.global_norm([g for g, _ in grads if g is not None]))


def _summarize_gradients(grads, summaries):
    import millstream as tf
    for gradient, variable in grads:
        if gradient is None:
            continue
        values, name = getattr(gradient, "values", gradient), variable.name.replace(":", "_")
        if "gradients" in summaries:
            tf.summary.histogram(f"gradients/{name}", values)
        if "gradient_norm" in summaries:
            tf.summary.scalar(f"gradient_norm/{name}", tf.global_norm([values]))


def optimize_loss(loss: Any, global_step: Any, learning_rate: Any, optimizer: Any, gradient_noise_scale: Any = None,
                  gradient_multipliers: Any = None, clip_gradients: Any = None, learning_rate_decay_fn: Any = None,
                  update_ops: Any = None, variables: Any = None, name: Optional[str] = None, summaries: Any = None,
                  colocate_gradients_with_ops: bool = False, increment_global_step: bool = True) -> Any:
    """An operation that updates variables and returns the loss."""
    import millstream as tf
    from millstream.ops.flow import control_flow_ops
    from millstream.ops.math import clip_ops
    loss = ops.convert_to_tensor(loss)
    summaries = _checked(list(_DEFAULT_SUMMARIES if summaries is None else summaries))
    global_step = tf.train.get_global_step() if global_step is None else global_step
    with vs.variable_scope(name, "OptimizeLoss", [loss, global_step]):
        updates = set(ops.get_collection(ops.GraphKeys.UPDATE_OPS) if update_ops is None else update_ops)
        if updates:
            loss = control_flow_ops.with_dependencies(list(updates), loss)
        rate = learning_rate
        if isinstance(rate, numbers.Real):
            rate = vs.get_variable("learning_rate", [], trainable=False, initializer=tf.constant_initializer(learning_rate))
        if learning_rate_decay_fn is not None:
            rate = learning_rate_decay_fn(rate, global_step)
        if "learning_rate" in summaries:
            tf.summary.scalar("learning_rate", rate)
        opt = optimizer
        if isinstance(optimizer, str):
            if optimizer not in OPTIMIZER_CLS_NAMES:
                raise ValueError(f"Optimizer name should be one of [{', '.join(OPTIMIZER_CLS_NAMES)}], you provided "
                                 f"{optimizer}.")
            kind = getattr(tf.train, OPTIMIZER_CLS_NAMES[optimizer])
            opt = kind(rate, 0.9) if optimizer == "Momentum" else kind(learning_rate=rate)
        elif isinstance(optimizer, type):
            opt = optimizer(learning_rate=rate)
        elif callable(optimizer) and not hasattr(optimizer, "compute_gradients"):
            opt = optimizer(rate)
        variables = tf.trainable_variables() if variables is None else variables
        grads = opt.compute_gradients(loss, variables, colocate_gradients_with_ops=colocate_gradients_with_ops)
        if gradient_noise_scale is not None:
            grads = [(_with_noise(g, gradient_noise_scale), v) for g, v in grads]
        if gradient_multipliers is not None:
            grads = [(g if g is None or v not in gradient_multipliers else g * gradient_multipliers[v], v) for g, v in grads]
        _summarize_norm("gradient_norm", grads, summaries)
        if isinstance(clip_gradients, numbers.Real):
            clipped, _ = clip_ops.clip_by_global_norm([g for g, _ in grads], clip_gradients)
            grads = list(zip(clipped, [v for _, v in grads]))
        elif callable(clip_gradients):
            grads = clip_gradients(grads)
        if "loss" in summaries:
            tf.summary.scalar("loss", loss)
        _summarize_gradients(grads, summaries)
        if clip_gradients is not None:
            _summarize_norm("clipped_gradient_norm", grads, summaries)
        step = opt.apply_gradients(grads, global_step=global_step if increment_global_step else None, name="train")
        return control_flow_ops.with_dependencies([step], loss)
