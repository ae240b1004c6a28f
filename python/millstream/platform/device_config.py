# SPDX-License-Identifier: Apache-2.0
"""tf.config: the devices of this machine (its CPU), and settings of sessions that get no ConfigProto of their own."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from millstream.client import default_config

if TYPE_CHECKING:
    from typing import Any

PhysicalDevice = collections.namedtuple("PhysicalDevice", ["name", "device_type"])
LogicalDevice = collections.namedtuple("LogicalDevice", ["name", "device_type"])
_settings = {"soft": False, "intra": 0, "inter": 0, "jit": "", "experimental": {}, "cpus": None}


class LogicalDeviceConfiguration:
    """One of the logical devices that a physical one is divided into."""

    def __init__(self, memory_limit: Any = None, experimental_priority: Any = None,
                 experimental_device_ordinal: Any = None) -> None:
        self.memory_limit, self.experimental_priority = memory_limit, experimental_priority
        self.experimental_device_ordinal = experimental_device_ordinal


_CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")


def _of_kind(devices, device_type):
    return [d for d in devices if device_type in (None, d.device_type)]


def list_physical_devices(device_type: Any = None) -> Any:
    return _of_kind([_CPU], device_type)


def list_logical_devices(device_type=None):
    count = len(_settings["cpus"] or [None])
    return _of_kind([LogicalDevice(f"/device:CPU:{i}", "CPU") for i in range(count)], device_type)


def get_visible_devices(device_type: Any = None) -> Any:
    return list_physical_devices(device_type)


def _check_known(devices):
    for device in devices:
        if device != _CPU:
            raise ValueError(f"Unrecognized device: {device!r}")


def set_visible_devices(devices: Any, device_type: Any = None) -> None:
    """Hiding GPUs is what happens anyway; the CPU cannot be hidden."""
    devices = list(devices) if isinstance(devices, (list, tuple)) and not isinstance(devices, PhysicalDevice) else [devices] if devices else []
    _check_known(devices)
    if not devices and device_type in (None, "CPU"):
        raise NotImplementedError("tf.config.set_visible_devices(): the CPU cannot be hidden")


def get_memory_growth(device: Any) -> Any:
    raise ValueError(f"Memory growth is a setting of GPUs, not of {device}")


def set_memory_growth(device: Any, enable: Any) -> Any:
    raise ValueError(f"Memory growth is a setting of GPUs, not of {device} ({enable})")


def get_logical_device_configuration(device: Any) -> Any:
    _check_known([device])
    return _settings["cpus"]


def set_logical_device_configuration(device: Any, logical_devices: Any) -> None:
    _check_known([device])
    if any(d.memory_limit is not None for d in logical_devices):
        raise ValueError("Setting memory limit on CPU virtual devices is currently not supported")
    if any(d.experimental_priority is not None for d in logical_devices):
        raise ValueError("Setting experimental_priority on CPU virtual devices is currently not supported")
    _settings["cpus"], count = list(logical_devices), len(logical_devices)
    default_config.change(lambda config: config.device_count.update({"CPU": count}))


def get_soft_device_placement() -> Any:
    return _settings["soft"]


def set_soft_device_placement(enabled: Any) -> None:
    _settings["soft"] = enabled
    default_config.change(lambda config: setattr(config, "allow_soft_placement", enabled))


def get_intra_op_parallelism_threads() -> Any:
    return _settings["intra"]


def set_intra_op_parallelism_threads(num_threads: Any) -> None:
    _settings["intra"] = num_threads
    default_config.change(lambda config: setattr(config, "intra_op_parallelism_threads", num_threads))


def get_inter_op_parallelism_threads() -> Any:
    return _settings["inter"]


def set_inter_op_parallelism_threads(num_threads: Any) -> None:
    _settings["inter"] = num_threads
    default_config.change(lambda config: setattr(config, "inter_op_parallelism_threads", num_threads))


def get_jit() -> Any:
    return _settings["jit"]


def set_jit(enabled: Any) -> None:
    """A hint about speed, kept: there is no compiler that would follow it."""
    _settings["jit"] = "autoclustering" if enabled in (True, "autoclustering") else ""


def get_experimental_options():
    return dict(_settings["experimental"])


def set_experimental_options(options):
    """Switches of rewrites, {"constant_folding": False}; rewrites that are not done here cannot be switched."""
    known = {"disable_meta_optimizer", "constant_folding", "common_subgraph_elimination", "arithmetic_optimization", "remapping",
             "function_optimization", "auto_mixed_precision"}
    _settings["experimental"].update(options)
    default_config.change(lambda config: _set_rewrites(config.graph_options.rewrite_options,
                                                       {k: v for k, v in options.items() if k in known}))


def _set_rewrites(rewrites, options):
    from millstream.proto import rewriter_config_pb2
    toggle = rewriter_config_pb2.RewriterConfig
    for name, value in options.items():
        if name == "disable_meta_optimizer":
            rewrites.disable_meta_optimizer = value
        else:
            setattr(rewrites, name, toggle.ON if value else toggle.OFF)


def functions_run_eagerly() -> Any:
    return False


def run_functions_eagerly(run_eagerly: Any) -> None:
    if run_eagerly:
        raise NotImplementedError("Functions are built into graphs: there is no eager execution.")
