# SPDX-License-Identifier: Apache-2.0
"""tf.version and tf.sysconfig: what programs ask about the version of TensorFlow whose interface this is."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

VERSION = "1.15.5"
GIT_VERSION = "v1.15.5"
COMPILER_VERSION = "12"
GRAPH_DEF_VERSION = 134
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0
CXX11_ABI_FLAG = 1
MONOLITHIC_BUILD = 1


def get_include() -> Any:
    """Headers of the C++ library, where they are installed with the package."""
    return os.path.join(os.path.dirname(os.path.dirname(__file__)), "include")


def get_lib() -> Any:
    return os.path.dirname(os.path.dirname(__file__))


def get_compile_flags() -> Any:
    return [f"-I{get_include()}", f"-D_GLIBCXX_USE_CXX11_ABI={CXX11_ABI_FLAG}"]


def get_link_flags() -> Any:
    return [f"-L{get_lib()}"]
