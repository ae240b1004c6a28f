# SPDX-License-Identifier: Apache-2.0
EXPORTS = {
    "millstream.platform.test_case": "test.TestCase test.get_temp_dir test.main test.test_src_dir_path test.is_built_with_cuda",
    "millstream.platform.test_tools": """
        test.Benchmark test.assert_equal_graph_def test.create_local_cluster test.is_built_with_gpu_support test.is_built_with_rocm
        test.is_built_with_xla test.is_cpu_target_available test.benchmark_config""",
    "millstream.platform.device_lib": "test.is_gpu_available test.gpu_device_name",
    "millstream.ops.debugging.gradient_checker": "test.compute_gradient test.compute_gradient_error",
    "unittest.mock": "test.mock=",
    "millstream.framework.graph_util": """
        graph_util.extract_sub_graph graph_util.remove_training_nodes graph_util.convert_variables_to_constants
        graph_util.must_run_on_cpu graph_util.tensor_shape_from_node_def_name train.write_graph io.write_graph""",
}
