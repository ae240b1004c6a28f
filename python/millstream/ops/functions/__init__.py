# SPDX-License-Identifier: Apache-2.0
"""Python functions in graphs: tf.py_func, tf.py_function, tf.custom_gradient."""
