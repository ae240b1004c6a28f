# SPDX-License-Identifier: Apache-2.0
"""The numbers by which collective ops of different ranks find each other. As in Horovod they follow from the names of the ops, so ranks may
build, and run, their ops in any order."""
from __future__ import annotations

import hashlib

_owners: dict = {}  # key -> the name that it was made of


def instance_key(name):
    """The same for the same name on all ranks; different for different names."""
    for attempt in range(1000):
        text = name if attempt == 0 else f"{name}#{attempt}"
        key = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") & 0x7fffffff
        if _owners.setdefault(key, name) == name:
            return key
    raise ValueError(f"no free instance key for {name}: all that were tried belong to other names")
