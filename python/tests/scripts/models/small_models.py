# SPDX-License-Identifier: Apache-2.0
"""Fourteen small models and algorithms: penalties by gradients, meta learning, filters, beams, CTC, attention, Q learning."""
# tolerance: 1e-3

import tensorflow as tf, numpy as np

np.set_printoptions(precision=5, suppress=True)
rs = np.random.RandomState(0)
def sess_loop(f):
    tf.reset_default_graph(); tf.set_random_seed(11)
    try: print(f.__name__, f())
    except Exception as e:
        print(f.__name__, "ERR", type(e).__name__)
def run(tr, fetch, n=5, feed=None):
    with tf.Session() as s:
        s.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        for i in range(n): s.run(tr, feed(i) if feed else None)
        return s.run(fetch, feed(0) if feed else None)
def wgan_gp():
    x = tf.constant(rs.randn(8, 3).astype(np.float32)); z = tf.random_normal([8, 2], seed=4)
    def D(x, reuse=False):
        with tf.variable_scope("D", reuse=reuse):
            w = tf.get_variable("w", [3, 4], initializer=tf.random_normal_initializer(seed=1)); v = tf.get_variable("v", [4, 1], initializer=tf.random_normal_initializer(seed=2))
            return tf.matmul(tf.nn.leaky_relu(tf.matmul(x, w)), v)
    with tf.variable_scope("G"): g = tf.matmul(z, tf.get_variable("g", [2, 3], initializer=tf.ones_initializer()))
    eps = tf.random_uniform([8, 1], seed=5); xh = eps * x + (1 - eps) * g
    dl = tf.reduce_mean(D(g)) - tf.reduce_mean(D(x, True)); gr = tf.gradients(D(xh, True), xh)[0]
    dl += 10. * tf.reduce_mean((tf.norm(gr, axis=1) - 1.) ** 2)
    dv = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, "D"); gv = tf.trainable_variables("G")
    d = tf.train.AdamOptimizer(1e-2, beta1=0.).minimize(dl, var_list=dv); gg = tf.train.RMSPropOptimizer(1e-2).minimize(-tf.reduce_mean(D(g, True)), var_list=gv)
    return run([d, gg], [dv, gv])
def maml():
    w = tf.Variable([[.5], [-.3]]); x = tf.constant(rs.randn(6, 2).astype(np.float32)); y = tf.reduce_sum(x, 1, keepdims=True)
    loss = lambda w: tf.reduce_mean((tf.matmul(x, w) - y) ** 2)
    fast = w
    for _ in range(3): fast = fast - .1 * tf.gradients(loss(fast), fast)[0]
    outer = loss(fast); o = tf.train.GradientDescentOptimizer(.1); gv = o.compute_gradients(outer, [w])
    return run(o.apply_gradients([(tf.clip_by_value(g, -1, 1), v) for g, v in gv]), [w, outer])
def trpo():
    th = tf.Variable(tf.ones([3, 2]) * .3); s = tf.constant(rs.randn(5, 3).astype(np.float32)); lg = tf.matmul(s, th); p = tf.nn.softmax(lg)
    kl = tf.reduce_mean(tf.reduce_sum(tf.stop_gradient(p) * (tf.log(tf.stop_gradient(p)) - tf.log(p)), 1)); kg = tf.gradients(kl, th)[0]
    v = tf.placeholder(tf.float32, [3, 2]); hv = tf.gradients(tf.reduce_sum(kg * v), th)[0]
    with tf.Session() as ss: ss.run(tf.global_variables_initializer()); return ss.run(hv, {v: np.arange(6).reshape(3, 2)})
def jac_loop():
    x = tf.constant([1., 2., 3.]); y = tf.stack([x[0] * x[1], x[2] ** 2, tf.reduce_sum(x)])
    j = tf.map_fn(lambda i: tf.gradients(y[i], x)[0], tf.range(3), dtype=tf.float32)
    _, ta = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t.write(i, tf.gradients(y[i], x)[0])), [0, tf.TensorArray(tf.float32, 3)])
    with tf.Session() as s: return s.run([j, ta.stack()])
def hmm():
    A = tf.constant([[.7, .3], [.4, .6]]); B = tf.constant([[.1, .9], [.8, .2]]); obs = tf.constant([0, 1, 1, 0])
    al = tf.scan(lambda a, o: tf.squeeze(tf.matmul(tf.expand_dims(a, 0), A), 0) * tf.gather(B, o, axis=1), obs, initializer=tf.constant([.5, .5]))
    with tf.Session() as s: return s.run([al, tf.log(tf.reduce_sum(al[-1]))])
def kalman():
    def step(c, z):
        m, P = c; P = P + .1; K = P / (P + .5); return m + K * (z - m), (1 - K) * P
    with tf.Session() as s: return s.run(tf.scan(step, tf.constant([1., 1.2, .9, 3.]), initializer=(0., 1.)))
