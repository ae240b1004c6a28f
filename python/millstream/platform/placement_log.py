# SPDX-License-Identifier: Apache-2.0
"""tf.debugging.set_log_device_placement: sessions without a ConfigProto of their own say where they place nodes."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.client import default_config

if TYPE_CHECKING:
    from typing import Any

_enabled = False


def set_log_device_placement(enabled: Any) -> None:
    global _enabled
    _enabled = bool(enabled)
    default_config.change(lambda config: setattr(config, "log_device_placement", bool(enabled)))


def get_log_device_placement() -> Any:
    return _enabled
