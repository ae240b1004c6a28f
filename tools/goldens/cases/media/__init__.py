# SPDX-License-Identifier: Apache-2.0
"""Pictures and sounds: what mobile graphs and speech models do with them."""
from cases.media import fused, quantized, sounds


def cases():
  fused.cases()
  sounds.cases()
  quantized.cases()
