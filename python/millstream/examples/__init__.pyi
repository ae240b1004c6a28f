# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.examples import tutorials as tutorials

__all__ = [
    "tutorials",
]
