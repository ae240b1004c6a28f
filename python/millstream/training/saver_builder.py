# SPDX-License-Identifier: Apache-2.0
"""The nodes with which a Saver saves and restores."""
from millstream import gen_ops
from millstream.framework import constant_op, device as device_lib, ops
from millstream.ops.flow import control_flow_group, control_flow_ops
from millstream.training import background_save, saveable as saveable_lib, shared_disk


def _cpu_device(device):
    """The same task's CPU 0."""
    spec = device_lib.DeviceSpec.from_string(device or "")
    return spec.replace(device_type="CPU", device_index=0).to_string() if device else "/device:CPU:0"


def _group_by_task(saveables):
    """[(device, saveables)], one for each task, by device."""
    groups = {}
    for s in saveables:
        groups.setdefault(_cpu_device(s.device), []).append(s)
    return sorted(groups.items())


class BaseSaverBuilder:
    SaveSpec = saveable_lib.SaveSpec
    SaveableObject = saveable_lib.SaveableObject

    def __init__(self, write_version=2):
        self._write_version = write_version

    @staticmethod
    def _names(saveables):
        specs = [spec for s in saveables for spec in s.specs]
        return specs, [s.name for s in specs], [s.slice_spec for s in specs]

    def save_op(self, filename, saveables, tensors=None):
        """`tensors` in place of the variables' values, if given."""
        specs, names, slices = self._names(saveables)
        return gen_ops.save_v2(filename, names, slices, [spec.tensor for spec in specs] if tensors is None else tensors)

    def bulk_restore(self, filename, saveables, preferred_shard=-1, restore_sequentially=False):
        specs, names, slices = self._names(saveables)
        with ops.device("cpu:0"):
            return gen_ops.restore_v2(filename, names, slices, dtypes=[s.dtype.base_dtype for s in specs])

    def _add_save(self, filename, saveables, tensors=None):
        save = self.save_op(filename, saveables) if tensors is None else self.save_op(filename, saveables, tensors)
        return control_flow_ops.with_dependencies([save], filename)

    def _add_sharded_save(self, filename, per_device, kept=None):
        """Each task writes its own variables aside; then the parts are joined under the final name."""
        import uuid
        with ops.device(_cpu_device(per_device[-1][0])):
            suffix = constant_op.constant(f"_temp_{uuid.uuid4().hex}/part", name="Const_1")
            temporary = gen_ops.string_join([filename, suffix], name="StringJoin")
            count = constant_op.constant(len(per_device), name="num_shards")
        prefixes, saves = [], []
        for i, (device, saveables) in enumerate(per_device):
            with ops.device(device):
                shard = gen_ops.sharded_filename(temporary, i, count, name="ShardedFilename")
                prefixes.append(shard)
                saves.append(self._add_save(shard, saveables, kept[i] if kept else None))
        with ops.control_dependencies([s.op for s in saves]), ops.device(_cpu_device(per_device[-1][0])):
            packed = gen_ops.pack(prefixes, name="MergeV2Checkpoints/checkpoint_prefixes")
            merge = gen_ops.merge_v2_checkpoints(packed, filename, delete_old_dirs=True, name="MergeV2Checkpoints")
            with ops.control_dependencies([merge]):
                return gen_ops.identity(filename, name="Identity")

    def _add_restore(self, filename, saveables, reshape, restore_sequentially, name="restore_all"):
        tensors = self.bulk_restore(filename, saveables, -1, restore_sequentially)
        assigns, at = [], 0
        for s in saveables:
            shapes = None
            if reshape:
                shapes = []
                for spec in s.specs:
                    shape = spec.tensor.get_shape()
                    shapes.append(gen_ops.shape(spec.tensor) if not shape.is_fully_defined() else shape.as_list())
            mine = tensors[at:at + len(s.specs)]
            at += len(s.specs)
            with ops.control_dependencies(assigns[-1:] if restore_sequentially else []):
                assigns.append(s.restore(mine, shapes))
        return control_flow_group.group(*assigns, name=name)

    def _add_sharded_restore(self, filename, per_device, reshape):
        shards = []
        for device, saveables in per_device:
            with ops.device(device):
                shards.append(self._add_restore(filename, saveables, reshape, False, name="restore_shard"))
        return control_flow_group.group(*shards, name="restore_all")

    def _add_detour(self, filename, saveables, per_device, reshape):
        """For tasks that share no disk with the chief: a node that finds it out, and nodes that save and restore on the chief."""
        with ops.name_scope(shared_disk.SCOPE), ops.device(None):
            contents = []
            for device, _ in per_device:
                with ops.device(device):
                    contents.append(gen_ops.read_file(filename, name="read"))
            gen_ops.pack(contents, name="probe")
            self._add_save(filename, saveables)
            self._add_restore(filename, saveables, reshape, False)

    def build(self, names_to_saveables, reshape=False, sharded=False, max_to_keep=5, keep_checkpoint_every_n_hours=10000.0,
              name=None, restore_sequentially=False, filename="model"):
        """Adds the nodes; returns the SaverDef that names them."""
        from millstream.proto import saver_pb2
        saveables = saveable_lib.validate_and_slice(names_to_saveables)
        self._saveables, self._sharded = saveables, sharded
        with ops.name_scope(name, "save", [s.op for s in saveables if isinstance(s.op, ops.Tensor)]):
            default = gen_ops.placeholder_with_default(filename or "model", shape=(), name="filename")
            path = gen_ops.placeholder_with_default(default, shape=(), name="Const")
            if sharded:
                per_device = _group_by_task(saveables)
                save_tensor = self._add_sharded_save(path, per_device)
                restore_op = self._add_sharded_restore(path, per_device, reshape)
                if any(device_lib.DeviceSpec.from_string(device).job for device, _ in per_device):
                    self._add_detour(path, saveables, per_device, reshape)
            else:
                save_tensor = self._add_save(path, saveables)
                restore_op = self._add_restore(path, saveables, reshape, restore_sequentially)
        return saver_pb2.SaverDef(filename_tensor_name=path.name, save_tensor_name=save_tensor.name,
                                  restore_op_name=restore_op.name, max_to_keep=max_to_keep, sharded=sharded,
                                  keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours, version=self._write_version)

    def build_background(self, saver_def):
        """Adds nodes for saves in the background (background_save.Nodes); None if a derived class saves in another way."""
        if type(self).save_op is not BaseSaverBuilder.save_op or not getattr(self, "_saveables", None):
            return None
        graph, scope = ops.get_default_graph(), saver_def.restore_op_name.rpartition("/")[0]
        filename = graph.get_tensor_by_name(saver_def.filename_tensor_name)
        with ops.name_scope(scope + "/" if scope else None), ops.control_dependencies(None):
            return background_save.add_nodes(self, filename, _group_by_task(self._saveables), self._sharded,
                                             shared_disk.detour_of(graph, saver_def) is not None)


BulkSaverBuilder = BaseSaverBuilder
