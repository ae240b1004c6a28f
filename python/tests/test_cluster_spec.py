# SPDX-License-Identifier: Apache-2.0
import pytest

import millstream as tf


def test_cluster_spec():
    spec = tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "ps": {0: "c:3", 2: "d:4"}})
    assert spec.jobs == ["worker", "ps"] and spec.num_tasks("ps") == 2 and spec.task_indices("ps") == [0, 2]
    assert spec.task_address("ps", 2) == "d:4" and spec.job_tasks("ps") == ["c:3", None, "d:4"]
    assert spec.as_dict() == {"worker": ["a:1", "b:2"], "ps": {0: "c:3", 2: "d:4"}}
    assert tf.train.ClusterSpec(spec.as_cluster_def()) == spec and tf.train.ClusterSpec(spec) == spec
    assert repr(tf.train.ClusterSpec({"ps": ["h:1"]})) == "ClusterSpec({'ps': ['h:1']})"
    for bad in (lambda: spec.num_tasks("x"), lambda: spec.task_address("ps", 1)):
        with pytest.raises(ValueError):
            bad()
    for bad in (3, {"ps": "h:1"}, {"ps": [1]}):
        with pytest.raises(TypeError):
            tf.train.ClusterSpec(bad)
    assert not tf.train.ClusterSpec({})
