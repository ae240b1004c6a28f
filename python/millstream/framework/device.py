# SPDX-License-Identifier: Apache-2.0
"""Device names and how they are merged."""


from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class DeviceSpec:
    """The parts of a device name; each may be absent."""

    __slots__ = ("job", "replica", "task", "device_type", "device_index")

    def __init__(self, job: Any = None, replica: Any = None, task: Any = None, device_type: Any = None,
                 device_index: Any = None) -> None:
        self.job = None if job is None else str(job)
        self.replica = None if replica is None else int(replica)
        self.task = None if task is None else int(task)
        self.device_type = None if device_type is None else str(device_type).upper()
        self.device_index = None if device_index is None else int(device_index)

    @classmethod
    def from_string(cls, spec: Any) -> DeviceSpec:
        return cls().parse_from_string(spec)

    def parse_from_string(self, spec: Any) -> DeviceSpec:
        for part in (spec or "").split("/"):
            if not part:
                continue
            key, *rest = part.split(":")
            try:
                self._set_part(key, rest)
            except (ValueError, IndexError):
                raise ValueError(f"Unknown attribute '{key}' is encountered while parsing the device spec: '{spec}'."
                                 if key.lower() not in ("job", "replica", "task", "device", "cpu", "gpu")
                                 else f"Cannot parse the device spec '{spec}'") from None
        return self

    def _set_part(self, key, rest):
        if key == "job":
            (self.job,) = rest
        elif key == "replica":
            (value,) = rest
            self.replica = int(value)
        elif key == "task":
            (value,) = rest
            self.task = int(value)
        elif key == "device":
            self.device_type = rest[0].upper()
            self._set_index(rest[1:])
        elif len(rest) <= 1 and key.upper() in ("CPU", "GPU"):
            self.device_type = key.upper()
            self._set_index(rest)
        else:
            raise ValueError(key)

    def _set_index(self, rest):
        if rest and rest[0] != "*":
            self.device_index = int(rest[0])
        else:
            self.device_index = None

    def merge_from(self, dev: Any) -> None:
        """Takes the parts that `dev` has."""
        for part in ("job", "replica", "task", "device_type"):
            value = getattr(dev, part)
            if value is not None:
                setattr(self, part, value)
        if dev.device_type is not None or dev.device_index is not None:
            self.device_index = dev.device_index if dev.device_index is not None else self.device_index

    def make_merged_spec(self, dev: Any) -> DeviceSpec:
        merged = DeviceSpec(self.job, self.replica, self.task, self.device_type, self.device_index)
        merged.merge_from(dev)
        return merged

    def replace(self, **kwargs: Any) -> DeviceSpec:
        parts = {part: getattr(self, part) for part in self.__slots__}
        parts.update(kwargs)
        return DeviceSpec(**parts)

    def to_string(self) -> str:
        text = ""
        if self.job is not None:
            text += "/job:" + self.job
        if self.replica is not None:
            text += f"/replica:{self.replica}"
        if self.task is not None:
            text += f"/task:{self.task}"
        if self.device_type is not None:
            text += f"/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}"
        return text

    def __eq__(self, other):
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self):
        return hash(self.to_string())

    def __repr__(self):
        return f"<DeviceSpec {self.to_string()!r}>"


def canonical_name(device):
    if device is None:
        return ""
    return device.to_string() if isinstance(device, DeviceSpec) else DeviceSpec.from_string(device).to_string()


def merge_device(spec):
    """A device function that adds the parts of `spec` that a node does not have yet: inner scopes win."""
    spec = spec if isinstance(spec, DeviceSpec) else DeviceSpec.from_string(spec or "")

    def merge(node_device):
        merged = DeviceSpec(spec.job, spec.replica, spec.task, spec.device_type, spec.device_index)
        merged.merge_from(DeviceSpec.from_string(node_device or ""))
        return merged.to_string()

    return merge
