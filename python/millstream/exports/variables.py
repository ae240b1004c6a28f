# SPDX-License-Identifier: Apache-2.0
EXPORTS = {
    "millstream.ops.variables.variables": """
        Variable VariableSynchronization VariableAggregation enable_resource_variables disable_resource_variables
        resource_variables_enabled variable_creator_scope""",
    "millstream.ops.variables.partitioned_variables": """
        PartitionedVariable fixed_size_partitioner variable_axis_size_partitioner min_max_variable_partitioner
        create_partitioned_variables""",
    "millstream.ops.variables.variable_scope": """
        VariableScope variable_scope variable_op_scope get_variable get_local_variable get_variable_scope AUTO_REUSE
        no_regularizer""",
    "millstream.ops.variables.template": "make_template",
    "millstream.ops.variables.resource_variable_ops": "",
    "millstream.ops.variables.variable_collections": """
        global_variables local_variables model_variables trainable_variables moving_average_variables all_variables
        variables_initializer global_variables_initializer local_variables_initializer initialize_variables
        initialize_all_variables initialize_local_variables is_variable_initialized assert_variables_initialized
        report_uninitialized_variables initializers.variables=variables_initializer
        initializers.global_variables=global_variables_initializer initializers.local_variables=local_variables_initializer""",
    "millstream.ops.variables.state_ops": """
        assign assign_add assign_sub count_up_to scatter_update scatter_add scatter_sub scatter_mul scatter_div scatter_min
        scatter_max scatter_nd_update scatter_nd_add scatter_nd_sub batch_scatter_update""",
    "millstream.ops.variables.init_ops": """
        zeros_initializer=Zeros ones_initializer=Ones constant_initializer=Constant random_uniform_initializer=RandomUniform
        random_normal_initializer=RandomNormal truncated_normal_initializer=TruncatedNormal
        uniform_unit_scaling_initializer=UniformUnitScaling variance_scaling_initializer=VarianceScaling
        orthogonal_initializer=Orthogonal glorot_uniform_initializer=GlorotUniform glorot_normal_initializer=GlorotNormal
        initializers.zeros=Zeros initializers.ones=Ones initializers.constant=Constant
        initializers.random_uniform=RandomUniform initializers.random_normal=RandomNormal
        initializers.truncated_normal=TruncatedNormal initializers.uniform_unit_scaling=UniformUnitScaling
        initializers.variance_scaling=VarianceScaling initializers.orthogonal=Orthogonal initializers.identity=Identity
        initializers.glorot_uniform=GlorotUniform initializers.glorot_normal=GlorotNormal initializers.he_normal=he_normal
        initializers.he_uniform=he_uniform initializers.lecun_normal=lecun_normal initializers.lecun_uniform=lecun_uniform
        contrib.layers.xavier_initializer=xavier_initializer contrib.layers.xavier_initializer_conv2d=xavier_initializer
        contrib.layers.variance_scaling_initializer=variance_scaling_initializer""",
    "millstream.training.training_util": """
        train.global_step train.get_global_step train.create_global_step train.get_or_create_global_step
        train.assert_global_step contrib.framework.get_or_create_global_step contrib.framework.get_global_step
        contrib.framework.create_global_step contrib.framework.assert_global_step""",
}
