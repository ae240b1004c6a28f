# SPDX-License-Identifier: Apache-2.0
"""Checkpoints by objects: saved, restored, kept by a manager; partly matching ones."""

import tensorflow as tf, numpy as np, os, tempfile

np.set_printoptions(precision=5, suppress=True)
d = tempfile.mkdtemp()
def build():
    tf.reset_default_graph(); tf.set_random_seed(1)
    v = tf.Variable([1., 2.], name="vv"); r = tf.get_variable("rr", [2, 2], initializer=tf.ones_initializer(), use_resource=True)
    layer = tf.layers.Dense(3, name="dd"); y = layer(tf.matmul([[1., 2.]], r))
    opt = tf.train.AdamOptimizer(0.1); step = tf.train.get_or_create_global_step()
    train = opt.minimize(tf.reduce_sum(y ** 2) + tf.reduce_sum(v ** 2), global_step=step)
    ck = tf.train.Checkpoint(v=v, r=r, layer=layer, optimizer=opt, step=step)
    return v, r, train, ck
v, r, train, ck = build()
with tf.Session() as s:
    s.run(tf.global_variables_initializer()); s.run(train)
    p = ck.save(os.path.join(d, "ck")); print(os.path.basename(p)); s.run(train)
    p2 = ck.save(os.path.join(d, "ck")); print(os.path.basename(p2))
    print(os.path.basename(tf.train.latest_checkpoint(d)))
    for n, sh in tf.train.list_variables(p2): print(n, sh)
    w = ck.write(os.path.join(d, "w")); print(os.path.basename(w))
v, r, train, ck = build()
with tf.Session() as s:
    st = ck.restore(p)
    st.assert_consumed().run_restore_ops()
    print(s.run([v, r])); s.run(train); print(s.run([v, r, ck.save_counter]))
    st = ck.restore(p2); st.assert_existing_objects_matched().initialize_or_restore(); print(s.run([v, r, ck.save_counter]))
tf.reset_default_graph()
v = tf.Variable([0., 0.], name="other"); ck = tf.train.Checkpoint(v=v, q=tf.Variable(7.))
with tf.Session() as s:
    st = ck.restore(p)
    try: st.assert_consumed()
    except AssertionError: print("not consumed")
    try: st.assert_existing_objects_matched()
    except AssertionError: print("not matched")
    st.initialize_or_restore(s); print(s.run([v, ck.q]))
    try: tf.train.Checkpoint(a=3)
    except ValueError as e: print("VE")
    m = tf.train.CheckpointManager(ck, os.path.join(d, "mm"), max_to_keep=2)
    for i in range(4): m.save()
    print([os.path.basename(c) for c in m.checkpoints], os.path.basename(m.latest_checkpoint), sorted(f for f in os.listdir(os.path.join(d, "mm"))))
    ck.restore(None).initialize_or_restore(); print(s.run(v))
