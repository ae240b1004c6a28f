# SPDX-License-Identifier: Apache-2.0
"""Datasets and iterators."""
from cases.data import devices, first_names, iterators, selections, sources, transformations, versions, whole


def cases():
  sources.sources()
  transformations.windows()
  whole.whole()
  whole.more()
  transformations.transformations()
  iterators.iterators()
  selections.selections()
  selections.older()
  sources.files()
  first_names.first_names()
  versions.versions()
  devices.devices()
