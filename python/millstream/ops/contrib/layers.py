# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.layers and tf.contrib.slim: layers as functions with TF1's contrib names and variables."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.arguments import unsupported
from millstream.ops.array import array_ops
from millstream.ops.layers import conv as layers_conv, core as layers_core, norm as layers_norm
from millstream.ops.math import math_ops
from millstream.ops.nn import nn_conv, nn_ops
from millstream.ops.variables import init_ops
from millstream.ops.variables import variable_scope as vs
from millstream.ops.contrib.arg_scope import add_arg_scope
from millstream.ops.contrib.utils import collect_named_outputs as _collect, get_variable_collections

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import TensorLike


def _model_getter(rename=None, variables_collections=None):
    """Variables of contrib layers have contrib's names and are in the collection of model variables, and in the given ones: for all
    variables, or {"weights": [...], "biases": [...]}."""
    rename = rename or {}

    def getter(getter, name, *args, **kwargs):
        scope, _, last = name.rpartition("/")
        if last in rename:
            name = f"{scope}/{rename[last]}" if scope else rename[last]
        collections = kwargs.get("collections") or [ops.GraphKeys.GLOBAL_VARIABLES]
        kwargs["collections"] = list(collections) + [ops.GraphKeys.MODEL_VARIABLES]
        variable = getter(name, *args, **kwargs)
        last = name.rpartition("/")[2]
        key = "weights" if last in ("depthwise_weights", "pointwise_weights") else last
        own = last in (rename.values() or _NORM_NAMES)  # not those of a normalizer inside of the layer
        for collection in get_variable_collections(variables_collections, key) or () if own else ():
            if not any(variable is v for v in ops.get_collection_ref(collection)):
                ops.add_to_collection(collection, variable)
        return variable
    return getter


_NAMES = {"kernel": "weights", "bias": "biases"}
_NORM_NAMES = ("beta", "gamma", "moving_mean", "moving_variance")


def _normalize_and_activate(outputs, normalizer_fn, normalizer_params, activation_fn):
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    return outputs if activation_fn is None else activation_fn(outputs)


@add_arg_scope
def fully_connected(inputs: Any, num_outputs: Any, activation_fn: Any = gen_ops.relu, normalizer_fn: Any = None,
                    normalizer_params: Any = None, weights_initializer: Any = init_ops.xavier_initializer(),
                    weights_regularizer: Any = None, biases_initializer: Any = init_ops.Zeros(), biases_regularizer: Any = None,
                    reuse: Any = None, variables_collections: Any = None, outputs_collections: Any = None,
                    trainable: Any = True, scope: Any = None) -> Any:
    with vs.variable_scope(scope, "fully_connected", [inputs], reuse=reuse, custom_getter=_model_getter(_NAMES, variables_collections)) as sc:
        inputs = ops.convert_to_tensor(inputs)
        layer = layers_core.Dense(num_outputs, use_bias=not normalizer_fn and bool(biases_initializer),
                                  kernel_initializer=weights_initializer, bias_initializer=biases_initializer,
                                  kernel_regularizer=weights_regularizer, bias_regularizer=biases_regularizer,
                                  trainable=trainable, name=sc.name, _scope=sc, _reuse=reuse)
        outputs = layer.apply(inputs)
        outputs = _normalize_and_activate(outputs, normalizer_fn, normalizer_params, activation_fn)
        return _collect(outputs_collections, sc.name, outputs)


def _format(data_format):
    return "channels_first" if data_format and data_format.startswith("NC") else "channels_last"


@add_arg_scope
def convolution(inputs: Any, num_outputs: Any, kernel_size: Any, stride: Any = 1, padding: Any = "SAME",
                data_format: Any = None, rate: Any = 1, activation_fn: Any = gen_ops.relu, normalizer_fn: Any = None,
                normalizer_params: Any = None, weights_initializer: Any = init_ops.xavier_initializer(),
                weights_regularizer: Any = None, biases_initializer: Any = init_ops.Zeros(), biases_regularizer: Any = None,
                reuse: Any = None, variables_collections: Any = None, outputs_collections: Any = None, trainable: Any = True,
                scope: Any = None) -> Any:
    with vs.variable_scope(scope, "Conv", [inputs], reuse=reuse, custom_getter=_model_getter(_NAMES, variables_collections)) as sc:
        inputs = ops.convert_to_tensor(inputs)
        cls = {3: layers_conv.Conv1D, 4: layers_conv.Conv2D, 5: layers_conv.Conv3D}[inputs.shape.rank]
        layer = cls(num_outputs, kernel_size, stride, padding, _format(data_format), rate,
                    use_bias=not normalizer_fn and bool(biases_initializer), kernel_initializer=weights_initializer,
                    bias_initializer=biases_initializer, kernel_regularizer=weights_regularizer,
                    bias_regularizer=biases_regularizer, trainable=trainable, name=sc.name, _scope=sc, _reuse=reuse)
        outputs = layer.apply(inputs)
        outputs = _normalize_and_activate(outputs, normalizer_fn, normalizer_params, activation_fn)
        return _collect(outputs_collections, sc.name, outputs)


