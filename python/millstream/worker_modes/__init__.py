# SPDX-License-Identifier: Apache-2.0
"""Optimizers that change how the gradients of several workers travel: see docs/modes.md."""
