# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.config import experimental as experimental
from millstream.config import optimizer as optimizer
from millstream.config import threading as threading
from millstream.platform.device_config import LogicalDevice as LogicalDevice
from millstream.platform.device_config import LogicalDeviceConfiguration as LogicalDeviceConfiguration
from millstream.platform.device_config import PhysicalDevice as PhysicalDevice
from millstream.platform.device_config import functions_run_eagerly as functions_run_eagerly
from millstream.platform.device_config import get_logical_device_configuration as get_logical_device_configuration
from millstream.platform.device_config import get_soft_device_placement as get_soft_device_placement
from millstream.platform.device_config import get_visible_devices as get_visible_devices
from millstream.platform.device_config import list_logical_devices as list_logical_devices
from millstream.platform.device_config import list_physical_devices as list_physical_devices
from millstream.platform.device_config import run_functions_eagerly as run_functions_eagerly
from millstream.platform.device_config import set_logical_device_configuration as set_logical_device_configuration
from millstream.platform.device_config import set_soft_device_placement as set_soft_device_placement
from millstream.platform.device_config import set_visible_devices as set_visible_devices

__all__ = [
    "LogicalDevice",
    "LogicalDeviceConfiguration",
    "PhysicalDevice",
    "experimental",
    "functions_run_eagerly",
    "get_logical_device_configuration",
    "get_soft_device_placement",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "optimizer",
    "run_functions_eagerly",
    "set_logical_device_configuration",
    "set_soft_device_placement",
    "set_visible_devices",
    "threading",
]
