# SPDX-License-Identifier: Apache-2.0
"""Control flow: branches, loops, groups, tensor arrays, functions over the first axis."""
