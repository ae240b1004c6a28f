# SPDX-License-Identifier: Apache-2.0
"""Saver: shards, maps of names, reshaping, old checkpoints, errors; initializing from a checkpoint."""

import tensorflow as tf, numpy as np, tempfile, os

d = tempfile.mkdtemp()
p = lambda *a: os.path.join(d, *a)
with tf.Graph().as_default():
    a = tf.get_variable("a", [2, 3], initializer=tf.random_normal_initializer(seed=1))
    b = tf.get_variable("scope/b", [4], initializer=tf.ones_initializer())
    loss = tf.reduce_sum(a) * tf.reduce_sum(b)
    tr = tf.train.AdamOptimizer(0.1).minimize(loss)
    sv = tf.train.Saver(max_to_keep=2, keep_checkpoint_every_n_hours=1000)
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        for i in range(4):
            s.run(tr)
            print(
                os.path.basename(
                    sv.save(s, p("m.ckpt"), global_step=i, latest_filename="ck", write_meta_graph=i % 2 == 0)
                )
            )
        print([os.path.basename(x) for x in sv.last_checkpoints], sorted((f for f in os.listdir(d))))
        av = s.run(a)
        bv = s.run(b)
        print(av.sum(), bv)
        sh = tf.train.Saver(sharded=True)
        print(os.path.basename(sh.save(s, p("sh"))))
        print(sorted((f for f in os.listdir(d) if f.startswith("sh"))))
        only = tf.train.Saver({"x/a": a, "x/b": b})
        only.save(s, p("map"), write_state=False)
        ex = tf.train.Saver([a])
        ex.save(s, p("onlya"), write_meta_graph=False)
        print(
            os.path.exists(p("checkpoint")),
            tf.train.latest_checkpoint(d) == p("onlya"),
            tf.train.latest_checkpoint(d, "ck") == p("m.ckpt-3"),
        )
        st = tf.train.get_checkpoint_state(d, "ck")
        print(
            [os.path.basename(x) for x in st.all_model_checkpoint_paths], os.path.basename(st.model_checkpoint_path)
        )
        try:
            sv.save(s, p("nodir", "x"))
        except Exception as e:
            print(type(e).__name__, str(e).replace(d, "D")[:120])
        try:
            sv.save(None, p("x"))
        except Exception as e:
            print(type(e).__name__, str(e)[:29])
        try:
            sv.restore(s, p("nope"))
        except Exception as e:
            print(type(e).__name__, str(e).replace(d, "D")[:100])
        try:
            sv.restore(s, None)
        except Exception as e:
            print(type(e).__name__, str(e)[:100])
        try:
            sv.save(s, p("z"), global_step=tf.constant(12))
            print(os.path.basename(sv.last_checkpoints[-1]))
        except Exception as e:
            print(type(e).__name__, str(e)[:100])
        try:
            sv.save(s, p("q"), latest_filename="a/b")
        except Exception as e:
            print(type(e).__name__, str(e)[:100])
for n, s_ in tf.train.list_variables(p("map")):
    print(n, s_)
r = tf.train.NewCheckpointReader(p("sh"))
print(sorted(r.get_variable_to_shape_map().items()))
print(r.has_tensor("a"), r.has_tensor("zz"), r.get_tensor("a").sum(), r.get_variable_to_dtype_map()["a"])
with tf.Graph().as_default():
    a = tf.get_variable("other", [3, 2])
    b = tf.get_variable("scope2/b", [4])
    with tf.Session() as s:
        tf.train.Saver({"a": a}, reshape=True).restore(s, p("onlya"))
        print(np.allclose(s.run(a).ravel(), av.ravel()))
        print(s.run(tf.report_uninitialized_variables()))
        try:
            tf.train.Saver({"a": a}).restore(s, p("onlya"))
        except tf.errors.InvalidArgumentError as e:
            print("IAE", "shapes" in str(e).lower() or "shape" in str(e).lower())
        try:
            tf.train.Saver({"scope/b": b, "missing": a}).restore(s, p("sh"))
        except tf.errors.NotFoundError as e:
            print("NF", "missing" in str(e))
        tf.train.init_from_checkpoint(p("sh"), {"scope/": "scope2/"})
        s.run(b.initializer)
        print(s.run(b))
with tf.Graph().as_default():
    sv = tf.train.import_meta_graph(p("sh.meta"))
    with tf.Session() as s:
        sv.restore(s, p("sh"))
        g = tf.get_default_graph()
        print(
            s.run("a:0").sum(),
            s.run(g.get_tensor_by_name("beta1_power:0")),
            [v.op.name for v in tf.trainable_variables()],
            len(tf.global_variables()),
        )
        s.run("Adam")
        print(s.run("scope/b:0"))
with tf.Graph().as_default():
    try:
        tf.train.Saver()
    except ValueError as e:
        print(e)
    tf.train.Saver(allow_empty=True)
    v = tf.Variable(1.0, name="v")
    try:
        tf.train.Saver([v, v])
    except ValueError as e:
        print(e)
    try:
        tf.train.Saver({"v": 3})
    except TypeError as e:
        print("TypeError")
    sv = tf.train.Saver(defer_build=True)
    try:
        sv.as_saver_def() and 0
    except Exception as e:
        print(type(e).__name__)
    sv.build()
    print(
        sv.saver_def.filename_tensor_name,
        sv.saver_def.restore_op_name,
        sv.saver_def.save_tensor_name,
        sv.saver_def.max_to_keep,
    )
    print(
        tf.train.checkpoint_exists(p("sh")),
        tf.train.checkpoint_exists(p("gone")),
        tf.train.latest_checkpoint("/nowhere"),
    )
    with tf.Session() as s:
        try:
            sv.save(s, p("un"))
        except tf.errors.FailedPreconditionError as e:
            print("FPE", e.op is not None)
