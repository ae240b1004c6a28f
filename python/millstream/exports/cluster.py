# SPDX-License-Identifier: Apache-2.0
EXPORTS = {
    "millstream.training.server_lib": "train.ClusterSpec train.Server distribute.Server=Server",
    "millstream.strategies.strategy": """
        distribute.Strategy distribute.StrategyExtended distribute.OneDeviceStrategy distribute.get_strategy distribute.has_strategy
        distribute.get_replica_context distribute.in_cross_replica_context distribute.get_loss_reduction
        contrib.distribute.OneDeviceStrategy contrib.distribute.get_strategy contrib.distribute.has_strategy
        contrib.distribute.get_replica_context contrib.distribute.in_cross_replica_context contrib.distribute.get_loss_reduction""",
    "millstream.strategies.values": "distribute.ReduceOp contrib.distribute.ReduceOp=ReduceOp",
    "millstream.strategies.input_lib": "distribute.InputContext distribute.InputReplicationMode",
    "millstream.strategies.replica_threads": "distribute.ReplicaContext",
    "millstream.strategies.mirrored": """
        distribute.MirroredStrategy contrib.distribute.MirroredStrategy=ContribMirroredStrategy
        distribute.experimental.CentralStorageStrategy=CentralStorageStrategy""",
    "millstream.strategies.multi_worker": """
        distribute.experimental.ParameterServerStrategy distribute.experimental.MultiWorkerMirroredStrategy
        distribute.experimental.CollectiveCommunication contrib.distribute.ParameterServerStrategy=ContribParameterServerStrategy
        contrib.distribute.CollectiveAllReduceStrategy""",
    "millstream.strategies.refusals": "distribute.experimental.TPUStrategy contrib.distribute.TPUStrategy",
}
