# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.debugging.gradient_checker import compute_gradient as compute_gradient
from millstream.ops.debugging.gradient_checker import compute_gradient_error as compute_gradient_error
from millstream.platform.device_lib import gpu_device_name as gpu_device_name
from millstream.platform.device_lib import is_gpu_available as is_gpu_available
from millstream.platform.test_case import TestCase as TestCase
from millstream.platform.test_case import get_temp_dir as get_temp_dir
from millstream.platform.test_case import is_built_with_cuda as is_built_with_cuda
from millstream.platform.test_case import main as main
from millstream.platform.test_case import test_src_dir_path as test_src_dir_path
from millstream.platform.test_tools import Benchmark as Benchmark
from millstream.platform.test_tools import assert_equal_graph_def as assert_equal_graph_def
from millstream.platform.test_tools import benchmark_config as benchmark_config
from millstream.platform.test_tools import create_local_cluster as create_local_cluster
from millstream.platform.test_tools import is_built_with_gpu_support as is_built_with_gpu_support
from millstream.platform.test_tools import is_built_with_rocm as is_built_with_rocm
from millstream.platform.test_tools import is_built_with_xla as is_built_with_xla
from millstream.platform.test_tools import is_cpu_target_available as is_cpu_target_available
from unittest import mock as mock

__all__ = [
    "Benchmark",
    "TestCase",
    "assert_equal_graph_def",
    "benchmark_config",
    "compute_gradient",
    "compute_gradient_error",
    "create_local_cluster",
    "get_temp_dir",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_built_with_xla",
    "is_cpu_target_available",
    "is_gpu_available",
    "main",
    "mock",
    "test_src_dir_path",
]
