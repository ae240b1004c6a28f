# SPDX-License-Identifier: Apache-2.0
"""`import tensorflow` resolves to millstream: for programs that are run by `python -m millstream`.

tensorflow, tensorflow.compat.v1   the package itself
tensorflow.x.y                     the public namespace millstream.x.y
horovod.tensorflow, horovod.keras  millstream.horovod and millstream.horovod.keras
tensorflow.python.a.b              the module that plays that part here, or one that finds public names wherever they are
input_data                         the MNIST reader of the tutorials, unless the program has its own
six, absl                          what programs use of them, unless they are installed
"""
import functools
import importlib
import importlib.abc
import importlib.machinery
import pkgutil
import sys
import types

import millstream
from millstream.platform import companions

_INPUT_DATA = "millstream.examples.tutorials.mnist.input_data"

# tensorflow.python.<path> -> modules that have its names
_PARTS = {
    "framework.ops": "millstream.framework.ops", "framework.dtypes": "millstream.framework.dtypes",
    "framework.tensor_shape": "millstream.framework.tensor_shape", "framework.errors": "millstream.framework.errors",
    "framework.errors_impl": "millstream.framework.errors", "framework.constant_op": "millstream.framework.constant_op",
    "framework.tensor_util": "millstream.framework.tensor_util", "framework.random_seed": "millstream.framework.random_seed",
    "framework.function": "millstream.framework.function", "framework.importer": "millstream.framework.importer",
    "framework.meta_graph": "millstream.framework.meta_graph", "framework.sparse_tensor": "millstream.framework.sparse_tensor",
    "framework.device": "millstream.framework.device", "framework.indexed_slices": "millstream.framework.indexed_slices",
    "client.session": "millstream.client.session", "ops.gradients": "millstream.framework.gradients",
    "ops.gradients_impl": "millstream.framework.gradients", "ops.script_ops": "millstream.ops.functions.script_ops",
    "platform.flags": "millstream.platform.flags", "platform.app": "millstream.platform.app",
    "platform.gfile": "millstream.platform.gfile", "platform.tf_logging": "millstream.framework.log",
    "util.compat": "millstream.platform.compat", "lib.io.file_io": "millstream.platform.gfile",
    "client.device_lib": "millstream.platform.device_lib",
    "training.saver": "millstream.training.saver", "training.supervisor": "millstream.training.supervisor",
    "training.monitored_session": "millstream.training.monitored_session",
    "training.basic_session_run_hooks": "millstream.training.basic_session_run_hooks",
    "training.session_run_hook": "millstream.training.session_run_hook",
    "training.training_util": "millstream.training.training_util", "training.optimizer": "millstream.training.optimizer",
    "training.slot_creator": "millstream.training.slot_creator",
    "training.moving_averages": "millstream.training.moving_averages",
    "training.queue_runner": "millstream.training.queue_runner_impl",
    "training.queue_runner_impl": "millstream.training.queue_runner_impl",
    "training.coordinator": "millstream.training.coordinator", "training.server_lib": "millstream.training.server_lib",
    "training.device_setter": "millstream.training.device_setter",
    "training.session_manager": "millstream.training.session_manager",
    "training.checkpoint_management": "millstream.training.checkpoint_management",
    "training.checkpoint_utils": "millstream.training.checkpoint_utils",
    "training.sync_replicas_optimizer": "millstream.training.sync_replicas_optimizer",
    "training.learning_rate_decay": "millstream.training.learning_rate_decay",
    "training.input": "millstream.training.input", "training.adam": "millstream.training.adam",
    "training.gradient_descent": "millstream.training.gradient_descent",
    "training.momentum": "millstream.training.momentum", "training.adagrad": "millstream.training.adagrad",
    "training.rmsprop": "millstream.training.rmsprop", "training.ftrl": "millstream.training.ftrl",
    "training.adadelta": "millstream.training.adadelta", "client.timeline": "millstream.training.timeline",
    "ops.variables": "millstream.ops.variables.variables", "ops.variable_scope": "millstream.ops.variables.variable_scope",
    "ops.init_ops": "millstream.ops.variables.init_ops", "ops.state_ops": "millstream.ops.variables.state_ops",
    "ops.data_flow_ops": "millstream.ops.queues.data_flow_ops",
    "ops.partitioned_variables": "millstream.ops.variables.partitioned_variables",
    "ops.resource_variable_ops": "millstream.ops.variables.resource_variable_ops", "ops.io_ops": "millstream.ops.io.io_ops",
    "ops.parsing_ops": "millstream.ops.io.parsing_ops", "ops.template": "millstream.ops.variables.template",
    "lib.io.tf_record": "millstream.ops.io.python_io", "lib.io.python_io": "millstream.ops.io.python_io",
    "summary.summary": "millstream.events.summary_ops", "summary.writer.writer": "millstream.events.writer",
    "summary.writer.writer_cache": "millstream.events.writer_cache",
    "platform.resource_loader": "millstream.platform.resource_loader",
    "data.ops.dataset_ops": "millstream.datasets.dataset_ops",
    "data.ops.iterator_ops": "millstream.datasets.iterator_ops",
    "saved_model.builder": "millstream.savedmodel.saved_model",
    "saved_model.loader": "millstream.savedmodel.saved_model",
    "saved_model.tag_constants": "millstream.savedmodel.constants",
    "saved_model.signature_constants": "millstream.savedmodel.constants",
    "saved_model.signature_def_utils": "millstream.savedmodel.signatures",
    "saved_model.utils": "millstream.savedmodel.signatures",
    "layers.utils": "millstream.ops.contrib.utils", "framework.smart_cond": "millstream.ops.flow.control_flow_ops",
    "pywrap_tensorflow": "millstream.training.checkpoint_utils",
    "tools.inspect_checkpoint": "millstream.training.inspect_checkpoint",
    "tools.freeze_graph": "millstream.training.freeze_graph",
    "framework.graph_util": "millstream.framework.graph_util", "framework.graph_util_impl": "millstream.framework.graph_util",
    "framework.graph_io": "millstream.framework.graph_util", "framework.common_shapes": "millstream.framework.tensor_shape",
    "util.nest": "millstream.ops.nest", "data.util.nest": "millstream.ops.nest",
    "util.deprecation": "millstream.platform.internals", "util.tf_export": "millstream.platform.internals",
    "eager.context": "millstream.platform.internals", "platform.test": "millstream.test",
    "layers.base": "millstream.ops.layers.base", "layers.core": "millstream.ops.layers.core",
    "layers.convolutional": "millstream.ops.layers.conv", "layers.normalization": "millstream.ops.layers.norm",
    "layers.pooling": "millstream.ops.layers.pool",
    "ops.rnn": "millstream.ops.rnn.rnn", "ops.rnn_cell": "millstream.ops.rnn.rnn_cell", "ops.rnn_cell_impl": "millstream.ops.rnn.rnn_cell",
    "ops.gen_audio_ops": "millstream.ops.signal.audio_ops", "ops.nn": "millstream.nn",
    "ops.losses": "millstream.ops.losses.losses", "ops.losses.losses": "millstream.ops.losses.losses",
    "ops.losses.losses_impl": "millstream.ops.losses.losses", "ops.losses.util": "millstream.ops.losses.losses",
    "ops.metrics": "millstream.metrics", "ops.metrics_impl": "millstream.metrics", "ops.nest": "millstream.ops.nest",
    "ops.distributions": "millstream.distributions",
    **{f"ops.distributions.{m}": "millstream.ops.random.distributions" for m in (
        "bernoulli", "categorical", "distribution", "kullback_leibler", "laplace", "normal", "uniform")},
    **{f"ops.distributions.{m}": "millstream.ops.random.distributions_more" for m in (
        "beta", "dirichlet", "dirichlet_multinomial", "exponential", "gamma", "multinomial", "student_t")},
    "summary.summary_iterator": "millstream.events.writer", "training.summary_io": "millstream.summary",
    "data.experimental": "millstream.data.experimental",
    **{f"estimator.{m}": "millstream.estimator" for m in ("estimator", "model_fn", "run_config", "training", "inputs", "export")},
}
# Where a name of any other module of tensorflow.python may be found.
_NAMESPACES = ("", "nn", "train", "layers", "losses", "metrics", "math", "linalg", "image", "summary", "data", "random",
               "initializers", "keras.layers", "io", "python_io", "saved_model", "nest", "strings", "sparse", "nn.rnn_cell",
               "gfile", "test", "errors", "contrib.layers", "contrib.framework")


