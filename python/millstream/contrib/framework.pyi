# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops import nest as nest
from millstream.ops.array.index_ops import argsort as argsort
from millstream.ops.array.index_ops import sort as sort
from millstream.ops.contrib.arg_scope import add_arg_scope as add_arg_scope
from millstream.ops.contrib.arg_scope import arg_scope as arg_scope
from millstream.ops.contrib.arg_scope import arg_scoped_arguments as arg_scoped_arguments
from millstream.ops.contrib.arg_scope import current_arg_scope as current_arg_scope
from millstream.ops.contrib.arg_scope import has_arg_scope as has_arg_scope
from millstream.ops.contrib.framework import assign_from_checkpoint_fn as assign_from_checkpoint_fn
from millstream.ops.contrib.framework import get_local_variables as get_local_variables
from millstream.ops.contrib.framework import get_model_variables as get_model_variables
from millstream.ops.contrib.framework import get_trainable_variables as get_trainable_variables
from millstream.ops.contrib.framework import get_variables as get_variables
from millstream.ops.contrib.framework import get_variables_by_name as get_variables_by_name
from millstream.ops.contrib.framework import get_variables_by_suffix as get_variables_by_suffix
from millstream.ops.contrib.framework import get_variables_to_restore as get_variables_to_restore
from millstream.ops.contrib.framework import is_tensor as is_tensor
from millstream.ops.contrib.framework import local_variable as local_variable
from millstream.ops.contrib.framework import model_variable as model_variable
from millstream.ops.contrib.framework import variable as variable
from millstream.ops.contrib.more import assign_from_checkpoint as assign_from_checkpoint
from millstream.ops.contrib.more import assign_from_values as assign_from_values
from millstream.ops.contrib.more import assign_from_values_fn as assign_from_values_fn
from millstream.ops.contrib.more import filter_variables as filter_variables
from millstream.ops.contrib.more import get_unique_variable as get_unique_variable
from millstream.ops.contrib.more import get_variable_full_name as get_variable_full_name
from millstream.ops.contrib.more import zero_initializer as zero_initializer
from millstream.ops.debugging.check_ops import assert_same_float_dtype as assert_same_float_dtype
from millstream.ops.debugging.check_ops import assert_scalar as assert_scalar
from millstream.ops.flow.control_flow_ops import smart_cond as smart_cond
from millstream.ops.flow.control_flow_ops import with_dependencies as with_dependencies
from millstream.ops.flow.critical_section import CriticalSection as CriticalSection
from millstream.training.checkpoint_utils import init_from_checkpoint as init_from_checkpoint
from millstream.training.checkpoint_utils import list_variables as list_variables
from millstream.training.checkpoint_utils import load_checkpoint as load_checkpoint
from millstream.training.checkpoint_utils import load_variable as load_variable
from millstream.training.contrib_evaluation import get_or_create_eval_step as get_or_create_eval_step
from millstream.training.training_util import assert_global_step as assert_global_step
from millstream.training.training_util import create_global_step as create_global_step
from millstream.training.training_util import get_global_step as get_global_step
from millstream.training.training_util import get_or_create_global_step as get_or_create_global_step

__all__ = [
    "CriticalSection",
    "add_arg_scope",
    "arg_scope",
    "arg_scoped_arguments",
    "argsort",
    "assert_global_step",
    "assert_same_float_dtype",
    "assert_scalar",
    "assign_from_checkpoint",
    "assign_from_checkpoint_fn",
    "assign_from_values",
    "assign_from_values_fn",
    "create_global_step",
    "current_arg_scope",
    "filter_variables",
    "get_global_step",
    "get_local_variables",
    "get_model_variables",
    "get_or_create_eval_step",
    "get_or_create_global_step",
    "get_trainable_variables",
    "get_unique_variable",
    "get_variable_full_name",
    "get_variables",
    "get_variables_by_name",
    "get_variables_by_suffix",
    "get_variables_to_restore",
    "has_arg_scope",
    "init_from_checkpoint",
    "is_tensor",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "local_variable",
    "model_variable",
    "nest",
    "smart_cond",
    "sort",
    "variable",
    "with_dependencies",
    "zero_initializer",
]
