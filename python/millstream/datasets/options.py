# SPDX-License-Identifier: Apache-2.0
"""tf.data.Options, and what elements are, as functions."""


class Options:
    """Accepted for programs that set them; nothing depends on them."""

    def __init__(self):
        self.experimental_deterministic = True
        self.experimental_optimization = type("OptimizationOptions", (), {})()


def get_output_types(dataset_or_iterator):
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator):
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator):
    return dataset_or_iterator.output_classes
