# SPDX-License-Identifier: Apache-2.0
"""The Python side of the twins: one module per topic, each with the programs of the C++ file of the same name."""
import importlib
import pkgutil


def load():
    """All programs: {"topic.name": function that adds nodes to the default graph}."""
    programs = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(__path__)):
        for name, build in importlib.import_module(f"{__name__}.{module}").PROGRAMS.items():
            programs[f"{module}.{name}"] = build
    return programs
