# SPDX-License-Identifier: Apache-2.0
"""tf.train.warm_start: variables that begin with values of a checkpoint instead of their initializers."""
from __future__ import annotations

import collections
import re
from typing import TYPE_CHECKING

from millstream.framework import ops
from millstream.training import checkpoint_utils

if TYPE_CHECKING:
    from typing import Any


class VocabInfo(collections.namedtuple("VocabInfo", (
        "new_vocab new_vocab_size num_oov_buckets old_vocab old_vocab_size backup_initializer axis"))):
    """The vocabularies of a variable's rows, now and in the checkpoint that it starts from."""

    def __new__(cls, new_vocab, new_vocab_size, num_oov_buckets, old_vocab, old_vocab_size=-1, backup_initializer=None, axis=0):
        if axis not in (0, 1):
            raise ValueError("The only supported values for the axis argument are 0 and 1.  Provided axis: {}".format(axis))
        return super().__new__(cls, new_vocab, new_vocab_size, num_oov_buckets, old_vocab, old_vocab_size, backup_initializer, axis)


def _by_name(variables):
    """{name in a checkpoint: variable, or the parts of one}."""
    named = collections.OrderedDict()
    for variable in variables:
        if isinstance(variable, str):
            found = [v for v in ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES) if _whole_name(v) == variable]
            if not found:
                raise ValueError(f"There is no variable {variable}")
            named.setdefault(variable, []).extend(found)
        else:
            parts = variable._get_variable_list() if hasattr(variable, "_get_variable_list") else [variable]
            named.setdefault(_whole_name(parts[0]), []).extend(parts)
    return named


def _whole_name(variable):
    info = variable._get_save_slice_info()
    return variable.op.name if info is None else info.full_name


def trainable_names():
    return list(_by_name(ops.get_collection(ops.GraphKeys.TRAINABLE_VARIABLES)))


def _chosen(vars_to_warm_start):
    if vars_to_warm_start is None:
        return {}
    if isinstance(vars_to_warm_start, str):  # a regular expression over trainable variables
        return {n: v for n, v in _by_name(ops.get_collection(ops.GraphKeys.TRAINABLE_VARIABLES)).items() if re.match(vars_to_warm_start, n)}
    if not isinstance(vars_to_warm_start, list):
        raise ValueError("If `vars_to_warm_start is a list, it must be all `Variable` or all `str`.  Given types are "
                         f"{type(vars_to_warm_start)}")
    if vars_to_warm_start and all(isinstance(v, str) for v in vars_to_warm_start) and any(
            re.search(r"[\\^$*+?\[\]()|]", v) for v in vars_to_warm_start):
        everything = _by_name(ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES))
        return {n: v for n, v in everything.items() if any(re.match(p, n) for p in vars_to_warm_start)}
    return _by_name(vars_to_warm_start)


def warm_start(ckpt_to_initialize_from: Any, vars_to_warm_start: str = ".*", var_name_to_vocab_info: Any = None,
               var_name_to_prev_var_name: Any = None) -> None:
    """Variables chosen by a regular expression, or a list of names, expressions or variables."""
    if var_name_to_vocab_info:
        raise ValueError("Rows of vocabularies that changed are not matched: var_name_to_vocab_info is not supported.")
    renamed = dict(var_name_to_prev_var_name or {})
    mapping = {}
    for name, parts in _chosen(vars_to_warm_start).items():
        whole = parts if parts[0]._get_save_slice_info() is not None else parts[0]
        mapping[renamed.pop(name, name)] = whole
    if renamed:
        raise ValueError(f"You provided the following variables in var_name_to_prev_var_name that were not used: {sorted(renamed)}.  "
                         "Perhaps you misspelled them?")
    checkpoint_utils.init_from_checkpoint(ckpt_to_initialize_from, mapping)