def beam():
    V, k = 5, 3; T = tf.constant(np.log(rs.dirichlet(np.ones(V), V)).astype(np.float32))
    def body(i, seqs, sc):
        lp = tf.gather(T, seqs[:, -1]) + sc[:, None]; sc2, ix = tf.nn.top_k(tf.reshape(lp, [-1]), k)
        return i + 1, tf.concat([tf.gather(seqs, ix // V), (ix % V)[:, None]], 1), sc2
    _, seqs, sc = tf.while_loop(lambda i, *_: i < 4, body, [0, tf.zeros([k, 1], tf.int32), tf.constant([0., -1e9, -1e9])], shape_invariants=[tf.TensorShape([]), tf.TensorShape([k, None]), tf.TensorShape([k])])
    with tf.Session() as s: return s.run([seqs, sc])
def lstm_hand():
    x = tf.constant(rs.randn(4, 3, 2).astype(np.float32)); n = 3; W = tf.Variable(tf.random_normal([2 + n, 4 * n], seed=3)); b = tf.Variable(tf.zeros([4 * n])); Wo = tf.Variable(tf.ones([n, 1]))
    def step(st, xt):
        h, c = st; i, f, o, g = tf.split(tf.matmul(tf.concat([xt, h], 1), W) + b, 4, 1); c = tf.sigmoid(f + 1.) * c + tf.sigmoid(i) * tf.tanh(g); return tf.sigmoid(o) * tf.tanh(c), c
    hs, cs = tf.scan(step, tf.transpose(x, [1, 0, 2]), initializer=(tf.zeros([4, n]), tf.zeros([4, n])))
    loss = tf.losses.mean_squared_error(tf.ones([4, 1]), tf.matmul(hs[-1], Wo)); o = tf.train.AdamOptimizer(.05); gv = o.compute_gradients(loss); g, nrm = tf.clip_by_global_norm([q for q, _ in gv], 1.)
    return run(o.apply_gradients(zip(g, [v for _, v in gv])), [loss, nrm, b])
def transformer():
    x = tf.constant(rs.randn(2, 4, 6).astype(np.float32)); ln = lambda t: (lambda m, v: (t - m) * tf.rsqrt(v + 1e-6))(*tf.nn.moments(t, [-1], keep_dims=True))
    def heads(t, h=2): return tf.transpose(tf.reshape(t, [2, -1, h, 3]), [0, 2, 1, 3])
    w = [tf.get_variable("w%d" % i, [6, 6], initializer=tf.glorot_uniform_initializer(seed=i)) for i in range(4)]
    q, k, v = [heads(tf.tensordot(x, w[i], 1)) for i in range(3)]
    mask = tf.linalg.band_part(tf.ones([4, 4]), -1, 0); a = tf.matmul(q, k, transpose_b=True) / np.sqrt(3.); a = tf.nn.softmax(a + (1. - mask) * -1e9)
    o = tf.reshape(tf.transpose(tf.matmul(tf.nn.dropout(a, keep_prob=.9, seed=7), v), [0, 2, 1, 3]), [2, 4, 6]); y = ln(x + tf.tensordot(o, w[3], [[2], [0]]))
    gelu = lambda t: .5 * t * (1 + tf.tanh(np.sqrt(2 / np.pi) * (t + .044715 * tf.pow(t, 3)))); y = ln(y + tf.einsum("bij,jk->bik", gelu(y), w[3]))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[[0, 1, 2, 3], [3, 2, 1, 0]], logits=y)); gs = tf.train.get_or_create_global_step()
    st = tf.cast(gs + 1, tf.float32); lr = 6 ** -.5 * tf.minimum(st ** -.5, st * 10. ** -1.5)
    return run(tf.train.AdamOptimizer(lr, .9, .98, 1e-9).minimize(loss, gs), [loss, lr, gs, w[3][0]])
def ctc_crf():
    lg = tf.Variable(tf.random_normal([5, 2, 4], seed=1)); sl = tf.constant([5, 4]); lab = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [0, 2, 1], [2, 2])
    loss = tf.reduce_mean(tf.nn.ctc_loss(lab, lg, sl)); tr = tf.train.MomentumOptimizer(.5, .9).minimize(loss); dec, lp = tf.nn.ctc_beam_search_decoder(lg, sl, 5); gd, nl = tf.nn.ctc_greedy_decoder(lg, sl)
    return run(tr, [loss, tf.sparse.to_dense(dec[0], -1), lp, tf.sparse_tensor_to_dense(gd[0]), tf.reduce_mean(tf.edit_distance(tf.cast(gd[0], tf.int32), lab))], 10)
