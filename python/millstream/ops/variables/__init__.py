# SPDX-License-Identifier: Apache-2.0
"""Variables: their kinds, scopes, initializers, collections, and the ops that change them."""
