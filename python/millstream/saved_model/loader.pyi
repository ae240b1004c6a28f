# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.savedmodel.saved_model import load as load
from millstream.savedmodel.saved_model import maybe_saved_model_directory as maybe_saved_model_directory

__all__ = [
    "load",
    "maybe_saved_model_directory",
]
