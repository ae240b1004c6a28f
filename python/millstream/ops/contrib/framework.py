# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.framework and regularizers of tf.contrib.layers."""
import numbers

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.variables import variable_scope as vs
from millstream.ops.contrib.arg_scope import add_arg_scope


def _scale(scale):
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real):
        if scale < 0.0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale}.")
    return scale


def l1_regularizer(scale, scope=None):
    if _scale(scale) == 0.0:
        return lambda _: None

    def l1(weights, name=None):
        with ops.name_scope(scope or name, "l1_regularizer", [weights]) as name:
            factor = ops.convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return gen_ops.mul(factor, reduce_ops.reduce_sum(math_ops.abs(weights)), name=name)
    return l1


def l2_regularizer(scale, scope=None):
    if _scale(scale) == 0.0:
        return lambda _: None

    def l2(weights):
        with ops.name_scope(scope, "l2_regularizer", [weights]) as name:
            factor = ops.convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return gen_ops.mul(factor, gen_ops.l2_loss(weights), name=name)
    return l2


def l1_l2_regularizer(scale_l1=1.0, scale_l2=1.0, scope=None):
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope or "l1_l2_regularizer")


def sum_regularizer(regularizer_list, scope=None):
    regularizers = [r for r in regularizer_list if r is not None]
    if not regularizers:
        return None

    def total(weights):
        with ops.name_scope(scope, "sum_regularizer", [weights]) as name:
            values = [v for v in (r(weights) for r in regularizers) if v is not None]
            return math_ops.add_n(values, name=name) if values else None
    return total


def apply_regularization(regularizer, weights_list=None):
    """The sum of the regularizer over weights, added to the collection of regularization losses."""
    weights_list = ops.get_collection(ops.GraphKeys.WEIGHTS) if not weights_list else weights_list
    if not weights_list:
        raise ValueError("No weights to regularize.")
    with ops.name_scope("get_regularization_penalty", values=weights_list) as scope:
        penalties = [regularizer(w) for w in weights_list]
        penalties = [p if p is not None else ops.convert_to_tensor(0.0) for p in penalties]
        for p in penalties:
            if p.shape.rank != 0:
                raise ValueError(f"regularizer must return a scalar Tensor instead of a Tensor with rank {p.shape.rank}.")
        result = math_ops.add_n(penalties, name=scope)
        ops.add_to_collection(ops.GraphKeys.REGULARIZATION_LOSSES, result)
        return result


@add_arg_scope
def variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True, collections=None,
             caching_device=None, device=None, partitioner=None, custom_getter=None, use_resource=None):
    collections = list(collections) if collections is not None else [ops.GraphKeys.GLOBAL_VARIABLES]
    with ops.device(device or ""):
        return vs.get_variable(name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
                               trainable=trainable, collections=list(dict.fromkeys(collections)),
                               caching_device=caching_device,
                               partitioner=partitioner, custom_getter=custom_getter, use_resource=use_resource)


@add_arg_scope
def model_variable(name, shape=None, dtype=dtypes.float32, initializer=None, regularizer=None, trainable=True,
                   collections=None,
                   caching_device=None, device=None, partitioner=None, custom_getter=None, use_resource=None):
    collections = list(collections or []) + [ops.GraphKeys.GLOBAL_VARIABLES, ops.GraphKeys.MODEL_VARIABLES]
    return variable(name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=trainable,
                    collections=collections, caching_device=caching_device, device=device, partitioner=partitioner,
                    custom_getter=custom_getter, use_resource=use_resource)


def local_variable(initial_value, validate_shape=True, name="local_variable", use_resource=None):
    from millstream.ops.variables import variables
    return variables.Variable(initial_value, trainable=False, collections=[ops.GraphKeys.LOCAL_VARIABLES],
                              validate_shape=validate_shape, name=name)


def get_variables(scope=None, suffix=None, collection=ops.GraphKeys.GLOBAL_VARIABLES):
    if isinstance(scope, vs.VariableScope):
        scope = scope.name
    if suffix is not None:
        scope = (scope or "") + ".*" + (suffix if ":" in suffix else suffix + ":")
    return ops.get_collection(collection, scope)


def get_model_variables(scope=None, suffix=None):
    return get_variables(scope, suffix, ops.GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope=None, suffix=None):
    return get_variables(scope, suffix, ops.GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope=None, suffix=None):
    return get_variables(scope, suffix, ops.GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_suffix(suffix, scope=None):
    return get_variables(scope=scope, suffix=suffix)


def get_variables_by_name(given_name, scope=None):
    return get_variables(scope=scope, suffix="/" + given_name)


def get_variables_to_restore(include=None, exclude=None):
    chosen = get_variables() if include is None else [v for s in include for v in get_variables(s)]
    dropped = {id(v) for s in exclude or [] for v in get_variables(s)}
    return [v for v in chosen if id(v) not in dropped]


def assign_from_checkpoint_fn(model_path, var_list, ignore_missing_vars=False, reshape_variables=False):
    """A function of a session that restores variables."""
    import importlib
    saver_lib = importlib.import_module("millstream.training.saver")
    if ignore_missing_vars:
        reader = importlib.import_module("millstream.training.checkpoint_utils").load_checkpoint(model_path)
        names = var_list if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
        var_list = {n: v for n, v in names.items() if reader.has_tensor(n)}
    saver = saver_lib.Saver(var_list, reshape=reshape_variables)

    def callback(session):
        saver.restore(session, model_path)
    return callback


def is_tensor(x):
    from millstream.framework import tensor_util
    return tensor_util.is_tensor(x)


def summarize_tensors(tensors, summarizer=None):
    import importlib
    summary = importlib.import_module("millstream").summary
    return [(summarizer or summary.histogram)(t.op.name, t) for t in tensors]


OPTIMIZER_CLS_NAMES = {"Adagrad": "AdagradOptimizer", "Adam": "AdamOptimizer", "Ftrl": "FtrlOptimizer",
                       "Momentum": "MomentumOptimizer", "RMSProp": "RMSPropOptimizer", "SGD": "GradientDescentOptimizer"}


def optimize_loss(loss, global_step, learning_rate, optimizer, gradient_noise_scale=None, gradient_multipliers=None,
                  clip_gradients=None, learning_rate_decay_fn=None, update_ops=None, variables=None, name=None,
                  summaries=None,
                  colocate_gradients_with_ops=False, increment_global_step=True):
    """An operation that updates variables and returns the loss."""
    import millstream as tf
    from millstream.ops.flow import control_flow_ops
    from millstream.ops.math import clip_ops
    loss = ops.convert_to_tensor(loss)
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
        if gradient_multipliers is not None:
            grads = [(g if g is None or v not in gradient_multipliers else g * gradient_multipliers[v], v) for g, v in grads]
        if isinstance(clip_gradients, numbers.Real):
            clipped, _ = clip_ops.clip_by_global_norm([g for g, _ in grads], clip_gradients)
            grads = list(zip(clipped, [v for _, v in grads]))
        elif callable(clip_gradients):
            grads = clip_gradients(grads)
        step = opt.apply_gradients(grads, global_step=global_step if increment_global_step else None, name="train")
        return control_flow_ops.with_dependencies([step], loss)