def w2v():
    emb = tf.Variable(tf.random_uniform([20, 4], -1., 1., seed=1)); nw = tf.Variable(tf.truncated_normal([20, 4], stddev=.5, seed=2)); nb = tf.Variable(tf.zeros([20]))
    x = tf.constant([1, 2, 3, 4]); y = tf.constant([[2], [3], [4], [5]], tf.int64); e = tf.nn.embedding_lookup(emb, x)
    sv = tf.nn.log_uniform_candidate_sampler(y, 1, 5, True, 20, seed=3)
    l1 = tf.reduce_mean(tf.nn.nce_loss(nw, nb, y, e, 5, 20, sampled_values=sv)); l2 = tf.reduce_mean(tf.nn.sampled_softmax_loss(nw, nb, y, e, 5, 20, seed=9)); nrm = emb / tf.sqrt(tf.reduce_sum(tf.square(emb), 1, keepdims=True))
    return run(tf.train.AdagradOptimizer(.5).minimize(l1 + l2), [l1, tf.matmul(nrm[:2], nrm, transpose_b=True)])
def dqn():
    rbuf = [(rs.randn(3).astype(np.float32), rs.randint(2), float(rs.rand()), rs.randn(3).astype(np.float32)) for _ in range(20)]
    s, a, r, s2 = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None, 3])
    def Q(x, sc, tn=True):
        with tf.variable_scope(sc): h = tf.nn.elu(tf.nn.xw_plus_b(x, tf.get_variable("w", [3, 8], initializer=tf.orthogonal_initializer(seed=1), trainable=tn), tf.get_variable("b", [8], initializer=tf.zeros_initializer(), trainable=tn))); return tf.matmul(h, tf.get_variable("o", [8, 2], initializer=tf.variance_scaling_initializer(seed=2), trainable=tn))
    q, qt = Q(s, "q"), Q(s2, "t", False); qa = tf.reduce_sum(q * tf.one_hot(a, 2), 1); tgt = tf.stop_gradient(r + .9 * tf.reduce_max(qt, 1)); td = tf.losses.huber_loss(tgt, qa)
    tr = tf.train.RMSPropOptimizer(1e-2, momentum=.5, epsilon=.01).minimize(td); up = tf.group(*[t.assign(v) for v, t in zip(tf.global_variables("q"), tf.global_variables("t"))])
    with tf.Session() as ss:
        ss.run(tf.global_variables_initializer()); ss.run(up)
        for i in range(6):
            bt = [rbuf[j] for j in rs.randint(20, size=5)]; f = dict(zip((s, a, r, s2), map(np.array, zip(*bt)))); _, l = ss.run([tr, td], f)
            if i % 3 == 2: ss.run(up)
        return l, ss.run(tf.argmax(q, 1), f), len(tf.trainable_variables())
def vae():
    x = tf.constant(rs.rand(6, 8).astype(np.float32) > .5); x = tf.cast(x, tf.float32); D = lambda t, n, nm, ac=None: (lambda o: ac(o) if ac else o)(tf.matmul(t, tf.get_variable(nm, [int(t.shape[1]), n], initializer=tf.glorot_normal_initializer(seed=1))))
    h = D(x, 5, "a", tf.nn.relu); mu, ls = D(h, 2, "m"), D(h, 2, "s"); z = mu + tf.exp(.5 * ls) * tf.random_normal(tf.shape(mu), seed=3); y = D(D(z, 5, "b", tf.nn.softplus), 8, "c")
    rec = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=y), 1); kl = -.5 * tf.reduce_sum(1 + ls - tf.square(mu) - tf.exp(ls), 1); q = tf.distributions.Normal(mu, tf.exp(.5 * ls)); kl2 = tf.reduce_sum(tf.distributions.kl_divergence(q, tf.distributions.Normal(0., 1.)), 1)
    return run(tf.train.AdamOptimizer(1e-2).minimize(tf.reduce_mean(rec + kl)), [tf.reduce_mean(kl), tf.reduce_mean(kl2), mu[0]])
def kmeans_pca():
    X = tf.constant(rs.randn(30, 4).astype(np.float32)); c = tf.Variable(X[:3]); d = tf.reduce_sum((X[:, None] - c[None]) ** 2, 2); asg = tf.argmin(d, 1); m = tf.unsorted_segment_sum(X, asg, 3) / tf.unsorted_segment_sum(tf.ones([30, 1]), asg, 3); up = c.assign(m)
    Xc = X - tf.reduce_mean(X, 0); s, u, v = tf.svd(Xc); cov = tf.matmul(Xc, Xc, transpose_a=True) / 29.; e, _ = tf.self_adjoint_eig(cov)
    return run(up, [c, s, e, tf.bincount(tf.cast(asg, tf.int32))])
for f in (wgan_gp, maml, trpo, jac_loop, hmm, kalman, beam, lstm_hand, transformer, ctc_crf, w2v, dqn, vae, kmeans_pca): sess_loop(f)
