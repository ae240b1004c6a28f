# SPDX-License-Identifier: Apache-2.0
EXPORTS = {
    "millstream": "compat.v1=",
    "millstream.platform.flags": "flags= app.flags=",
    "millstream.platform.app": "app.run",
    "millstream.platform.gfile": """
        gfile.GFile gfile.FastGFile gfile.Open gfile.Exists gfile.IsDirectory gfile.ListDirectory gfile.Glob gfile.MkDir
        gfile.MakeDirs gfile.Remove gfile.DeleteRecursively gfile.Copy gfile.Rename gfile.Stat gfile.Walk
        io.gfile.GFile=GFile io.gfile.exists=exists io.gfile.isdir=isdir io.gfile.listdir=listdir io.gfile.glob=glob
        io.gfile.mkdir=mkdir io.gfile.makedirs=makedirs io.gfile.remove=remove io.gfile.rmtree=rmtree io.gfile.copy=copy
        io.gfile.join=join io.gfile.rename=rename io.gfile.stat=stat io.gfile.walk=walk""",
    "millstream.framework.log": """
        logging.DEBUG logging.INFO logging.WARN logging.ERROR logging.FATAL logging.log logging.debug logging.info
        logging.warning logging.warn logging.error logging.fatal logging.vlog logging.flush logging.get_verbosity
        logging.set_verbosity logging.get_logger get_logger logging.log_first_n logging.log_every_n logging.log_if
        logging.log_every_n_seconds logging.TaskLevelStatusMessage""",
    "millstream.platform.compat": """
        compat.as_bytes compat.as_text compat.as_str compat.as_str_any compat.path_to_str compat.integral_types
        compat.real_types compat.complex_types compat.bytes_or_text_types compat.forward_compatible disable_v2_behavior
        disable_eager_execution disable_v2_tensorshape disable_tensor_equality
        disable_control_flow_v2 enable_control_flow_v2 control_flow_v2_enabled enable_v2_tensorshape
        executing_eagerly_outside_functions is_symbolic_tensor enable_eager_execution enable_v2_behavior
        compat.forward_compatibility_horizon=forward_compatible""",
    "millstream.platform.not_here": """
        load_op_library load_library load_file_system_library
        debugging.enable_traceback_filtering debugging.disable_traceback_filtering debugging.is_traceback_filtering_enabled
        debugging.enable_check_numerics debugging.disable_check_numerics""",
    "millstream.platform.placement_log": "debugging.set_log_device_placement debugging.get_log_device_placement",
    "millstream.platform.version": """
        GIT_VERSION COMPILER_VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER
        CXX11_ABI_FLAG MONOLITHIC_BUILD version.VERSION version.GIT_VERSION version.COMPILER_VERSION version.GRAPH_DEF_VERSION
        version.GRAPH_DEF_VERSION_MIN_CONSUMER version.GRAPH_DEF_VERSION_MIN_PRODUCER
        sysconfig.get_include sysconfig.get_lib sysconfig.get_compile_flags sysconfig.get_link_flags
        sysconfig.CXX11_ABI_FLAG sysconfig.MONOLITHIC_BUILD""",
    "millstream.framework.random_seed": "set_random_seed get_seed random.set_random_seed random.get_seed",
    "millstream.framework.importer": "import_graph_def graph_util.import_graph_def=import_graph_def",
    "millstream.ops.functions.script_ops": "py_func py_function numpy_function",
    "millstream.framework.function": "Defun contrib.function.Defun=Defun",
}
