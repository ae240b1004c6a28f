# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.platform.device_config import LogicalDeviceConfiguration as VirtualDeviceConfiguration
from millstream.platform.device_config import get_logical_device_configuration as get_virtual_device_configuration
from millstream.platform.device_config import get_memory_growth as get_memory_growth
from millstream.platform.device_config import get_visible_devices as get_visible_devices
from millstream.platform.device_config import list_logical_devices as list_logical_devices
from millstream.platform.device_config import list_physical_devices as list_physical_devices
from millstream.platform.device_config import set_logical_device_configuration as set_virtual_device_configuration
from millstream.platform.device_config import set_memory_growth as set_memory_growth
from millstream.platform.device_config import set_visible_devices as set_visible_devices

__all__ = [
    "VirtualDeviceConfiguration",
    "get_memory_growth",
    "get_virtual_device_configuration",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "set_memory_growth",
    "set_virtual_device_configuration",
    "set_visible_devices",
]
