# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.lookup.lookup_ops import tables_initializer as tables_initializer
from millstream.ops.variables.init_ops import Constant as constant
from millstream.ops.variables.init_ops import GlorotNormal as glorot_normal
from millstream.ops.variables.init_ops import GlorotUniform as glorot_uniform
from millstream.ops.variables.init_ops import Identity as identity
from millstream.ops.variables.init_ops import Ones as ones
from millstream.ops.variables.init_ops import Orthogonal as orthogonal
from millstream.ops.variables.init_ops import RandomNormal as random_normal
from millstream.ops.variables.init_ops import RandomUniform as random_uniform
from millstream.ops.variables.init_ops import TruncatedNormal as truncated_normal
from millstream.ops.variables.init_ops import UniformUnitScaling as uniform_unit_scaling
from millstream.ops.variables.init_ops import VarianceScaling as variance_scaling
from millstream.ops.variables.init_ops import Zeros as zeros
from millstream.ops.variables.init_ops import he_normal as he_normal
from millstream.ops.variables.init_ops import he_uniform as he_uniform
from millstream.ops.variables.init_ops import lecun_normal as lecun_normal
from millstream.ops.variables.init_ops import lecun_uniform as lecun_uniform
from millstream.ops.variables.variable_collections import global_variables_initializer as global_variables
from millstream.ops.variables.variable_collections import local_variables_initializer as local_variables
from millstream.ops.variables.variable_collections import variables_initializer as variables

__all__ = [
    "constant",
    "global_variables",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "local_variables",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "tables_initializer",
    "truncated_normal",
    "uniform_unit_scaling",
    "variables",
    "variance_scaling",
    "zeros",
]
