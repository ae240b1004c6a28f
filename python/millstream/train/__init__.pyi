# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.events.writer import FileWriter as SummaryWriter
from millstream.events.writer import summary_iterator as summary_iterator
from millstream.events.writer_cache import FileWriterCache as SummaryWriterCache
from millstream.framework.config import BytesList as BytesList
from millstream.framework.config import ClusterDef as ClusterDef
from millstream.framework.config import Example as Example
from millstream.framework.config import Feature as Feature
from millstream.framework.config import FeatureList as FeatureList
from millstream.framework.config import FeatureLists as FeatureLists
from millstream.framework.config import Features as Features
from millstream.framework.config import FloatList as FloatList
from millstream.framework.config import Int64List as Int64List
from millstream.framework.config import JobDef as JobDef
from millstream.framework.config import QueueRunnerDef as QueueRunnerDef
from millstream.framework.config import SaverDef as SaverDef
from millstream.framework.config import SequenceExample as SequenceExample
from millstream.framework.config import ServerDef as ServerDef
from millstream.framework.graph_util import write_graph as write_graph
from millstream.ops.io.io_ops import match_filenames_once as match_filenames_once
from millstream.train import experimental as experimental
from millstream.train import queue_runner as queue_runner
from millstream.training.adadelta import AdadeltaOptimizer as AdadeltaOptimizer
from millstream.training.adagrad import AdagradDAOptimizer as AdagradDAOptimizer
from millstream.training.adagrad import AdagradOptimizer as AdagradOptimizer
from millstream.training.adagrad import ProximalAdagradOptimizer as ProximalAdagradOptimizer
from millstream.training.adam import AdamOptimizer as AdamOptimizer
from millstream.training.basic_loops import basic_train_loop as basic_train_loop
from millstream.training.basic_session_run_hooks import FeedFnHook as FeedFnHook
from millstream.training.basic_session_run_hooks import FinalOpsHook as FinalOpsHook
from millstream.training.basic_session_run_hooks import GlobalStepWaiterHook as GlobalStepWaiterHook
from millstream.training.basic_session_run_hooks import LoggingTensorHook as LoggingTensorHook
from millstream.training.basic_session_run_hooks import NanLossDuringTrainingError as NanLossDuringTrainingError
from millstream.training.basic_session_run_hooks import NanTensorHook as NanTensorHook
from millstream.training.basic_session_run_hooks import ProfilerHook as ProfilerHook
from millstream.training.basic_session_run_hooks import SecondOrStepTimer as SecondOrStepTimer
from millstream.training.basic_session_run_hooks import StepCounterHook as StepCounterHook
from millstream.training.basic_session_run_hooks import StopAtStepHook as StopAtStepHook
from millstream.training.checkpoint_management import checkpoint_exists as checkpoint_exists
from millstream.training.checkpoint_management import generate_checkpoint_state_proto as generate_checkpoint_state_proto
from millstream.training.checkpoint_management import get_checkpoint_mtimes as get_checkpoint_mtimes
from millstream.training.checkpoint_management import get_checkpoint_state as get_checkpoint_state
from millstream.training.checkpoint_management import latest_checkpoint as latest_checkpoint
from millstream.training.checkpoint_management import remove_checkpoint as remove_checkpoint
from millstream.training.checkpoint_management import update_checkpoint_state as update_checkpoint_state
from millstream.training.checkpoint_utils import NewCheckpointReader as NewCheckpointReader
from millstream.training.checkpoint_utils import checkpoints_iterator as checkpoints_iterator
from millstream.training.checkpoint_utils import init_from_checkpoint as init_from_checkpoint
from millstream.training.checkpoint_utils import list_variables as list_variables
from millstream.training.checkpoint_utils import load_checkpoint as load_checkpoint
from millstream.training.checkpoint_utils import load_variable as load_variable
from millstream.training.coordinator import Coordinator as Coordinator
from millstream.training.coordinator import LooperThread as LooperThread
from millstream.training.delay_compensated_gradient_descent import DelayCompensatedGradientDescentOptimizer as DelayCompensatedGradientDescentOptimizer
from millstream.training.device_setter import GreedyLoadBalancingStrategy as GreedyLoadBalancingStrategy
from millstream.training.device_setter import byte_size_load_fn as byte_size_load_fn
from millstream.training.device_setter import replica_device_setter as replica_device_setter
from millstream.training.ftrl import FtrlOptimizer as FtrlOptimizer
from millstream.training.gradient_descent import GradientDescentOptimizer as GradientDescentOptimizer
from millstream.training.gradient_descent import ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer
from millstream.training.input import batch as batch
from millstream.training.input import batch_join as batch_join
from millstream.training.input import input_producer as input_producer
from millstream.training.input import limit_epochs as limit_epochs
from millstream.training.input import maybe_batch as maybe_batch
from millstream.training.input import maybe_batch_join as maybe_batch_join
from millstream.training.input import maybe_shuffle_batch as maybe_shuffle_batch
from millstream.training.input import maybe_shuffle_batch_join as maybe_shuffle_batch_join
from millstream.training.input import range_input_producer as range_input_producer
from millstream.training.input import shuffle_batch as shuffle_batch
from millstream.training.input import shuffle_batch_join as shuffle_batch_join
from millstream.training.input import slice_input_producer as slice_input_producer
from millstream.training.input import string_input_producer as string_input_producer
from millstream.training.learning_rate_decay import cosine_decay as cosine_decay
from millstream.training.learning_rate_decay import cosine_decay_restarts as cosine_decay_restarts
from millstream.training.learning_rate_decay import exponential_decay as exponential_decay
from millstream.training.learning_rate_decay import inverse_time_decay as inverse_time_decay
from millstream.training.learning_rate_decay import linear_cosine_decay as linear_cosine_decay
from millstream.training.learning_rate_decay import linear_warmup as linear_warmup
from millstream.training.learning_rate_decay import natural_exp_decay as natural_exp_decay
from millstream.training.learning_rate_decay import noisy_linear_cosine_decay as noisy_linear_cosine_decay
from millstream.training.learning_rate_decay import piecewise_constant as piecewise_constant
from millstream.training.learning_rate_decay import piecewise_constant_decay as piecewise_constant_decay
from millstream.training.learning_rate_decay import polynomial_decay as polynomial_decay
from millstream.training.momentum import MomentumOptimizer as MomentumOptimizer
from millstream.training.monitored_session import ChiefSessionCreator as ChiefSessionCreator
from millstream.training.monitored_session import MonitoredSession as MonitoredSession
from millstream.training.monitored_session import MonitoredTrainingSession as MonitoredTrainingSession
from millstream.training.monitored_session import Scaffold as Scaffold
from millstream.training.monitored_session import SessionCreator as SessionCreator
from millstream.training.monitored_session import SingularMonitoredSession as SingularMonitoredSession
from millstream.training.monitored_session import WorkerSessionCreator as WorkerSessionCreator
from millstream.training.moving_averages import ExponentialMovingAverage as ExponentialMovingAverage
from millstream.training.object_checkpoint import Checkpoint as Checkpoint
from millstream.training.object_checkpoint import CheckpointManager as CheckpointManager
from millstream.training.optimizer import Optimizer as Optimizer
from millstream.training.queue_runner_impl import QueueRunner as QueueRunner
from millstream.training.queue_runner_impl import add_queue_runner as add_queue_runner
from millstream.training.queue_runner_impl import start_queue_runners as start_queue_runners
from millstream.training.rmsprop import RMSPropOptimizer as RMSPropOptimizer
from millstream.training.saver import Saver as Saver
from millstream.training.saver import export_meta_graph as export_meta_graph
from millstream.training.saver import import_meta_graph as import_meta_graph
from millstream.training.saver_hooks import CheckpointSaverHook as CheckpointSaverHook
from millstream.training.saver_hooks import CheckpointSaverListener as CheckpointSaverListener
from millstream.training.saver_hooks import SummarySaverHook as SummarySaverHook
from millstream.training.sdca_ops import sdca_fprint as sdca_fprint
from millstream.training.sdca_ops import sdca_optimizer as sdca_optimizer
from millstream.training.sdca_ops import sdca_shrink_l1 as sdca_shrink_l1
from millstream.training.server_lib import ClusterSpec as ClusterSpec
from millstream.training.server_lib import Server as Server
from millstream.training.session_manager import SessionManager as SessionManager
from millstream.training.session_run_hook import SessionRunArgs as SessionRunArgs
from millstream.training.session_run_hook import SessionRunContext as SessionRunContext
from millstream.training.session_run_hook import SessionRunHook as SessionRunHook
from millstream.training.session_run_hook import SessionRunValues as SessionRunValues
from millstream.training.supervisor import Supervisor as Supervisor
from millstream.training.sync_replicas_optimizer import SyncReplicasOptimizer as SyncReplicasOptimizer
from millstream.training.sync_replicas_optimizer import SyncReplicasOptimizer as SyncReplicasOptimizerV2
from millstream.training.training_util import assert_global_step as assert_global_step
from millstream.training.training_util import create_global_step as create_global_step
from millstream.training.training_util import get_global_step as get_global_step
from millstream.training.training_util import get_or_create_global_step as get_or_create_global_step
from millstream.training.training_util import global_step as global_step
from millstream.training.warm_starting import VocabInfo as VocabInfo
from millstream.training.warm_starting import warm_start as warm_start
from millstream.worker_modes.distributed_optimizer import DistributedOptimizer as DistributedOptimizer
from millstream.worker_modes.hierarchical_optimizer import HierarchicalOptimizer as HierarchicalOptimizer
from millstream.worker_modes.local_sgd_optimizer import LocalSGDOptimizer as LocalSGDOptimizer
from millstream.worker_modes.stale_synchronous_optimizer import StaleSynchronousOptimizer as StaleSynchronousOptimizer

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "ChiefSessionCreator",
    "ClusterDef",
    "ClusterSpec",
    "Coordinator",
    "DelayCompensatedGradientDescentOptimizer",
    "DistributedOptimizer",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FeedFnHook",
    "FinalOpsHook",
    "FloatList",
    "FtrlOptimizer",
    "GlobalStepWaiterHook",
    "GradientDescentOptimizer",
    "GreedyLoadBalancingStrategy",
    "HierarchicalOptimizer",
    "Int64List",
    "JobDef",
    "LocalSGDOptimizer",
    "LoggingTensorHook",
    "LooperThread",
    "MomentumOptimizer",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "NewCheckpointReader",
    "Optimizer",
    "ProfilerHook",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "QueueRunner",
    "QueueRunnerDef",
    "RMSPropOptimizer",
    "Saver",
    "SaverDef",
    "Scaffold",
    "SecondOrStepTimer",
    "SequenceExample",
    "Server",
    "ServerDef",
    "SessionCreator",
    "SessionManager",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "SingularMonitoredSession",
    "StaleSynchronousOptimizer",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
    "SummaryWriter",
    "SummaryWriterCache",
    "Supervisor",
    "SyncReplicasOptimizer",
    "SyncReplicasOptimizerV2",
    "VocabInfo",
    "WorkerSessionCreator",
    "add_queue_runner",
    "assert_global_step",
    "basic_train_loop",
    "batch",
    "batch_join",
    "byte_size_load_fn",
    "checkpoint_exists",
    "checkpoints_iterator",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "experimental",
    "exponential_decay",
    "export_meta_graph",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "import_meta_graph",
    "init_from_checkpoint",
    "input_producer",
    "inverse_time_decay",
    "latest_checkpoint",
    "limit_epochs",
    "linear_cosine_decay",
    "linear_warmup",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
    "queue_runner",
    "range_input_producer",
    "remove_checkpoint",
    "replica_device_setter",
    "sdca_fprint",
    "sdca_optimizer",
    "sdca_shrink_l1",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "summary_iterator",
    "update_checkpoint_state",
    "warm_start",
    "write_graph",
]
