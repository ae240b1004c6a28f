# SPDX-License-Identifier: Apache-2.0
"""Ops that few graphs have."""
from cases.uncommon import features, layers, numbers, resources


def cases():
  features.bincounts()
  features.data_formats()
  features.fingerprints()
  layers.blocks()
  layers.dilations()
  layers.quantized()
  numbers.samplers()
  numbers.sobol()
  numbers.distributions()
  layers.beams()
  resources.reshapes()
  resources.slice_updates()
  resources.packed_records()
  resources.remappings()
  features.crosses()
  layers.fractional()
  numbers.integrals()
  resources.loops()
  features.sequences()
  resources.dense_tables()
  resources.variables()
  numbers.clusters()
  features.ragged_crosses()
  resources.stubs()