conv2d = convolution2d = conv1d = conv3d = convolution


@add_arg_scope
def conv2d_transpose(inputs: Any, num_outputs: Any, kernel_size: Any, stride: Any = 1, padding: Any = "SAME",
                     data_format: str = "NHWC", activation_fn: Any = gen_ops.relu, normalizer_fn: Any = None,
                     normalizer_params: Any = None, weights_initializer: Any = init_ops.xavier_initializer(),
                     weights_regularizer: Any = None, biases_initializer: Any = init_ops.Zeros(),
                     biases_regularizer: Any = None, reuse: Any = None, variables_collections: Any = None,
                     outputs_collections: Any = None, trainable: Any = True, scope: Any = None) -> Any:
    with vs.variable_scope(scope, "Conv2d_transpose", [inputs], reuse=reuse, custom_getter=_model_getter(_NAMES, variables_collections)) as sc:
        layer = layers_conv.Conv2DTranspose(
            num_outputs, kernel_size, stride, padding, _format(data_format),
            use_bias=not normalizer_fn and bool(biases_initializer), kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer, kernel_regularizer=weights_regularizer, bias_regularizer=biases_regularizer,
            trainable=trainable, name=sc.name, _scope=sc, _reuse=reuse)
        outputs = layer.apply(inputs)
        outputs = _normalize_and_activate(outputs, normalizer_fn, normalizer_params, activation_fn)
        return _collect(outputs_collections, sc.name, outputs)


convolution2d_transpose = conv2d_transpose


@add_arg_scope
def separable_conv2d(inputs: Any, num_outputs: Any, kernel_size: Any, depth_multiplier: Any = 1, stride: Any = 1,
                     padding: Any = "SAME", data_format: str = "NHWC", rate: Any = 1, activation_fn: Any = gen_ops.relu,
                     normalizer_fn: Any = None, normalizer_params: Any = None,
                     weights_initializer: Any = init_ops.xavier_initializer(), pointwise_initializer: Any = None,
                     weights_regularizer: Any = None, biases_initializer: Any = init_ops.Zeros(),
                     biases_regularizer: Any = None, reuse: Any = None, variables_collections: Any = None,
                     outputs_collections: Any = None, trainable: Any = True, scope: Any = None) -> Any:
    names = {"depthwise_kernel": "depthwise_weights", "pointwise_kernel": "pointwise_weights", "bias": "biases"}
    with vs.variable_scope(scope, "SeparableConv2d", [inputs], reuse=reuse, custom_getter=_model_getter(names, variables_collections)) as sc:
        layer = layers_conv.SeparableConv2D(
            num_outputs, kernel_size, stride, padding, _format(data_format), rate, depth_multiplier,
            use_bias=not normalizer_fn and bool(biases_initializer), depthwise_initializer=weights_initializer,
            pointwise_initializer=pointwise_initializer or weights_initializer, bias_initializer=biases_initializer,
            depthwise_regularizer=weights_regularizer, pointwise_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer, trainable=trainable, name=sc.name, _scope=sc, _reuse=reuse)
        outputs = layer.apply(inputs)
        outputs = _normalize_and_activate(outputs, normalizer_fn, normalizer_params, activation_fn)
        return _collect(outputs_collections, sc.name, outputs)


def _pairs(value):
    return [value, value] if isinstance(value, int) else list(value)


def _pooling(function, default):
    @add_arg_scope
    def pool2d(inputs, kernel_size, stride=2, padding="VALID", data_format="NHWC", outputs_collections=None, scope=None):
        with ops.name_scope(scope, default, [inputs]) as sc:
            outputs = function(inputs, _pairs(kernel_size), _pairs(stride), padding, data_format=data_format or "NHWC")
            return _collect(outputs_collections, sc, outputs)
    return pool2d


max_pool2d = _pooling(nn_conv.max_pool, "MaxPool2D")
avg_pool2d = _pooling(nn_conv.avg_pool, "AvgPool2D")
max_pool2d._key_op, avg_pool2d._key_op = "contrib_layers.max_pool2d", "contrib_layers.avg_pool2d"


