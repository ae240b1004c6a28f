# SPDX-License-Identifier: Apache-2.0
"""Layers and models as configurations (dicts of plain values), and anew from these: get_config(), to_json(), clone_model()."""
import importlib
import inspect
import json

import numpy as np

from millstream.keras_v1 import activations, constraints, initializers, regularizers, state, utils
from millstream.ops import nest

_FUNCTIONS = (("_initializer", initializers), ("_regularizer", regularizers), ("_constraint", constraints))
_BASE = ("self", "name", "trainable", "dtype", "dynamic")


def _owner(cls):
    """The class of this package that `cls` is or derives from, and that says how it is made."""
    return next(c for c in cls.__mro__ if c.__module__.startswith("millstream.") and "__init__" in c.__dict__)


def config_of(layer):
    """The arguments that make a layer of this package again, beside those that all layers have."""
    owner = _owner(type(layer))
    if type(layer) is owner or "__init__" not in type(layer).__dict__:
        given = _given(layer, owner)
    else:  # a class of the user, which calls the constructor of ours itself
        names = owner.__dict__.get("_arguments") or inspect.signature(owner.__init__).parameters
        given = {p: getattr(layer, p) for p in names if hasattr(layer, p)}
    skipped = (*_BASE, "input_shape", "batch_input_shape", "batch_size", "weights",
               *(() if "input_dim" in inspect.signature(owner.__init__).parameters else ("input_dim",)))
    return {name: _plain(name, value) for name, value in given.items() if name not in skipped}


def _given(layer, owner):
    """What the constructor was given, and the defaults for the rest."""
    args, kwargs = layer.__dict__["_made_with"]
    adapted = "_arguments" in owner.__dict__
    bound = inspect.signature(owner._core.__init__ if adapted else owner.__init__).bind_partial(layer, *args, **kwargs)
    given = dict(owner._arguments) if adapted else {}
    if not adapted:
        bound.apply_defaults()
    given.update(bound.arguments)
    further = given.pop("kwargs", {})
    given = {**getattr(owner, "_further_arguments", {}), **given, **further}
    # What the layer has made of its arguments is more exact: (3, 3) for 3.
    sizes = {k: getattr(layer, k) for k in given if k in ("kernel_size", "strides", "pool_size", "dilation_rate") and hasattr(layer, k)}
    return {k: v for k, v in {**given, **sizes}.items() if v is not inspect.Parameter.empty and k not in ("activity_regularizer", "rank")}


def needs_config(layer):
    """True for a layer of the user whose constructor has arguments that nobody here knows."""
    init = next((c for c in type(layer).__mro__ if "__init__" in c.__dict__), None)
    if init is None or init.__module__.startswith("millstream."):
        return False
    known = (*_BASE, "kwargs", "args")
    return any(p not in known for p in inspect.signature(init.__init__).parameters)


def _plain(name, value):
    if name in ("activation", "recurrent_activation"):
        return activations.serialize(activations.get(value))
    for suffix, module in _FUNCTIONS:
        if name.endswith(suffix) and value is not None:
            function = module.get(value)
            return {"class_name": type(function).__name__, "config": _config_of_function(function)}
    if hasattr(value, "get_config"):
        return serialize(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_plain("", v) for v in value)
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return getattr(value, "name", value) if type(value).__name__ == "DType" else value


def _config_of_function(function):
    if hasattr(function, "get_config"):
        return {k: _plain("", v) for k, v in function.get_config().items()}
    parameters = inspect.signature(type(function).__init__).parameters
    return {p: _plain("", getattr(function, p)) for p in parameters if p != "self"}


def serialize(layer):
    """{"class_name", "config"} of a layer or a model."""
    return {"class_name": type(layer).__name__, "config": layer.get_config()}


_SPACES = ("models", "base_layer", "core_layers", "shape_layers", "rnn_layers", "norm_layers")


def _find_class(name, custom_objects):
    for known in (custom_objects or {}, utils.get_custom_objects()):
        if name in known:
            return known[name]
    for space in _SPACES:
        found = getattr(importlib.import_module("millstream.keras_v1." + space), name, None)
        if inspect.isclass(found):
            return found
    raise ValueError(f"Unknown layer: {name}")


def deserialize(config, custom_objects=None):
    """The layer or model that serialize() described."""
    cls = _find_class(config["class_name"], custom_objects)
    if "custom_objects" in inspect.signature(cls.from_config).parameters:
        return cls.from_config(config["config"], custom_objects=custom_objects)
    return cls.from_config(config["config"])


