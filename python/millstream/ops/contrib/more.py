# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.layers and contrib.framework: normalizations, activations, summaries, assignments from values and checkpoints."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import ops
from millstream.ops.array import array_ops
from millstream.ops.contrib import framework as contrib_framework
from millstream.ops.layers import core as layers_core
from millstream.ops.nn import nn_norm, nn_ops
from millstream.ops.variables import init_ops, state_ops
from millstream.ops.variables import variable_scope as vs
from millstream.ops.contrib.arg_scope import add_arg_scope
from millstream.ops.contrib.layers import _collect, fully_connected
from millstream.ops.contrib.utils import get_variable_collections

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import TensorLike


def _scale_and_shift(center, scale, size, dtype, initializers, trainable, collections):
    given = initializers or {}
    beta = contrib_framework.model_variable("beta", [size], dtype=dtype, initializer=given.get("beta", init_ops.Zeros()),
                                            collections=get_variable_collections(collections, "beta"), trainable=trainable) if center else None
    gamma = contrib_framework.model_variable("gamma", [size], dtype=dtype, initializer=given.get("gamma", init_ops.Ones()),
                                             collections=get_variable_collections(collections, "gamma"), trainable=trainable) if scale else None
    return beta, gamma


@add_arg_scope
def instance_norm(inputs: Any, center: bool = True, scale: bool = True, epsilon: Any = 1e-6, activation_fn: Any = None,
                  param_initializers: Any = None, reuse: Any = None, variables_collections: Any = None,
                  outputs_collections: Any = None, trainable: Any = True, data_format: str = "NHWC", scope: Any = None) -> Any:
    """Normalizes each image and channel by itself."""
    inputs = ops.convert_to_tensor(inputs)
    rank = inputs.shape.rank
    channel = rank - 1 if data_format == "NHWC" else 1
    with vs.variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as sc:
        size = inputs.shape.as_list()[channel]
        beta, gamma = _scale_and_shift(center, scale, size, inputs.dtype.base_dtype, param_initializers, trainable,
                                       variables_collections)
        if channel == 1:
            shape = [1, size] + [1] * (rank - 2)
            beta, gamma = (None if v is None else array_ops.reshape(v, shape) for v in (beta, gamma))
        mean, variance = nn_norm.moments(inputs, [a for a in range(1, rank) if a != channel], keep_dims=True)
        outputs = nn_norm.batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(inputs.shape)
        return _collect(outputs_collections, sc.name, activation_fn(outputs) if activation_fn else outputs)


