# SPDX-License-Identifier: Apache-2.0


def _in(spaces, names):
    return " ".join(f"{space}.{name}" for space in spaces for name in names.split())


EXPORTS = {
    "millstream.training.optimizer": "train.Optimizer",
    "millstream.training.gradient_descent": "train.GradientDescentOptimizer train.ProximalGradientDescentOptimizer",
    "millstream.training.momentum": "train.MomentumOptimizer",
    "millstream.training.adagrad": "train.AdagradOptimizer train.AdagradDAOptimizer train.ProximalAdagradOptimizer",
    "millstream.training.adadelta": "train.AdadeltaOptimizer",
    "millstream.training.rmsprop": "train.RMSPropOptimizer",
    "millstream.training.adam": "train.AdamOptimizer",
    "millstream.training.ftrl": "train.FtrlOptimizer",
    "millstream.training.sdca_ops": "train.sdca_fprint train.sdca_optimizer train.sdca_shrink_l1",
    "millstream.training.delay_compensated_gradient_descent": """
        train.DelayCompensatedGradientDescentOptimizer contrib.opt.DelayCompensatedGradientDescentOptimizer""",
    "millstream.training.sync_replicas_optimizer": """
        train.SyncReplicasOptimizer train.SyncReplicasOptimizerV2=SyncReplicasOptimizer""",
    "millstream.worker_modes.stale_synchronous_optimizer": "train.StaleSynchronousOptimizer",
    "millstream.worker_modes.distributed_optimizer": "train.DistributedOptimizer",
    "millstream.worker_modes.local_sgd_optimizer": "train.LocalSGDOptimizer",
    "millstream.worker_modes.hierarchical_optimizer": "train.HierarchicalOptimizer",
    "millstream.training.loss_scale": _in(
        ["mixed_precision", "mixed_precision.experimental", "train.experimental"], "LossScale FixedLossScale DynamicLossScale"),
    "millstream.training.loss_scale_optimizer": _in(["mixed_precision", "train.experimental"], "MixedPrecisionLossScaleOptimizer"),
    "millstream.training.mixed_precision": _in(
        ["mixed_precision", "train.experimental"], "enable_mixed_precision_graph_rewrite disable_mixed_precision_graph_rewrite"),
    "millstream.training.moving_averages": "train.ExponentialMovingAverage",
    "millstream.training.learning_rate_decay": """
        train.exponential_decay train.natural_exp_decay train.inverse_time_decay train.piecewise_constant
        train.piecewise_constant_decay train.polynomial_decay train.cosine_decay train.cosine_decay_restarts
        train.linear_cosine_decay train.noisy_linear_cosine_decay train.linear_warmup""",
    "millstream.training.device_setter": """
        train.replica_device_setter contrib.training.GreedyLoadBalancingStrategy contrib.training.byte_size_load_fn
        contrib.training.RandomStrategy train.GreedyLoadBalancingStrategy train.byte_size_load_fn""",
    "millstream.training.coordinator": "train.Coordinator train.LooperThread",
    "millstream.training.queue_runner_impl": """
        train.QueueRunner train.add_queue_runner train.start_queue_runners train.queue_runner.QueueRunner
        train.queue_runner.add_queue_runner train.queue_runner.start_queue_runners""",
    "millstream.ops.queues.data_flow_ops": """
        QueueBase FIFOQueue RandomShuffleQueue PaddingFIFOQueue PriorityQueue queue.QueueBase queue.FIFOQueue
        queue.RandomShuffleQueue queue.PaddingFIFOQueue queue.PriorityQueue io.QueueBase io.RandomShuffleQueue io.PaddingFIFOQueue
        io.PriorityQueue""",
    "millstream.ops.queues.accumulators": "ConditionalAccumulatorBase ConditionalAccumulator SparseConditionalAccumulator sparse.SparseConditionalAccumulator",
    "millstream.training.session_run_hook": """
        train.SessionRunHook train.SessionRunArgs train.SessionRunContext train.SessionRunValues""",
    "millstream.training.object_checkpoint": "train.Checkpoint train.CheckpointManager contrib.checkpoint.CheckpointManager",
    "millstream.training.trackable": "contrib.checkpoint.Checkpointable=AutoTrackable contrib.checkpoint.Trackable=AutoTrackable",
    "millstream.training.saver": "train.Saver train.export_meta_graph train.import_meta_graph",
    "millstream.training.checkpoint_management": """
        train.latest_checkpoint train.get_checkpoint_state train.update_checkpoint_state train.generate_checkpoint_state_proto
        train.checkpoint_exists train.get_checkpoint_mtimes train.remove_checkpoint""",
    "millstream.training.checkpoint_utils": """
        train.NewCheckpointReader train.load_checkpoint train.load_variable train.list_variables train.init_from_checkpoint
        train.checkpoints_iterator contrib.framework.load_checkpoint contrib.framework.list_variables
        contrib.framework.load_variable contrib.framework.init_from_checkpoint""",
    "millstream.training.session_manager": "train.SessionManager",
    "millstream.training.monitored_session": """
        train.Scaffold train.SessionCreator train.ChiefSessionCreator train.WorkerSessionCreator train.MonitoredSession
        train.SingularMonitoredSession train.MonitoredTrainingSession""",
    "millstream.training.basic_session_run_hooks": """
        train.LoggingTensorHook train.StopAtStepHook train.StepCounterHook train.NanTensorHook train.GlobalStepWaiterHook
        train.FinalOpsHook train.FeedFnHook train.ProfilerHook train.SecondOrStepTimer train.NanLossDuringTrainingError
        estimator.LoggingTensorHook=LoggingTensorHook""",
    "millstream.training.saver_hooks": "train.CheckpointSaverHook train.CheckpointSaverListener train.SummarySaverHook",
    "millstream.training.supervisor": "train.Supervisor",
    "millstream.training.basic_loops": "train.basic_train_loop",
    "millstream.platform.resource_loader": "resource_loader=",
    "millstream.training.timeline": "",
}