def _find(name):
    for space in _NAMESPACES:
        at = sys.modules.get("millstream." + space if space else "millstream")
        if at is not None:
            found = getattr(at, name, None)
            if found is not None:
                return found
    return None


def _our_part(path):
    """Our module for tensorflow.python.<path>: from the table, or the one of the same name in that folder or in a folder of it."""
    if path in _PARTS:
        return _PARTS[path]
    folder, _, last = path.partition(".")
    if folder not in ("ops", "framework", "training") or not last or "." in last:
        return None
    return _modules_below(f"millstream.{folder}").get(last)


@functools.lru_cache(None)
def _modules_below(package):
    """{last part of the name: full name} of the modules in a package and in its folders; only the (empty) packages are imported."""
    path = importlib.import_module(package).__path__
    found = {}
    for info in pkgutil.walk_packages(path, package + "."):
        if not info.ispkg:
            found.setdefault(info.name.rpartition(".")[2], info.name)
    return found


class _Part(types.ModuleType):
    """A module of tensorflow.python: names come from our module of that part, then from the public namespaces."""

    def __init__(self, name, modules):
        super().__init__(name)
        self.__path__ = []
        self.__dict__["_modules"] = modules

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        for module in self._modules:
            found = getattr(importlib.import_module(module), name, None)
            if found is not None:
                return found
        if self.__name__.startswith("tensorflow.contrib."):
            found = _find(name)
            if found is not None and not isinstance(found, types.ModuleType):
                return found
            if name in _MODULE_NAMES or name.endswith(_SUFFIXES) or isinstance(found, types.ModuleType):
                return importlib.import_module(f"{self.__name__}.{name}")
        try:
            return importlib.import_module(f"{self.__name__}.{name}") if _is_module(f"{self.__name__}.{name}") else _any(name)
        except ImportError:
            pass
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")