@add_arg_scope
def group_norm(inputs, groups=32, channels_axis=-1, reduction_axes=(-3, -2), center=True, scale=True, epsilon=1e-6,
               activation_fn=None, param_initializers=None, reuse=None, variables_collections=None, outputs_collections=None,
               trainable=True, scope=None, mean_close_to_zero=False):
    """Normalizes groups of channels of each image; channels are the last axis."""
    inputs = ops.convert_to_tensor(inputs)
    rank, sizes = inputs.shape.rank, inputs.shape.as_list()
    if channels_axis % rank != rank - 1:
        raise NotImplementedError("group_norm with channels that are not the last axis")
    if sizes[-1] % groups:
        raise ValueError(f"{groups} groups is not commensurate with {sizes[-1]} channels.")
    with vs.variable_scope(scope, "GroupNorm", [inputs], reuse=reuse) as sc:
        shape = array_ops.shape(inputs)
        grouped = array_ops.reshape(inputs, array_ops.concat([shape[:-1], [groups, sizes[-1] // groups]], 0))
        beta, gamma = _scale_and_shift(center, scale, sizes[-1], inputs.dtype.base_dtype, param_initializers, trainable,
                                       variables_collections)
        mean, variance = nn_norm.moments(grouped, [a % rank for a in reduction_axes] + [rank], keep_dims=True)
        parts = [None if v is None else array_ops.reshape(v, [groups, sizes[-1] // groups]) for v in (beta, gamma)]
        outputs = array_ops.reshape(nn_norm.batch_normalization(grouped, mean, variance, *parts, epsilon), shape)
        outputs.set_shape(inputs.shape)
        return _collect(outputs_collections, sc.name, activation_fn(outputs) if activation_fn else outputs)


@add_arg_scope
def bias_add(inputs: Any, activation_fn: Any = None, initializer: Any = init_ops.Zeros(), regularizer: Any = None,
             reuse: Any = None, variables_collections: Any = None, outputs_collections: Any = None, trainable: Any = True,
             data_format: str = "NHWC", scope: Any = None) -> Any:
    with vs.variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as sc:
        inputs = ops.convert_to_tensor(inputs)
        biases = contrib_framework.model_variable(
            "biases", [inputs.shape.as_list()[1 if data_format == "NCHW" else -1]], dtype=inputs.dtype.base_dtype,
            initializer=initializer, regularizer=regularizer, trainable=trainable, collections=get_variable_collections(variables_collections, "biases"))
        outputs = nn_ops.bias_add(inputs, biases, data_format=data_format)
        return _collect(outputs_collections, sc.name, activation_fn(outputs) if activation_fn else outputs)


def elu(*args: Any, **kwargs: Any) -> Any:
    return fully_connected(*args, activation_fn=gen_ops.elu, **kwargs)


def relu6(*args: Any, **kwargs: Any) -> Any:
    return fully_connected(*args, activation_fn=nn_ops.relu6, **kwargs)


def legacy_fully_connected(x: TensorLike, num_output_units: Any, activation_fn: Any = None,
                           weight_init: Any = init_ops.xavier_initializer(), bias_init: Any = init_ops.Zeros(),
                           name: Optional[str] = None, weight_regularizer: Any = None, bias_regularizer: Any = None) -> Any:
    with vs.variable_scope(name, "fully_connected", [x]):
        return layers_core.dense(x, num_output_units, activation=activation_fn, kernel_initializer=weight_init,
                                 bias_initializer=bias_init, kernel_regularizer=weight_regularizer,
                                 bias_regularizer=bias_regularizer)


def summarize_tensor(tensor: Any, tag: Any = None) -> Any:
    from millstream.events import summary_ops
    kind = summary_ops.scalar if tensor.shape.rank == 0 else summary_ops.histogram
    return kind(tag or tensor.op.name, tensor)


def summarize_activations(name_filter: Any = None, summarizer: Any = summarize_tensor) -> Any:
    return [summarizer(t) for t in ops.get_collection(ops.GraphKeys.ACTIVATIONS, name_filter)]


def filter_variables(var_list: Any, include_patterns: Any = None, exclude_patterns: Any = None, reg_search: bool = True) -> Any:
    """The variables whose names match one of the first patterns and none of the second."""
    import re
    match = re.search if reg_search else re.match
    kept = [v for v in var_list if include_patterns is None or any(match(p, v.op.name) for p in include_patterns)]
    return [v for v in kept if not any(match(p, v.op.name) for p in exclude_patterns or ())]


def get_unique_variable(var_op_name: Any) -> Any:
    found = [v for v in ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES, var_op_name) if v.op.name == var_op_name]
    if len(found) != 1:
        raise ValueError(f"Variable {var_op_name} {'does not uniquely identify a variable' if found else 'not found'}")
    return found[0]


def get_variable_full_name(var: Any) -> Any:
    info = getattr(var, "_save_slice_info", None)
    return info.full_name if info else var.op.name


def assign_from_values(var_names_to_values: Any) -> Any:
    """(an op that assigns, its feeds) for values by the names of variables."""
    from millstream.framework import constant_op
    from millstream.ops.flow import control_flow_ops
    assigns, feeds = [], {}
    for name, value in var_names_to_values.items():
        variable = get_unique_variable(name)
        placeholder = constant_op.placeholder(variable.dtype.base_dtype, variable.shape, name="placeholder/" + name)
        assigns.append(state_ops.assign(variable, placeholder))
        feeds[placeholder] = value.reshape(variable.shape.as_list())
    return control_flow_ops.group(*assigns), feeds


def assign_from_values_fn(var_names_to_values: Any) -> Any:
    op, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(op, feeds)


def assign_from_checkpoint(model_path: Any, var_list: Any, ignore_missing_vars: bool = False) -> Any:
    """(an op that assigns, its feeds) for the values of a checkpoint."""
    from millstream.training import checkpoint_utils
    reader = checkpoint_utils.load_checkpoint(model_path)
    names = var_list if isinstance(var_list, dict) else {get_variable_full_name(v): v for v in var_list}
    values = {}
    for name, variable in names.items():
        if not reader.has_tensor(name):
            if ignore_missing_vars:
                continue
            raise ValueError(f"Checkpoint is missing variable [{name}]")
        values[variable.op.name] = reader.get_tensor(name)
    return assign_from_values(values)


def zero_initializer(ref: Any, use_locking: bool = True, name: str = "zero_initializer") -> Any:
    return state_ops.assign(ref, array_ops.zeros(ref.shape.as_list(), ref.dtype.base_dtype), name=name)
