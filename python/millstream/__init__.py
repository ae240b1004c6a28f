# SPDX-License-Identifier: Apache-2.0
"""Distributed TensorFlow 1.x, built anew: `import millstream as tf`.

Names are found when they are first used: the tables in millstream/exports say which module defines what.
"""
from millstream import _lazy

__version__ = "0.1.0"
VERSION = "1.15.0"  # of the interface that programs see

_lazy.install(__name__, globals())