def _any(name):
    found = _find(name)
    if found is None:
        raise ImportError(name)
    return found


_GROUPS = ("framework", "ops", "client", "platform", "training", "util", "lib", "lib.io", "layers", "summary", "data", "saved_model",
           "summary.writer", "estimator", "keras", "training.training", "debug", "tools", "feature_column", "data.ops", "data.util",
           "eager")
_SUFFIXES = ("_ops", "_impl", "_lib", "_util", "_utils", "_hooks", "_hook", "_pb2", "_cell", "_cell_impl", "_v1", "_loss")


def _is_module(full):
    """Whether a name below tensorflow.python is more likely a module than something in one."""
    path = full.split(".", 2)[2] if full.startswith("tensorflow.python.") else ""
    last = path.rpartition(".")[2]
    return path in _PARTS or path in _GROUPS or (_find(last) is None and (last.endswith(_SUFFIXES) or last in _MODULE_NAMES))


_MODULE_NAMES = frozenset("""
    ops dtypes variables variable_scope rnn rnn_cell session saver optimizer adam gradient_descent momentum supervisor coordinator
    queue_runner input moving_averages training training_util monitored_session server_lib basic_session_run_hooks nest
    compat math_grad nn_grad core normalization convolutional pooling function partitioned_variables embedding_ops
    tensor_shape errors tensor_util graph_util graph_io checkpoint_management slot_creator sync_replicas_optimizer
    device_setter session_manager attention_wrapper beam_search_decoder basic_decoder decoder helper layers initializers regularizers
    evaluation python_io tf_record tensor_array_ops tensor session_run_hook tf_inspect resource_loader
    """.split())


_HOROVOD = {"horovod.tensorflow": "", "horovod.tensorflow.elastic": ".elastic", "horovod.tensorflow.compression": ".compression",
            "horovod.tensorflow.keras": ".keras", "horovod.tensorflow.keras.callbacks": ".keras.callbacks",
            "horovod.tensorflow.keras.elastic": ".keras.elastic", "horovod.keras": ".keras", "horovod.keras.callbacks": ".keras.callbacks",
            "horovod.keras.elastic": ".keras.elastic", "horovod.common.exceptions": ".exceptions",
            "horovod.common.process_sets": ".process_sets", "horovod.common.elastic": ".elastic"}


