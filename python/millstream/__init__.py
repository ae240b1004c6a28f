# SPDX-License-Identifier: Apache-2.0
"""Distributed TensorFlow 1.x, built anew: `import millstream as tf`.

Names are found when they are first used: the tables in millstream/exports say which module defines what.
"""
from millstream import _lazy
from millstream._version import RELEASE  # written by the build from millstream/base/version.h

__version__ = RELEASE
VERSION = "1.15.0"  # of the interface that programs see

_lazy.install(__name__, globals())
