# SPDX-License-Identifier: Apache-2.0
"""tf.distributions: moments, densities, samples and divergences."""

import tensorflow as tf, numpy as np

np.set_printoptions(precision=5, suppress=True)


def show(name, f):
    tf.reset_default_graph()
    tf.set_random_seed(7)
    try:
        fetched = f()
        with tf.Session() as s:
            s.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
            print(name, s.run(fetched))
    except Exception as e:
        print(name, type(e).__name__)


def dist(name, mk, x):
    def f():
        d = mk()
        out = []
        for a in ("mean", "variance", "stddev", "mode", "entropy"):
            try: out.append(getattr(d, a)())
            except NotImplementedError: out.append(tf.constant("NI"))
        for a in ("prob", "log_prob", "cdf", "survival_function"):
            try: out.append(getattr(d, a)(x))
            except NotImplementedError: out.append(tf.constant("NI"))
        out.append(d.sample(3, seed=5)); out.append(d.sample(seed=6)); out.append(tf.constant(str((d.batch_shape, d.event_shape, d.dtype, d.name, d.reparameterization_type, d.allow_nan_stats))))
        out.append(d.batch_shape_tensor()); out.append(d.event_shape_tensor())
        return out
    show(name, f)
T = tf.distributions
dist("normal", lambda: T.Normal([0., 1.], 2.), [0.5, 1.])
dist("uniform", lambda: T.Uniform(0., [1., 3.]), 0.5)
dist("bern", lambda: T.Bernoulli(probs=[.2, .7]), [1, 0])
dist("cat", lambda: T.Categorical(logits=[[1., 2., 3.], [0., 0., 1.]]), [1, 2])
dist("laplace", lambda: T.Laplace(0., 2.), 0.5)
dist("exp", lambda: T.Exponential([.5, 1.]), 0.5)
dist("gamma", lambda: T.Gamma([2., 3.], 2.), 0.5)
dist("beta", lambda: T.Beta([2., 3.], 2.), 0.5)
dist("dirichlet", lambda: T.Dirichlet([1., 2., 3.]), [.2, .3, .5])
dist("student", lambda: T.StudentT(5., 0., 1.), 0.5)
dist("multinomial", lambda: T.Multinomial(4., probs=[.2, .3, .5]), [1., 2., 1.])
dist("dirmult", lambda: T.DirichletMultinomial(4., [1., 2., 3.]), [1., 2., 1.])
show("kl", lambda: (T.kl_divergence(T.Normal(0., 1.), T.Normal(1., 2.)), T.Normal(0., 1.).kl_divergence(T.Normal(1., 2.)), T.Bernoulli(.3).cross_entropy(T.Bernoulli(.4)), T.kl_divergence(T.Beta(1., 2.), T.Beta(2., 2.)), T.kl_divergence(T.Gamma(1., 2.), T.Gamma(2., 2.)), T.kl_divergence(T.Categorical([1., 2.]), T.Categorical([0., 0.])), T.kl_divergence(T.Dirichlet([1., 2.]), T.Dirichlet([2., 2.]))))
