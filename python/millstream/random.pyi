# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.framework.random_seed import get_seed as get_seed
from millstream.framework.random_seed import set_random_seed as set_random_seed
from millstream.ops.math.special_ops import stateless_binomial as stateless_binomial
from millstream.ops.math.special_ops import stateless_categorical as stateless_categorical
from millstream.ops.math.special_ops import stateless_gamma as stateless_gamma
from millstream.ops.math.special_ops import stateless_multinomial as stateless_multinomial
from millstream.ops.math.special_ops import stateless_poisson as stateless_poisson
from millstream.ops.nn.sampling_ops import all_candidate_sampler as all_candidate_sampler
from millstream.ops.nn.sampling_ops import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from millstream.ops.nn.sampling_ops import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from millstream.ops.nn.sampling_ops import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from millstream.ops.nn.sampling_ops import uniform_candidate_sampler as uniform_candidate_sampler
from millstream.ops.random.random_ops import categorical as categorical
from millstream.ops.random.random_ops import multinomial as multinomial
from millstream.ops.random.random_ops import random_gamma as gamma
from millstream.ops.random.random_ops import random_normal as normal
from millstream.ops.random.random_ops import random_poisson as poisson
from millstream.ops.random.random_ops import random_shuffle as shuffle
from millstream.ops.random.random_ops import random_uniform as uniform
from millstream.ops.random.random_ops import stateless_random_normal as stateless_normal
from millstream.ops.random.random_ops import stateless_random_normal as stateless_random_normal
from millstream.ops.random.random_ops import stateless_random_uniform as stateless_random_uniform
from millstream.ops.random.random_ops import stateless_random_uniform as stateless_uniform
from millstream.ops.random.random_ops import stateless_truncated_normal as stateless_truncated_normal
from millstream.ops.random.random_ops import truncated_normal as truncated_normal

__all__ = [
    "all_candidate_sampler",
    "categorical",
    "fixed_unigram_candidate_sampler",
    "gamma",
    "get_seed",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "multinomial",
    "normal",
    "poisson",
    "set_random_seed",
    "shuffle",
    "stateless_binomial",
    "stateless_categorical",
    "stateless_gamma",
    "stateless_multinomial",
    "stateless_normal",
    "stateless_poisson",
    "stateless_random_normal",
    "stateless_random_uniform",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
    "uniform_candidate_sampler",
]
