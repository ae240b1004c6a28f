# SPDX-License-Identifier: Apache-2.0
"""Packages that came along with TensorFlow 1 and that its programs import: six and absl, where they are not installed."""
import importlib
import importlib.abc
import importlib.machinery
import types


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last one to be asked: packages that are installed come first."""

    def __init__(self):
        self._specs = {}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ("six", "absl") or _module(name) is None:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = _module(spec.name)
        self._specs[spec.name] = getattr(module, "__spec__", None)
        return module

    def exec_module(self, module):
        """The module is there already; it keeps its own spec."""
        alias = module.__spec__.name
        module.__spec__ = self._specs.pop(alias) or module.__spec__


def _module(name):
    if name == "six":
        return importlib.import_module("millstream.platform.six_names")
    if name == "six.moves" or name.startswith("six.moves."):
        return importlib.import_module("millstream.platform.six_names").part(name)
    return _ABSL[name]() if name in _ABSL else None


def _package(name, **members):
    module = types.ModuleType(name)
    module.__path__ = []
    module.__dict__.update(members)
    return module


def _logging():
    from millstream.framework import log
    members = {k: v for k, v in vars(log).items() if not k.startswith("_")}
    nothing = lambda *args, **kwargs: None
    return _package("absl.logging", **members, WARNING=log.WARN, exception=log.error, set_stderrthreshold=nothing,
                    use_absl_handler=nothing, get_absl_handler=nothing)


def _absltest():
    from millstream.platform import test_case
    return _package("absl.testing.absltest", TestCase=test_case.TestCase, main=test_case.main, get_temp_dir=test_case.get_temp_dir,
                    mock=importlib.import_module("unittest.mock"))


_ABSL = {
    "absl": lambda: _package("absl"),
    "absl.app": lambda: importlib.import_module("millstream.platform.app"),
    "absl.flags": lambda: importlib.import_module("millstream.platform.flags"),
    "absl.logging": _logging,
    "absl.testing": lambda: _package("absl.testing"),
    "absl.testing.absltest": _absltest,
}
