# SPDX-License-Identifier: Apache-2.0
EXPORTS = {
    "millstream.framework.ops": """
        Graph GraphKeys IndexedSlices IndexedSlicesValue Operation Tensor
        NoGradient NotDifferentiable no_gradient=NotDifferentiable RegisterGradient add_to_collection add_to_collections
        colocate_with container control_dependencies convert_to_tensor convert_to_tensor_or_indexed_slices device
        get_collection get_collection_ref get_default_graph get_default_session init_scope name_scope op_scope
        register_tensor_conversion_function reset_default_graph executing_eagerly""",
    "millstream.framework.dtypes": """
        DType as_dtype QUANTIZED_DTYPES float16 half float32 float64 double bfloat16 complex64 complex128 int8 int16 int32
        int64 uint8 uint16 uint32 uint64 bool string qint8 quint8 qint16 quint16 qint32 resource variant float16_ref half_ref
        float32_ref float64_ref double_ref bfloat16_ref complex64_ref complex128_ref int8_ref int16_ref int32_ref int64_ref
        uint8_ref uint16_ref uint32_ref uint64_ref bool_ref string_ref dtypes.DType dtypes.as_dtype""",
    "millstream.framework.tensor_shape": "TensorShape Dimension dimension_value dimension_at_index",
    "millstream.framework.device": "DeviceSpec",
    "millstream.framework.type_specs": """
        TypeSpec TensorSpec SparseTensorSpec RaggedTensorSpec IndexedSlicesSpec type_spec_from_value""",
    "millstream.framework.errors": """
        OpError errors.OpError errors.CancelledError errors.UnknownError errors.InvalidArgumentError
        errors.DeadlineExceededError errors.NotFoundError errors.AlreadyExistsError errors.PermissionDeniedError
        errors.UnauthenticatedError errors.ResourceExhaustedError errors.FailedPreconditionError errors.AbortedError
        errors.OutOfRangeError errors.UnimplementedError errors.InternalError errors.UnavailableError errors.DataLossError
        errors.OK errors.CANCELLED errors.UNKNOWN errors.INVALID_ARGUMENT errors.DEADLINE_EXCEEDED errors.NOT_FOUND
        errors.ALREADY_EXISTS errors.PERMISSION_DENIED errors.UNAUTHENTICATED errors.RESOURCE_EXHAUSTED
        errors.FAILED_PRECONDITION errors.ABORTED errors.OUT_OF_RANGE errors.UNIMPLEMENTED errors.INTERNAL
        errors.UNAVAILABLE errors.DATA_LOSS errors.exception_type_from_error_code errors.error_code_from_exception_type""",
    "millstream.framework.constant_op": "constant placeholder placeholder_with_default",
    "millstream.framework.tensor_util": """
        make_tensor_proto make_ndarray=MakeNdarray is_tensor contrib.util.constant_value=constant_value
        contrib.util.make_tensor_proto=make_tensor_proto contrib.util.make_ndarray=MakeNdarray get_static_value=constant_value""",
    "millstream.framework.operators_slice": "newaxis",
    "millstream.framework.sparse_tensor": """
        SparseTensor SparseTensorValue convert_to_tensor_or_sparse_tensor sparse.SparseTensor""",
    "millstream.framework.gradients": "gradients AggregationMethod UnconnectedGradients",
    "millstream.framework.jacobians": "hessians",
    "millstream.client.session": "Session InteractiveSession",
    "millstream.client.fetching": "",
    "millstream.raw_ops": "raw_ops=",
    "millstream.gen_ops": "gen_ops=",
    "millstream.framework.config": """
        ConfigProto GPUOptions GraphOptions OptimizerOptions RunOptions RunMetadata GraphDef MetaGraphDef NodeDef AttrValue
        NameAttrList Summary Event SummaryMetadata HistogramProto LogMessage SessionLog TensorInfo
        summary.Summary=Summary summary.Event=Event summary.SessionLog=SessionLog summary.TaggedRunMetadata=TaggedRunMetadata
        train.Example=Example train.Feature=Feature train.Features=Features train.FeatureList=FeatureList
        train.FeatureLists=FeatureLists train.SequenceExample=SequenceExample train.BytesList=BytesList
        train.FloatList=FloatList train.Int64List=Int64List train.ClusterDef=ClusterDef train.JobDef=JobDef
        train.ServerDef=ServerDef train.SaverDef=SaverDef train.QueueRunnerDef=QueueRunnerDef""",
}
