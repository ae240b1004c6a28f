# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.framework and regularizers of tf.contrib.layers."""
from __future__ import annotations

import numbers
from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.variables import variable_scope as vs
from millstream.ops.contrib.arg_scope import add_arg_scope

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike, ShapeLike, TensorLike


def _scale(scale):
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real):
        if scale < 0.0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale}.")
    return scale


def l1_regularizer(scale: Any, scope: Any = None) -> Any:
    if _scale(scale) == 0.0:
        return lambda _: None

    def l1(weights, name=None):
        with ops.name_scope(scope or name, "l1_regularizer", [weights]) as name:
            factor = ops.convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return gen_ops.mul(factor, reduce_ops.reduce_sum(math_ops.abs(weights)), name=name)
    return l1


def l2_regularizer(scale: Any, scope: Any = None) -> Any:
    if _scale(scale) == 0.0:
        return lambda _: None

    def l2(weights):
        with ops.name_scope(scope, "l2_regularizer", [weights]) as name:
            factor = ops.convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return gen_ops.mul(factor, gen_ops.l2_loss(weights), name=name)
    return l2


def l1_l2_regularizer(scale_l1: Any = 1.0, scale_l2: Any = 1.0, scope: Any = None) -> Any:
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope or "l1_l2_regularizer")


def sum_regularizer(regularizer_list: Any, scope: Any = None) -> Any:
    regularizers = [r for r in regularizer_list if r is not None]
    if not regularizers:
        return None

    def total(weights):
        with ops.name_scope(scope, "sum_regularizer", [weights]) as name:
            values = [v for v in (r(weights) for r in regularizers) if v is not None]
            return math_ops.add_n(values, name=name) if values else None
    return total


def apply_regularization(regularizer: Any, weights_list: Any = None) -> Any:
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
def variable(name: str, shape: ShapeLike = None, dtype: Optional[DTypeLike] = None, initializer: Any = None,
             regularizer: Any = None, trainable: Any = True, collections: Any = None, caching_device: Any = None,
             device: Any = None, partitioner: Any = None, custom_getter: Any = None, use_resource: Any = None) -> Any:
    collections = list(collections) if collections is not None else [ops.GraphKeys.GLOBAL_VARIABLES]
    with ops.device(device or ""):
        return vs.get_variable(name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
                               trainable=trainable, collections=list(dict.fromkeys(collections)),
                               caching_device=caching_device,
                               partitioner=partitioner, custom_getter=custom_getter, use_resource=use_resource)


@add_arg_scope
def model_variable(name: str, shape: ShapeLike = None, dtype: DTypeLike = dtypes.float32, initializer: Any = None,
                   regularizer: Any = None, trainable: Any = True, collections: Any = None, caching_device: Any = None,
                   device: Any = None, partitioner: Any = None, custom_getter: Any = None, use_resource: Any = None) -> Any:
    collections = list(collections or []) + [ops.GraphKeys.GLOBAL_VARIABLES, ops.GraphKeys.MODEL_VARIABLES]
    return variable(name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=trainable,
                    collections=collections, caching_device=caching_device, device=device, partitioner=partitioner,
                    custom_getter=custom_getter, use_resource=use_resource)


def local_variable(initial_value: Any, validate_shape: bool = True, name: str = "local_variable",
                   use_resource: Any = None) -> Any:
    from millstream.ops.variables import variables
    return variables.Variable(initial_value, trainable=False, collections=[ops.GraphKeys.LOCAL_VARIABLES],
                              validate_shape=validate_shape, name=name, use_resource=use_resource)


def get_variables(scope: Any = None, suffix: Any = None, collection: Any = ops.GraphKeys.GLOBAL_VARIABLES) -> Any:
    if isinstance(scope, vs.VariableScope):
        scope = scope.name
    if suffix is not None:
        scope = (scope or "") + ".*" + (suffix if ":" in suffix else suffix + ":")
    return ops.get_collection(collection, scope)


def get_model_variables(scope: Any = None, suffix: Any = None) -> Any:
    return get_variables(scope, suffix, ops.GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope: Any = None, suffix: Any = None) -> Any:
    return get_variables(scope, suffix, ops.GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope: Any = None, suffix: Any = None) -> Any:
    return get_variables(scope, suffix, ops.GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_suffix(suffix: Any, scope: Any = None) -> Any:
    return get_variables(scope=scope, suffix=suffix)


def get_variables_by_name(given_name: Any, scope: Any = None) -> Any:
    return get_variables(scope=scope, suffix="/" + given_name)


def get_variables_to_restore(include: Any = None, exclude: Any = None) -> Any:
    chosen = get_variables() if include is None else [v for s in include for v in get_variables(s)]
    dropped = {id(v) for s in exclude or [] for v in get_variables(s)}
    return [v for v in chosen if id(v) not in dropped]


def assign_from_checkpoint_fn(model_path: Any, var_list: Any, ignore_missing_vars: bool = False,
                              reshape_variables: bool = False) -> Any:
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


def is_tensor(x: TensorLike) -> Any:
    from millstream.framework import tensor_util
    return tensor_util.is_tensor(x)


def summarize_tensors(tensors: Any, summarizer: Any = None) -> Any:
    import importlib
    summary = importlib.import_module("millstream").summary
    return [(summarizer or summary.histogram)(t.op.name, t) for t in tensors]
