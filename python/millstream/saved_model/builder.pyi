# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.savedmodel.saved_model import SavedModelBuilder as SavedModelBuilder

__all__ = [
    "SavedModelBuilder",
]
