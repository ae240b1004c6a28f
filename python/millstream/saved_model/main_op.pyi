# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.savedmodel.signatures import main_op as main_op
from millstream.savedmodel.signatures import main_op_with_restore as main_op_with_restore

__all__ = [
    "main_op",
    "main_op_with_restore",
]
