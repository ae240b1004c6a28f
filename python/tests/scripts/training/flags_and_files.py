# SPDX-License-Identifier: Apache-2.0
"""A program's command line and its files: tf.app.flags of all kinds, tf.app.run, tf.gfile."""

import os
import sys
import tempfile
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_string("data_dir", "/tmp/data", "Where.")
flags.DEFINE_integer("batch", 100, "Size.", lower_bound=1)
flags.DEFINE_float("lr", 0.5, "Rate.")
flags.DEFINE_boolean("fake", False, "Fake.")
flags.DEFINE_bool("sync", True, "Sync.")
flags.DEFINE_enum("mode", "train", ["train", "eval"], "Mode.")
flags.DEFINE_list("hosts", ["a:1", "b:2"], "Hosts.")
flags.DEFINE_multi_string("m", ["u"], "Many.")
flags.DEFINE_multi_integer("mi", [1], "Many.")
FLAGS = flags.FLAGS
sys.argv[1:] = [
    "--batch=7",
    "--nosync",
    "--fake",
    "--mode",
    "eval",
    "--hosts=c:1,d:2,e:3",
    "--lr",
    "1e-3",
    "--m=p",
    "--m=q",
    "rest",
    "--mi=4",
]


def main(argv):
    print(argv[1:])
    print(FLAGS.batch, FLAGS.lr, FLAGS.fake, FLAGS.sync, FLAGS.mode, FLAGS.hosts, FLAGS.data_dir, FLAGS.m, FLAGS.mi)
    print(FLAGS["batch"].value, FLAGS["batch"].default, FLAGS["batch"].present > 0)
    FLAGS.batch = 9
    print(FLAGS.batch, "batch" in FLAGS, "zzz" in FLAGS)
    try:
        FLAGS.batch = 0
        print("set")
    except flags.IllegalFlagValueError as e:
        print(type(e).__name__)
    try:
        FLAGS.zzz
    except AttributeError:
        print("AttributeError")
    try:
        flags.DEFINE_string("batch", "", "")
    except flags.DuplicateFlagError as e:
        print(type(e).__name__)
    flags.mark_flag_as_required("data_dir")
    d = tempfile.mkdtemp()
    p = os.path.join(d, "x", "y")
    tf.gfile.MakeDirs(p)
    with tf.gfile.GFile(os.path.join(p, "f.txt"), "w") as f:
        f.write("one\ntwo\n")
        f.write("three")
    with tf.gfile.Open(os.path.join(p, "f.txt")) as f:
        print(f.readline(), f.tell(), f.read(), f.size())
        f.seek(0)
        print(list(f))
        f.seek(4)
        print(f.read(3))
    with tf.gfile.GFile(os.path.join(p, "f.txt"), "a") as f:
        f.write("!")
    with tf.gfile.FastGFile(os.path.join(p, "f.txt"), "rb") as f:
        print(f.read())
    print(
        sorted(tf.gfile.ListDirectory(d)),
        tf.gfile.Exists(p),
        tf.gfile.IsDirectory(p),
        tf.gfile.Stat(os.path.join(p, "f.txt")).length,
    )
    tf.gfile.Copy(os.path.join(p, "f.txt"), os.path.join(d, "g.txt"))
    try:
        tf.gfile.Copy(os.path.join(p, "f.txt"), os.path.join(d, "g.txt"))
    except tf.errors.OpError as e:
        print(type(e).__name__)
    tf.gfile.Copy(os.path.join(p, "f.txt"), os.path.join(d, "g.txt"), overwrite=True)
    tf.gfile.Rename(os.path.join(d, "g.txt"), os.path.join(d, "h.txt"))
    print([os.path.basename(q) for q in tf.gfile.Glob(os.path.join(d, "*.txt"))])
    print([(os.path.relpath(a, d), b, c) for a, b, c in tf.gfile.Walk(d)])
    print([(os.path.relpath(a, d), b, c) for a, b, c in tf.gfile.Walk(d, in_order=False)])
    for fn in (
        lambda: tf.gfile.Open(os.path.join(d, "no")).read(),
        lambda: tf.gfile.Remove(os.path.join(d, "no")),
        lambda: tf.gfile.MkDir(os.path.join(d, "a", "b")),
        lambda: tf.gfile.ListDirectory(os.path.join(d, "no")),
        lambda: tf.gfile.Stat(os.path.join(d, "no")),
        lambda: tf.gfile.GFile(os.path.join(d, "h.txt"), "zz"),
        lambda: tf.gfile.GFile(os.path.join(d, "h.txt"), "w").read(),
        lambda: tf.gfile.DeleteRecursively(os.path.join(d, "no")),
    ):
        try:
            fn()
            print("fine")
        except tf.errors.OpError as e:
            print(type(e).__name__)
    tf.gfile.Remove(os.path.join(d, "h.txt"))
    tf.gfile.DeleteRecursively(d)
    print(tf.gfile.Exists(d))
    tf.logging.set_verbosity(tf.logging.INFO)
    print(tf.logging.get_verbosity() == tf.logging.INFO, tf.logging.DEBUG, tf.logging.WARN, tf.logging.ERROR, tf.logging.FATAL)
    tf.logging.info("step %d", 3)
    tf.logging.log_every_n(tf.logging.INFO, "x", 2)
    tf.logging.vlog(1, "x")
    print(tf.resource_loader.get_data_files_path() != "")
    print(tf.sysconfig.get_include() != "", tf.test.is_built_with_cuda() in (True, False), tf.test.gpu_device_name())
    print(tf.compat.as_bytes("x"), tf.compat.as_text(b"y"), tf.compat.as_str_any(3), tf.compat.path_to_str("p"))
    sys.exit(3)


if __name__ == "__main__":
    try:
        tf.app.run()
    except SystemExit as e:
        print("exit", e.code)
    try:
        tf.app.run(main=lambda argv: print("again", len(argv)), argv=["prog", "a"])
    except SystemExit as e:
        print("exit", e.code)
