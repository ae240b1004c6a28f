# SPDX-License-Identifier: Apache-2.0
"""Tables that a graph changes, in checkpoints: their keys and their values."""
from millstream import gen_ops
from millstream.framework import ops
from millstream.training import saveable


class TableSaveable(saveable.SaveableObject):
    """Saved as NAME-keys and NAME-values, where NAME is the table's node."""

    def __init__(self, table):
        name = table.resource_handle.op.name
        keys, values = table.export()
        super().__init__(table, [saveable.SaveSpec(keys, "", name + "-keys"), saveable.SaveSpec(values, "", name + "-values")], name)

    def restore(self, restored_tensors, restored_shapes):
        handle = self.op.resource_handle
        with ops.name_scope(f"{self.name}_table_restore"), ops.colocate_with(handle.op):
            return gen_ops.lookup_table_import_v2(handle, restored_tensors[0], restored_tensors[1])