@add_arg_scope
def batch_norm(inputs: Any, decay: Any = 0.999, center: bool = True, scale: bool = False, epsilon: Any = 0.001,
               activation_fn: Any = None, param_initializers: Any = None, param_regularizers: Any = None,
               updates_collections: Any = ops.GraphKeys.UPDATE_OPS, is_training: Any = True, reuse: Any = None,
               variables_collections: Any = None, outputs_collections: Any = None, trainable: Any = True,
               batch_weights: Any = None, fused: Any = None, data_format: str = "NHWC", zero_debias_moving_mean: bool = False,
               scope: Any = None, renorm: bool = False, renorm_clipping: Any = None, renorm_decay: Any = 0.99,
               adjustment: Any = None) -> Any:
    """With updates_collections=None the moving averages are updated in place, before the outputs."""
    unsupported("batch_norm", batch_weights=batch_weights, zero_debias_moving_mean=zero_debias_moving_mean)
    given = param_initializers or {}
    with vs.variable_scope(scope, "BatchNorm", [inputs], reuse=reuse, custom_getter=_model_getter(None, variables_collections)) as sc:
        inputs = ops.convert_to_tensor(inputs)
        shape = inputs.shape if inputs.shape.rank == 2 and fused is not False else None
        if shape is not None:  # the fused op, whose moving variance is that of a sample: n - 1
            inputs, data_format = array_ops.reshape(inputs, [-1, 1, 1, shape.as_list()[1]]), "NHWC"
        layer = layers_norm.BatchNormalization(
            axis=1 if data_format == "NCHW" else -1, momentum=decay, epsilon=epsilon, center=center, scale=scale,
            beta_initializer=given.get("beta", init_ops.Zeros()), gamma_initializer=given.get("gamma", init_ops.Ones()),
            moving_mean_initializer=given.get("moving_mean", init_ops.Zeros()),
            moving_variance_initializer=given.get("moving_variance", init_ops.Ones()),
            beta_regularizer=(param_regularizers or {}).get("beta"),
            gamma_regularizer=(param_regularizers or {}).get("gamma"),
            trainable=trainable, fused=fused, renorm=renorm, renorm_clipping=renorm_clipping, renorm_momentum=renorm_decay,
            adjustment=adjustment, name=sc.name, _scope=sc, _reuse=reuse)
        updates = ops.get_collection_ref(ops.GraphKeys.UPDATE_OPS)
        before = len(updates)
        outputs = layer.apply(inputs, training=is_training)
        if shape is not None:
            outputs = array_ops.reshape(outputs, [-1, shape.as_list()[1]])
            outputs.set_shape(shape)
        if updates_collections != ops.GraphKeys.UPDATE_OPS:
            made = updates[before:]
            del updates[before:]
            if updates_collections is None:
                with ops.control_dependencies(made):
                    outputs = gen_ops.identity(outputs)
            else:
                for update in made:
                    ops.add_to_collections(updates_collections, update)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return _collect(outputs_collections, sc.name, outputs)


@add_arg_scope
def dropout(inputs: Any, keep_prob: Any = 0.5, noise_shape: Any = None, is_training: Any = True,
            outputs_collections: Any = None, scope: Any = None, seed: Optional[int] = None) -> Any:
    with vs.variable_scope(scope, "Dropout", [inputs]) as sc:
        layer = layers_core.Dropout(rate=1 - keep_prob, noise_shape=noise_shape, seed=seed, name=sc.name, _scope=sc)
        return _collect(outputs_collections, sc.name, layer.apply(inputs, training=is_training))


@add_arg_scope
def flatten(inputs: Any, outputs_collections: Any = None, scope: Any = None) -> Any:
    with ops.name_scope(scope, "Flatten", [inputs]) as sc:
        inputs = ops.convert_to_tensor(inputs)
        return _collect(outputs_collections, sc, layers_core.Flatten().call(inputs))


@add_arg_scope
def layer_norm(inputs: Any, center: bool = True, scale: bool = True, activation_fn: Any = None, reuse: Any = None,
               variables_collections: Any = None, outputs_collections: Any = None, trainable: Any = True,
               begin_norm_axis: Any = 1, begin_params_axis: Any = -1, scope: Any = None) -> Any:
    from millstream.ops.nn import nn_norm
    with vs.variable_scope(scope, "LayerNorm", [inputs], reuse=reuse, custom_getter=_model_getter(None, variables_collections)) as sc:
        inputs = ops.convert_to_tensor(inputs)
        rank = inputs.shape.rank
        shape = inputs.shape.as_list()[begin_params_axis % rank:]
        beta = vs.get_variable("beta", shape, initializer=init_ops.Zeros(), trainable=trainable) if center else None
        gamma = vs.get_variable("gamma", shape, initializer=init_ops.Ones(), trainable=trainable) if scale else None
        mean, variance = nn_norm.moments(inputs, list(range(begin_norm_axis % rank, rank)), keep_dims=True)
        outputs = nn_norm.batch_normalization(inputs, mean, variance, beta, gamma, 1e-12)
        outputs.set_shape(inputs.shape)
        return _collect(outputs_collections, sc.name, outputs if activation_fn is None else activation_fn(outputs))