def _horovod_module(name):
    if name in ("horovod", "horovod.common"):
        module = types.ModuleType(name, "Horovod's names for parts of millstream.horovod.")
        module.__path__ = []
        return module
    return importlib.import_module("millstream.horovod" + _HOROVOD[name]) if name in _HOROVOD else None


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self):
        self._specs = {}

    def find_spec(self, name, path=None, target=None):
        if name == "tensorflow" or name.startswith("tensorflow."):
            if self._module(name) is None:
                return None
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        if name in _HOROVOD or name in ("horovod", "horovod.common"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        if name == "input_data" and importlib.machinery.PathFinder.find_spec(name) is None:  # the program's own comes first
            return importlib.machinery.ModuleSpec(name, self)
        return None

    def create_module(self, spec):
        module = self._module(spec.name)
        self._specs[spec.name] = getattr(module, "__spec__", None)
        return module

    def exec_module(self, module):
        """The module is there already; the import machinery has replaced its spec by that of the alias."""
        alias = module.__spec__.name
        module.__spec__ = self._specs.pop(alias) or module.__spec__

    def _module(self, name):
        if name == "input_data":
            return _public(_INPUT_DATA)
        if name.startswith("horovod"):
            return _horovod_module(name)
        rest = name[len("tensorflow."):] if name != "tensorflow" else ""
        for version in ("compat.v1", "compat.v2", "_api.v1", "_api.v2.compat.v1"):
            if rest == version:
                return millstream
            if rest.startswith(version + "."):
                rest = rest[len(version) + 1:]
        if rest in ("", "python"):
            return millstream if not rest else _Part(name, ["millstream"])
        if rest.startswith("python."):
            path = rest[len("python."):]
            if path == "keras" or path.startswith("keras."):
                found = _public("millstream." + path)
                if found is not None:
                    return found
            part = _our_part(path)
            return _Part(name, [part] if part else []) if part or _is_module(name) else None
        if rest == "core" or rest.startswith("core."):
            return _message_module(name, rest)
        if rest.startswith("contrib.slim.python.slim."):
            found = _public("millstream.contrib.slim." + rest[len("contrib.slim.python.slim."):])
            if found is not None:
                return found
        if rest.startswith("contrib.") and ".python" in rest and not rest.startswith("contrib.learn."):
            return _inside_contrib(name, rest)
        return _public("millstream." + rest)


# Modules inside of contrib with names that are public nowhere.
_CONTRIB_HELPERS = {"utils": ["millstream.ops.contrib.utils"], "audio_ops": ["millstream.ops.signal.audio_ops"]}


def _inside_contrib(name, rest):
    """tensorflow.contrib.AREA.python and what is below it: the names of tf.contrib.AREA, or public ones from anywhere."""
    parts = rest.split(".")
    if len(parts) < 3 or parts[0] != "contrib" or parts[2] != "python" or parts[1] == "learn" or \
            _public(f"millstream.contrib.{parts[1]}") is None:
        return None
    helpers = _CONTRIB_HELPERS.get(parts[-1], [])
    return _Part(name, helpers + [f"millstream.contrib.{parts[1]}"]) if len(parts) < 6 else None


def _message_module(name, rest):
    """tensorflow.core.framework.graph_pb2 and the like."""
    last = rest.rpartition(".")[2]
    if not last.endswith("_pb2"):
        return _Part(name, [])
    try:
        return importlib.import_module("millstream.proto." + last)
    except ImportError:
        return None


def _public(name):
    """The namespace, or the exported module, under a public name; None if there is none."""
    at = millstream
    for part in name.split(".")[1:]:
        at = getattr(at, part, None)
        if at is None:
            return None
    return at if isinstance(at, types.ModuleType) else None


_installed = False


def install():
    """After this, `import tensorflow` gives millstream in this process."""
    global _installed
    if _installed:
        return
    _installed = True
    if "tensorflow" in sys.modules and sys.modules["tensorflow"] is not millstream:
        raise RuntimeError("TensorFlow itself has been imported already")
    sys.modules["tensorflow"] = millstream
    sys.modules["tensorflow.compat.v1"] = millstream
    sys.modules["tensorflow.compat"] = importlib.import_module("millstream.compat")
    sys.meta_path.insert(0, _Finder())
    sys.meta_path.append(companions.Finder())
