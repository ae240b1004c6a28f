# SPDX-License-Identifier: Apache-2.0
"""Assertions, printing from a graph, numeric checks of gradients."""
