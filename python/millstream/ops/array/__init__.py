# SPDX-License-Identifier: Apache-2.0
"""Shapes of tensors, joining and splitting, choosing elements."""
