# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.random.distributions import Bernoulli as Bernoulli
from millstream.ops.random.distributions import Categorical as Categorical
from millstream.ops.random.distributions import Distribution as Distribution
from millstream.ops.random.distributions import FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED
from millstream.ops.random.distributions import Laplace as Laplace
from millstream.ops.random.distributions import NOT_REPARAMETERIZED as NOT_REPARAMETERIZED
from millstream.ops.random.distributions import Normal as Normal
from millstream.ops.random.distributions import RegisterKL as RegisterKL
from millstream.ops.random.distributions import ReparameterizationType as ReparameterizationType
from millstream.ops.random.distributions import Uniform as Uniform
from millstream.ops.random.distributions import kl_divergence as kl_divergence
from millstream.ops.random.distributions_more import Beta as Beta
from millstream.ops.random.distributions_more import Dirichlet as Dirichlet
from millstream.ops.random.distributions_more import DirichletMultinomial as DirichletMultinomial
from millstream.ops.random.distributions_more import Exponential as Exponential
from millstream.ops.random.distributions_more import Gamma as Gamma
from millstream.ops.random.distributions_more import Multinomial as Multinomial
from millstream.ops.random.distributions_more import StudentT as StudentT

__all__ = [
    "Bernoulli",
    "Beta",
    "Categorical",
    "Dirichlet",
    "DirichletMultinomial",
    "Distribution",
    "Exponential",
    "FULLY_REPARAMETERIZED",
    "Gamma",
    "Laplace",
    "Multinomial",
    "NOT_REPARAMETERIZED",
    "Normal",
    "RegisterKL",
    "ReparameterizationType",
    "StudentT",
    "Uniform",
    "kl_divergence",
]
