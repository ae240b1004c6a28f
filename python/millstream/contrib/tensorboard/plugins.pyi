# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.events import projector as projector

__all__ = [
    "projector",
]
