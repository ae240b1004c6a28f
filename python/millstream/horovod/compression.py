# SPDX-License-Identifier: Apache-2.0
"""How tensors are made smaller while they travel."""
from __future__ import annotations

from millstream.worker_modes import gradient_compression


class Compressor:
    """compress(tensor) -> (tensor that travels, context); decompress(tensor, context) undoes it."""

    @staticmethod
    def compress(tensor):
        raise NotImplementedError

    @staticmethod
    def decompress(tensor, ctx):
        raise NotImplementedError


class NoneCompressor(Compressor):
    @staticmethod
    def compress(tensor):
        return tensor, None

    @staticmethod
    def decompress(tensor, ctx):
        return tensor


class FP16Compressor(Compressor):
    """Floats travel, and are summed, with 16 bits."""

    @staticmethod
    def compress(tensor):
        return gradient_compression.narrow(tensor, "fp16"), tensor.dtype

    @staticmethod
    def decompress(tensor, ctx):
        return gradient_compression.widen(tensor, ctx)


class Compression:
    none = NoneCompressor
    fp16 = FP16Compressor