@add_arg_scope
def one_hot_encoding(labels: TensorLike, num_classes: Any, on_value: Any = 1.0, off_value: Any = 0.0,
                     outputs_collections: Any = None, scope: Any = None) -> Any:
    from millstream.ops.array import index_ops
    with ops.name_scope(scope, "OneHotEncoding", [labels, num_classes]) as sc:
        labels = ops.convert_to_tensor(labels)
        if labels.dtype.base_dtype == dtypes.int32:
            labels = math_ops.cast(labels, dtypes.int64)
        return _collect(outputs_collections, sc, index_ops.one_hot(labels, num_classes, on_value=on_value,
                                                                   off_value=off_value))


@add_arg_scope
def softmax(logits: TensorLike, scope: Any = None) -> Any:
    with vs.variable_scope(scope, "softmax", [logits]):
        return nn_ops.softmax(logits)


def linear(inputs: Any, num_outputs: Any, **kwargs: Any) -> Any:
    return fully_connected(inputs, num_outputs, activation_fn=None, **kwargs)


def relu(inputs: Any, num_outputs: Any, **kwargs: Any) -> Any:
    return fully_connected(inputs, num_outputs, activation_fn=gen_ops.relu, **kwargs)


def embed_sequence(ids: Any, vocab_size: Any = None, embed_dim: Any = None, unique: bool = False, initializer: Any = None,
                   regularizer: Any = None, trainable: Any = True, scope: Any = None, reuse: Any = None) -> Any:
    from millstream.ops.nn import embedding_ops
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError("Must specify vocab size and embedding dimension when not reusing. Got vocab_size="
                         f"{vocab_size} and embed_dim={embed_dim}")
    with vs.variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        table = vs.get_variable("embeddings", [vocab_size, embed_dim] if vocab_size else None, initializer=initializer,
                                regularizer=regularizer, trainable=trainable)
        return embedding_ops.embedding_lookup(table, ids)


def repeat(inputs: Any, repetitions: Any, layer: Any, *args: Any, **kwargs: Any) -> Any:
    """Applies a layer several times: scopes name_1, name_2, ..."""
    scope = kwargs.pop("scope", None)
    with vs.variable_scope(scope, "Repeat", [inputs]):
        scope = scope or getattr(layer, "__name__", "repeat")
        for i in range(repetitions):
            kwargs["scope"] = f"{scope}_{i + 1}"
            inputs = layer(inputs, *args, **kwargs)
        return inputs


def stack(inputs: Any, layer: Any, stack_args: Any, **kwargs: Any) -> Any:
    """Applies a layer several times with different arguments."""
    scope = kwargs.pop("scope", None)
    with vs.variable_scope(scope, "Stack", [inputs]):
        scope = scope or layer.__name__
        for i, args in enumerate(stack_args):
            kwargs["scope"] = f"{scope}_{i + 1}"
            inputs = layer(inputs, *(args if isinstance(args, (list, tuple)) else [args]), **kwargs)
        return inputs


def unit_norm(inputs: Any, dim: Any, epsilon: Any = 1e-7, scope: Any = None) -> Any:
    with vs.variable_scope(scope, "UnitNorm", [inputs]):
        from millstream.ops.math import reduce_ops
        lengths = gen_ops.sqrt(epsilon + reduce_ops.reduce_sum(gen_ops.square(inputs), dim, keepdims=True))
        return math_ops.div(inputs, lengths)


def maxout(inputs: Any, num_units: Any, axis: Any = -1, scope: Any = None) -> Any:
    with ops.name_scope(scope, "MaxOut", [inputs]):
        from millstream.ops.math import reduce_ops
        inputs = ops.convert_to_tensor(inputs)
        shape = inputs.shape.as_list()
        if shape[axis] % num_units:
            raise ValueError(f"number of features({shape[axis]}) is not a multiple of num_units({num_units})")
        shape = [-1 if s is None else s for s in shape]
        axis = axis % len(shape)
        grouped = shape[:axis] + [num_units, shape[axis] // num_units] + shape[axis + 1:]
        return reduce_ops.reduce_max(array_ops.reshape(inputs, grouped), axis + 1)
