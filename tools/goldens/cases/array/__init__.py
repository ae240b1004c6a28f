# SPDX-License-Identifier: Apache-2.0
"""Ops that move, cut, join and index elements, and ops on shapes."""
from cases.array import moves, shapes


def cases():
  shapes.shapes_of_things()
  shapes.same_elements()
  shapes.joined()
  shapes.cut()
  moves.moved()
  moves.indexed()
  moves.spaces()
  moves.filled()
