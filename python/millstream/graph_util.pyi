# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.framework.graph_util import convert_variables_to_constants as convert_variables_to_constants
from millstream.framework.graph_util import extract_sub_graph as extract_sub_graph
from millstream.framework.graph_util import must_run_on_cpu as must_run_on_cpu
from millstream.framework.graph_util import remove_training_nodes as remove_training_nodes
from millstream.framework.graph_util import tensor_shape_from_node_def_name as tensor_shape_from_node_def_name
from millstream.framework.importer import import_graph_def as import_graph_def

__all__ = [
    "convert_variables_to_constants",
    "extract_sub_graph",
    "import_graph_def",
    "must_run_on_cpu",
    "remove_training_nodes",
    "tensor_shape_from_node_def_name",
]
