# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.plain_ops import fft as fft
from millstream.ops.plain_ops import fft2d as fft2d
from millstream.ops.plain_ops import fft3d as fft3d
from millstream.ops.plain_ops import ifft as ifft
from millstream.ops.plain_ops import ifft2d as ifft2d
from millstream.ops.plain_ops import ifft3d as ifft3d
from millstream.ops.plain_ops import irfft as irfft
from millstream.ops.plain_ops import irfft2d as irfft2d
from millstream.ops.plain_ops import irfft3d as irfft3d
from millstream.ops.plain_ops import rfft as rfft
from millstream.ops.plain_ops import rfft2d as rfft2d
from millstream.ops.plain_ops import rfft3d as rfft3d
from millstream.ops.signal.signal_ops import dct as dct
from millstream.ops.signal.signal_ops import idct as idct

__all__ = [
    "dct",
    "fft",
    "fft2d",
    "fft3d",
    "idct",
    "ifft",
    "ifft2d",
    "ifft3d",
    "irfft",
    "irfft2d",
    "irfft3d",
    "rfft",
    "rfft2d",
    "rfft3d",
]
