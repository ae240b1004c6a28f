# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.nets import alexnet as alexnet
from millstream.nets import resnet_utils as resnet_utils
from millstream.nets import resnet_v1 as resnet_v1
from millstream.nets import resnet_v2 as resnet_v2
from millstream.nets import vgg as vgg

__all__ = [
    "alexnet",
    "resnet_utils",
    "resnet_v1",
    "resnet_v2",
    "vgg",
]
