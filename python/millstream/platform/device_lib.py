# SPDX-License-Identifier: Apache-2.0
"""Devices of this machine."""


from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def list_local_devices(session_config=None):
    from millstream.client import session
    from millstream.framework.graph import Graph
    from millstream.proto import device_attributes_pb2
    with Graph().as_default():
        local = session.Session(config=session_config)
    devices = []
    for d in local.list_devices():
        devices.append(device_attributes_pb2.DeviceAttributes(
            name=d.name.replace("/job:localhost/replica:0/task:0", ""), device_type=d.device_type,
            memory_limit=d.memory_limit_bytes, incarnation=d.incarnation))
    local.close()
    return devices


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> Any:
    return any(d.device_type == "GPU" for d in list_local_devices())


def gpu_device_name() -> Any:
    return next((d.name for d in list_local_devices() if d.device_type == "GPU"), "")
