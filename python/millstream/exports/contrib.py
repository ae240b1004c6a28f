# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.layers, tf.contrib.slim, tf.contrib.framework."""
_LAYERS = """fully_connected conv2d convolution convolution2d conv1d conv3d conv2d_transpose convolution2d_transpose
    separable_conv2d
    max_pool2d avg_pool2d batch_norm dropout flatten layer_norm one_hot_encoding softmax repeat stack unit_norm maxout"""
_REGULARIZERS = "l1_regularizer l2_regularizer l1_l2_regularizer"


def _in(spaces, names):
    return " ".join(f"{space}.{n.partition('=')[0]}={n.partition('=')[2] or n}" for space in spaces for n in names.split())


EXPORTS = {
    "millstream.ops.contrib.metrics": _in(["contrib.metrics", "contrib.slim.metrics"], """
        streaming_mean streaming_accuracy streaming_precision streaming_recall streaming_auc streaming_mean_iou
        streaming_mean_absolute_error streaming_mean_squared_error streaming_root_mean_squared_error
        streaming_mean_cosine_distance streaming_true_positives streaming_true_negatives streaming_false_positives
        streaming_false_negatives streaming_recall_at_k streaming_percentage_less accuracy aggregate_metrics
        aggregate_metric_map"""),
    "millstream.ops.contrib.more": _in(["contrib.layers", "contrib.slim"], "instance_norm group_norm bias_add") + " " + _in(
        ["contrib.layers"], "elu relu6 legacy_fully_connected summarize_tensor summarize_activations") + " " + _in(
        ["contrib.framework", "contrib.slim"], """assign_from_values assign_from_values_fn assign_from_checkpoint
        filter_variables get_unique_variable get_variable_full_name""") + " contrib.framework.zero_initializer=zero_initializer",
    "millstream.training.training_util": _in(["contrib.slim"],
                                             "get_global_step get_or_create_global_step create_global_step"),
    "millstream.training.contrib_training": _in(["contrib.training"], """create_train_op train clip_gradient_norms
        clip_gradient_norms_fn multiply_gradients add_gradients_summaries""") + " " + _in(["contrib.slim.learning"], """
        clip_gradient_norms multiply_gradients add_gradients_summaries train_step create_train_op=slim_create_train_op
        train=slim_train"""),
    "millstream.training.contrib_evaluation": _in(["contrib.training"], """get_or_create_eval_step StopAfterNEvalsHook SummaryAtEndHook
        wait_for_new_checkpoint evaluate_once evaluate_repeatedly""") + " " + _in(["contrib.slim.evaluation"], """evaluation_loop
        wait_for_new_checkpoint evaluate_once=slim_evaluate_once""") + " contrib.framework.get_or_create_eval_step=get_or_create_eval_step",
    "millstream.training.checkpoint_utils": _in(["contrib.training", "contrib.slim.evaluation"], "checkpoints_iterator"),
    "millstream.training.bucketing": _in(["contrib.training"], "bucket bucket_by_sequence_length"),
    "millstream.ops.queues.staging": "contrib.staging.StagingArea",
    "millstream.training.cluster_resolvers": _in(["contrib.cluster_resolver"], """ClusterResolver SimpleClusterResolver
        TFConfigClusterResolver"""),
    "millstream.estimators.tpu": _in(["contrib.tpu"], """InputPipelineConfig TPUConfig RunConfig TPUEstimatorSpec TPUEstimator
        CrossShardOptimizer""") + " contrib.cluster_resolver.TPUClusterResolver=TPUClusterResolver",
    "millstream.training.contrib_opt": _in(["contrib.opt"], """DecoupledWeightDecayExtension extend_with_decoupled_weight_decay
        AdamWOptimizer MomentumWOptimizer NadamOptimizer LazyAdamOptimizer AdaMaxOptimizer LARSOptimizer MovingAverageOptimizer
        VariableClippingOptimizer clip_gradients_by_global_norm"""),
    "millstream.training.external_optimizer": _in(["contrib.opt"], "ExternalOptimizerInterface ScipyOptimizerInterface"),
    "millstream.ops.contrib.layers": _in(["contrib.layers", "contrib.slim"], _LAYERS) + " " + _in(
        ["contrib.layers"], "linear relu embed_sequence separable_convolution2d=separable_conv2d") + " " + _in(
        ["contrib.slim.layers"], _LAYERS),
    "millstream.ops.contrib.framework": _in(["contrib.layers", "contrib.slim"], _REGULARIZERS) + " " + _in(
        ["contrib.layers"],
        "sum_regularizer apply_regularization summarize_tensors") + " " + _in(
        ["contrib.framework", "contrib.slim"], """variable model_variable local_variable get_variables get_model_variables
        get_local_variables get_trainable_variables get_variables_by_suffix get_variables_by_name get_variables_to_restore
        assign_from_checkpoint_fn""") + " contrib.framework.is_tensor=is_tensor",
    "millstream.ops.contrib.optimize_loss": _in(["contrib.layers"], "optimize_loss OPTIMIZER_CLS_NAMES OPTIMIZER_SUMMARIES"),
    "millstream.ops.contrib.arg_scope": _in(["contrib.framework", "contrib.slim"], """arg_scope add_arg_scope current_arg_scope
        has_arg_scope arg_scoped_arguments"""),
    "millstream.ops.losses.losses": _in(["contrib.losses", "contrib.slim.losses"], """
        add_loss get_losses get_regularization_losses get_total_loss"""),
    "millstream.ops.contrib.losses": _in(["contrib.losses", "contrib.slim.losses"], """
        absolute_difference compute_weighted_loss cosine_distance hinge_loss log_loss mean_pairwise_squared_error
        mean_squared_error sigmoid_cross_entropy softmax_cross_entropy sparse_softmax_cross_entropy"""),
    "millstream.ops.contrib.utils": _in(["contrib.slim.utils", "contrib.layers.utils"], """
        collect_named_outputs append_tensor_alias gather_tensors_aliases get_tensor_aliases convert_collection_to_dict
        constant_value static_cond smart_cond get_variable_collections channel_dimension last_dimension two_element_tuple
        n_positive_integers"""),
    "millstream.ops.variables.init_ops": _in(["contrib.slim"], "xavier_initializer variance_scaling_initializer"),
}
EXPORTS.update({f"millstream.nets.{n}": f"contrib.slim.nets.{n}=" for n in "vgg alexnet resnet_utils resnet_v1 resnet_v2".split()})
