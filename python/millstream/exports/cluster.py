# SPDX-License-Identifier: Apache-2.0
EXPORTS = {
    "millstream.training.server_lib": "train.ClusterSpec train.Server distribute.Server=Server",
    "millstream.training.distribute": """
        distribute.Strategy distribute.StrategyExtended distribute.OneDeviceStrategy distribute.MirroredStrategy distribute.ReduceOp
        distribute.InputContext distribute.ReplicaContext distribute.get_strategy distribute.has_strategy
        distribute.get_replica_context distribute.in_cross_replica_context distribute.get_loss_reduction
        distribute.experimental.ParameterServerStrategy=ParameterServerStrategy
        distribute.experimental.MultiWorkerMirroredStrategy=MultiWorkerMirroredStrategy
        distribute.experimental.CentralStorageStrategy=CentralStorageStrategy distribute.experimental.TPUStrategy=TPUStrategy
        contrib.distribute.MirroredStrategy=ContribMirroredStrategy contrib.distribute.OneDeviceStrategy
        contrib.distribute.ParameterServerStrategy=ContribParameterServerStrategy
        contrib.distribute.CollectiveAllReduceStrategy contrib.distribute.TPUStrategy""",
}
