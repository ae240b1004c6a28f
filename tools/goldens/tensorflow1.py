# SPDX-License-Identifier: Apache-2.0
"""TensorFlow as the recordings see it: version 1, on the CPU, with nothing rewritten. Imported before anything else of TensorFlow."""
import os

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('TF_ENABLE_ONEDNN_OPTS', '0')
os.environ['CUDA_VISIBLE_DEVICES'] = ''

import tensorflow.compat.v1 as tf
from tensorflow.core.protobuf import rewriter_config_pb2

tf.disable_v2_behavior()
tf.disable_control_flow_v2()
tf.logging.set_verbosity(tf.logging.ERROR)

CONFIG = tf.ConfigProto(
    intra_op_parallelism_threads=2, inter_op_parallelism_threads=2,
    graph_options=tf.GraphOptions(
        optimizer_options=tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0),
        rewrite_options=rewriter_config_pb2.RewriterConfig(disable_meta_optimizer=True)))
