# SPDX-License-Identifier: Apache-2.0
"""tf.config: what programs ask about the devices of this machine. There is its processor; settings of others do nothing."""
import collections

PhysicalDevice = collections.namedtuple("PhysicalDevice", ["name", "device_type"])
LogicalDevice = collections.namedtuple("LogicalDevice", ["name", "device_type"])
_settings = {"soft": False, "intra": 0, "inter": 0, "jit": "", "experimental": {}}


class LogicalDeviceConfiguration:
    """Accepted where programs limit the memory of a GPU."""

    def __init__(self, memory_limit=None, experimental_priority=None, experimental_device_ordinal=None):
        self.memory_limit = memory_limit


def _listed(kind, device, device_type):
    return [device] if device_type in (None, kind) else []


def list_physical_devices(device_type=None):
    return _listed("CPU", PhysicalDevice("/physical_device:CPU:0", "CPU"), device_type)


def list_logical_devices(device_type=None):
    return _listed("CPU", LogicalDevice("/device:CPU:0", "CPU"), device_type)


def get_visible_devices(device_type=None):
    return list_physical_devices(device_type)


def set_visible_devices(devices, device_type=None):
    del devices, device_type


def get_memory_growth(device):
    raise ValueError(f"Memory growth is a setting of GPUs, not of {device}")


def set_memory_growth(device, enable):
    raise ValueError(f"Memory growth is a setting of GPUs, not of {device} ({enable})")


def get_logical_device_configuration(device):
    del device


def set_logical_device_configuration(device, logical_devices):
    del device, logical_devices


def get_soft_device_placement():
    return _settings["soft"]


def set_soft_device_placement(enabled):
    _settings["soft"] = enabled


def get_intra_op_parallelism_threads():
    return _settings["intra"]


def set_intra_op_parallelism_threads(num_threads):
    _settings["intra"] = num_threads


def get_inter_op_parallelism_threads():
    return _settings["inter"]


def set_inter_op_parallelism_threads(num_threads):
    _settings["inter"] = num_threads


def get_jit():
    return _settings["jit"]


def set_jit(enabled):
    _settings["jit"] = "autoclustering" if enabled in (True, "autoclustering") else ""


def get_experimental_options():
    return dict(_settings["experimental"])


def set_experimental_options(options):
    _settings["experimental"].update(options)


def functions_run_eagerly():
    return False


def run_functions_eagerly(run_eagerly):
    if run_eagerly:
        raise NotImplementedError("Functions are built into graphs: there is no eager execution.")