def arguments(config, custom_objects=None):
    """Arguments of a constructor: layers within a configuration are made."""
    def made(value):
        if isinstance(value, dict) and set(value) == {"class_name", "config"}:
            try:
                return deserialize(value, custom_objects)
            except ValueError:
                return value  # an initializer or the like, which the constructor reads
        return [made(v) for v in value] if isinstance(value, list) else value
    return {name: made(value) if not name.endswith(tuple(s for s, _ in _FUNCTIONS)) else _function(name, value)
            for name, value in config.items()}


def _function(name, value):
    if not isinstance(value, dict):
        return value
    module = next(m for suffix, m in _FUNCTIONS if name.endswith(suffix))
    cls = utils.get_custom_objects().get(value["class_name"]) or getattr(module, value["class_name"])
    return cls(**value["config"])


# Models.


def of_sequential(model):
    return {"name": model.name, "layers": [serialize(layer) for layer in model.layers]}


def sequential(cls, config, custom_objects=None):
    """The Sequential of of_sequential()."""
    model = cls(name=config.get("name") if isinstance(config, dict) else None)
    for layer in config["layers"] if isinstance(config, dict) else config:
        model.add(deserialize(layer, custom_objects))
    return model


def of_functional(model):
    """Layers, and for each call of one what it was given: [name of the layer, number of its call, number of its output, arguments]."""
    calls, numbers = {}, {}
    for node in model._order:
        made = calls.setdefault(id(node.layer), [])
        for index, tensor in enumerate(nest.flatten(node.outputs)):
            numbers[id(tensor)] = [node.layer.name, len(made), index]
        made.append(node)
    layers = []
    for layer in model.layers:
        inbound = [[numbers[id(x)] + [dict(n.kwargs)] for x in nest.flatten(n.inputs)] for n in calls[id(layer)]
                   if type(layer).__name__ != "InputLayer"]
        layers.append(dict(serialize(layer), name=layer.name, inbound_nodes=inbound))
    return {"name": model.name, "layers": layers, "input_layers": [numbers[id(x)] for x in model.inputs],
            "output_layers": [numbers[id(x)] for x in model.outputs]}


def functional(cls, config, custom_objects=None):
    """The model of of_functional()."""
    made, outputs = {}, {}
    waiting = []
    for entry in config["layers"]:
        layer = made[entry["name"]] = deserialize(entry, custom_objects)
        if type(layer).__name__ == "InputLayer":
            outputs[entry["name"], 0] = nest.flatten(layer._nodes[0].outputs)
        waiting += [(entry["name"], i, given) for i, given in enumerate(entry["inbound_nodes"])]
    while waiting:
        ready = [w for w in waiting if all((g[0], g[1]) in outputs for g in w[2]) and (w[1] == 0 or (w[0], w[1] - 1) in outputs)]
        if not ready:
            raise ValueError("The layers of the model are not connected.")
        for name, number, given in ready:
            inputs = [outputs[g[0], g[1]][g[2]] for g in given]
            result = made[name](inputs[0] if len(inputs) == 1 else inputs, **(given[0][3] if len(given[0]) > 3 else {}))
            outputs[name, number] = nest.flatten(result)
        waiting = [w for w in waiting if w not in ready]
    inputs, results = ([outputs[name, call][index] for name, call, index in config[key]] for key in ("input_layers", "output_layers"))
    single = lambda tensors: tensors[0] if len(tensors) == 1 else tensors
    return cls(inputs=single(inputs), outputs=single(results), name=config.get("name"))


def to_json(model, **kwargs):
    """The text that model_from_json() reads."""
    def default(value):
        raise NotImplementedError(f"{value!r} cannot be written as JSON")
    whole = dict(serialize(model), keras_version=state.VERSION, backend="tensorflow")
    return json.dumps(whole, default=default, **kwargs)


def model_from_json(json_string, custom_objects=None):
    return deserialize(json.loads(json_string), custom_objects)


def model_from_config(config, custom_objects=None):
    if isinstance(config, list):
        raise TypeError("`model_from_config` expects a dictionary, not a list. Maybe you meant to use `Sequential.from_config(config)`?")
    return deserialize(config, custom_objects)


def clone_model(model, input_tensors=None):
    """A model of the same layers with weights of its own."""
    if not getattr(model, "_functional", False) and not hasattr(model, "_stack"):
        raise ValueError("Expected `model` argument to be a functional `Model` instance, but got a subclass model instead.")
    clone = type(model).from_config(model.get_config())
    if input_tensors is None:
        return clone
    from millstream.keras_v1 import base_layer, models
    given = [x if models.is_keras_tensor(x) else base_layer.Input(tensor=x) for x in nest.flatten(input_tensors)]
    return models.Model(given if len(given) > 1 else given[0], clone(given if len(given) > 1 else given[0]))
