# SPDX-License-Identifier: Apache-2.0
"""Distributed TensorFlow 1.x, built anew: `import millstream as tf`.

Names are found when they are first used: the tables in millstream/exports say which module defines what.
"""
from millstream import _lazy
from millstream._version import RELEASE  # written by the build from millstream/base/version.h
from millstream.platform.version import VERSION

__version__ = VERSION  # of TensorFlow, whose interface this is: programs compare it with 1.x
__millstream_version__ = RELEASE

_lazy.install(__name__, globals())
