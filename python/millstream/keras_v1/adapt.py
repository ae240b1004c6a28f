# SPDX-License-Identifier: Apache-2.0
"""Keras layers from those of tf.layers: the same build() and call(), with texts for functions and Keras's names of variables."""
import inspect

from millstream.keras_v1 import activations, constraints, initializers, regularizers
from millstream.keras_v1.base_layer import Layer


def meant(name, value):
    """An argument's function, where a text or a configuration stands for one."""
    if name in ("activation", "recurrent_activation"):
        return activations.get(value)
    for suffix, module in (("_initializer", initializers), ("_regularizer", regularizers), ("_constraint", constraints)):
        if name.endswith(suffix):
            return module.get(value)
    return value


def adapt(name, core, **defaults):
    """A class like `core` of tf.layers, with these defaults."""
    signature = inspect.signature(core.__init__)

    def __init__(self, *args, **kwargs):
        given = dict(signature.bind_partial(self, *args, **kwargs).arguments)
        given.pop("self", None)
        given.update(given.pop("kwargs", {}))
        for key, value in defaults.items():
            given.setdefault(key, value)
        missing = [p.name for p in list(signature.parameters.values())[1:]
                   if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in given]
        if missing:
            raise TypeError(f"__init__() missing required positional argument(s): {', '.join(missing)}")
        core.__init__(self, **{k: meant(k, v) for k, v in given.items()})
    arguments = {}
    for base in core.__mro__:  # as far as constructors hand arguments on
        found = inspect.signature(base.__init__).parameters.values()
        arguments = {**arguments, **{p.name: p.default for p in found if p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in arguments}}
        if base is Layer or not any(p.kind is p.VAR_KEYWORD for p in found):
            break
    return type(name, (core, Layer), {"__init__": __init__, "__doc__": core.__doc__, "__module__": __name__, "_core": core,
                                      "_arguments": {**arguments, **defaults}})
