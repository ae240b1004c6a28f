# SPDX-License-Identifier: Apache-2.0
"""Public names without importing what defines them.

Each module of millstream.exports has a dict EXPORTS: module -> a string of public names, separated by blanks. A name may
have dots ("nn.relu" is tf.nn.relu) and may differ from the attribute that it stands for ("mul=multiply"; "app=" stands
for the module itself).
"""
import importlib
import os
import pkgutil
import sys
import types

from millstream.ops.ragged import dispatched_names

class Namespace(types.ModuleType):
    """tf.nn, tf.train, ...: a module whose attributes are loaded when they are first used."""

    def __init__(self, name, doc=None):
        super().__init__(name, doc)
        self.__path__ = []
        self.__dict__["_table"] = {}

    def __getattr__(self, name):
        return _load(self.__name__, self.__dict__, name)

    def __dir__(self):
        return sorted(set(self._table) | {k for k in self.__dict__ if not k.startswith("_")})


def _load_core():
    """The extension, bound to the libraries that it was linked with: TensorFlow in the same process brings other versions."""
    flags = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_NOW | getattr(os, "RTLD_DEEPBIND", 0))
    try:
        return importlib.import_module("millstream._core")
    finally:
        sys.setdlopenflags(flags)


def _load(module_name, module_dict, name):
    table = module_dict["_table"]
    if name == "_core" and module_name == "millstream":
        return _load_core()
    if name == "__all__":
        return sorted(n for n in table if not n.startswith("_"))
    if name not in table:
        raise AttributeError(f"module '{module_name}' has no attribute '{name}'")
    target, attribute = table[name]
    module = importlib.import_module(target)
    value = dispatched_names.public(module_name, name, getattr(module, attribute)) if attribute else module
    module_dict[name] = value
    return value


def _namespace(root, path):
    """The dict and the table of the namespace `path` (a list of names) below `root`."""
    name, at = root, sys.modules[root]
    for part in path:
        name += "." + part
        space = sys.modules.get(name)
        if space is None:
            space = Namespace(name)
            sys.modules[name] = space
            setattr(at, part, space)
        at = space
    return at.__dict__["_table"]


def add(root, exports):
    """Adds the entries of one EXPORTS dict to the namespaces below `root`."""
    for module, names in exports.items():
        for entry in names.split():
            public, equals, attribute = entry.partition("=")
            *path, name = public.split(".")
            _namespace(root, path)[name] = (module, attribute if equals else name)


def install(root, module_dict):
    """Makes `root`, whose dict is given, the top of the namespaces."""
    module_dict["_table"] = {}

    def get(name):
        return _load(root, module_dict, name)

    def names():
        return sorted(set(module_dict["_table"]) | {k for k in module_dict if not k.startswith("_")})

    module_dict["__getattr__"] = get
    module_dict["__dir__"] = names
    exports = importlib.import_module(root + ".exports")
    for info in pkgutil.iter_modules(exports.__path__):
        add(root, importlib.import_module(f"{root}.exports.{info.name}").EXPORTS)
