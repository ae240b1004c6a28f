# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.contrib.utils import append_tensor_alias as append_tensor_alias
from millstream.ops.contrib.utils import channel_dimension as channel_dimension
from millstream.ops.contrib.utils import collect_named_outputs as collect_named_outputs
from millstream.ops.contrib.utils import constant_value as constant_value
from millstream.ops.contrib.utils import convert_collection_to_dict as convert_collection_to_dict
from millstream.ops.contrib.utils import gather_tensors_aliases as gather_tensors_aliases
from millstream.ops.contrib.utils import get_tensor_aliases as get_tensor_aliases
from millstream.ops.contrib.utils import get_variable_collections as get_variable_collections
from millstream.ops.contrib.utils import last_dimension as last_dimension
from millstream.ops.contrib.utils import n_positive_integers as n_positive_integers
from millstream.ops.contrib.utils import smart_cond as smart_cond
from millstream.ops.contrib.utils import static_cond as static_cond
from millstream.ops.contrib.utils import two_element_tuple as two_element_tuple

__all__ = [
    "append_tensor_alias",
    "channel_dimension",
    "collect_named_outputs",
    "constant_value",
    "convert_collection_to_dict",
    "gather_tensors_aliases",
    "get_tensor_aliases",
    "get_variable_collections",
    "last_dimension",
    "n_positive_integers",
    "smart_cond",
    "static_cond",
    "two_element_tuple",
]
