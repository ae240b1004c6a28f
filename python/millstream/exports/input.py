# SPDX-License-Identifier: Apache-2.0
_TRANSFORMATIONS = """
    shuffle_and_repeat map_and_batch parallel_interleave unbatch unique take_while enumerate_dataset prefetch_to_device
    copy_to_device ignore_errors Counter scan group_by_window bucket_by_sequence_length"""

EXPORTS = {
    "millstream.ops.io.sequence_parsing": """
        parse_single_sequence_example io.parse_single_sequence_example serialize_tensor io.serialize_tensor parse_tensor
        io.parse_tensor io.parse_sequence_example""",
    "millstream.datasets.transformations": " ".join(
        f"{space}.{n}" for space in ("data.experimental", "contrib.data") for n in _TRANSFORMATIONS.split()) + """
        contrib.data.batch_and_drop_remainder contrib.data.padded_batch_and_drop_remainder""",
    "millstream.datasets.selection": " ".join(
        f"{space}.{n}" for space in ("data.experimental", "contrib.data") for n in
        ("choose_from_datasets", "sample_from_datasets", "rejection_resample")),
    "millstream.datasets.more_steps": " ".join(f"data.experimental.{n}" for n in """
        group_by_reducer Reducer dense_to_sparse_batch cardinality assert_cardinality get_single_element RandomDataset
        INFINITE_CARDINALITY UNKNOWN_CARDINALITY""".split()) + """ data.INFINITE_CARDINALITY data.UNKNOWN_CARDINALITY
        contrib.data.RandomDataset contrib.data.get_single_element contrib.data.dense_to_sparse_batch
        contrib.data.group_by_reducer contrib.data.Reducer""",
    "millstream.datasets.saved_datasets": """
        data.experimental.snapshot=experimental_snapshot data.experimental.save=save data.experimental.load=load
        data.experimental.from_list data.experimental.TFRecordWriter data.experimental.SHARD_HINT
        data.experimental.make_saveable_from_iterator contrib.data.TFRecordWriter
        contrib.data.make_saveable_from_iterator""",
    "millstream.datasets.csv_datasets": " ".join(f"data.experimental.{n}" for n in """
        CsvDataset make_csv_dataset parse_example_dataset make_batched_features_dataset""".split()) + """
        contrib.data.CsvDataset contrib.data.make_csv_dataset contrib.data.parse_example_dataset
        contrib.data.make_batched_features_dataset""",
    "millstream.datasets.optional_ops": """
        data.experimental.Optional data.experimental.get_next_as_optional contrib.data.Optional
        contrib.data.get_next_as_optional""",
    "millstream.training.input": """
        train.limit_epochs train.input_producer train.string_input_producer train.range_input_producer
        train.slice_input_producer train.batch train.maybe_batch train.batch_join train.shuffle_batch
        train.maybe_shuffle_batch train.shuffle_batch_join train.maybe_batch_join train.maybe_shuffle_batch_join""",
    "millstream.ops.io.io_ops": """
        ReaderBase WholeFileReader IdentityReader TextLineReader FixedLengthRecordReader TFRecordReader matching_files read_file
        write_file io.read_file=read_file io.write_file=write_file io.matching_files=matching_files
        train.match_filenames_once io.match_filenames_once=match_filenames_once""",
    "millstream.ops.io.parsing_ops": """
        FixedLenFeature VarLenFeature SparseFeature FixedLenSequenceFeature parse_example parse_single_example decode_csv
        decode_raw io.FixedLenFeature=FixedLenFeature io.VarLenFeature=VarLenFeature io.parse_example=parse_example
        io.FixedLenSequenceFeature=FixedLenSequenceFeature io.parse_single_example=parse_single_example
        io.decode_csv=decode_csv io.decode_raw=decode_raw io.SparseFeature=SparseFeature""",
    "millstream.ops.io.python_io": """
        python_io.TFRecordWriter python_io.tf_record_iterator python_io.TFRecordOptions python_io.TFRecordCompressionType
        io.TFRecordWriter=TFRecordWriter io.TFRecordOptions=TFRecordOptions io.tf_record_iterator=tf_record_iterator
        io.TFRecordCompressionType=TFRecordCompressionType""",
    "millstream.datasets.mnist": """
        examples.tutorials.mnist.input_data= contrib.learn.python.learn.datasets.mnist= contrib.learn.datasets.mnist=
        contrib.learn.datasets.load_mnist=load_mnist keras.datasets.mnist=""",
    "millstream.datasets.mnist_model": "examples.tutorials.mnist.mnist=",
    "millstream.datasets.dataset_ops": """
        data.Dataset data.experimental.AUTOTUNE=AUTOTUNE data.AUTOTUNE=AUTOTUNE
        contrib.data.Dataset=Dataset""",
    "millstream.datasets.options": """
        data.Options data.get_output_types data.get_output_shapes data.get_output_classes data.ThreadingOptions
        data.experimental.AutoShardPolicy data.experimental.ExternalStatePolicy data.experimental.OptimizationOptions
        data.experimental.ThreadingOptions data.experimental.DistributeOptions data.experimental.AutotuneOptions""",
    "millstream.datasets.file_datasets": """
        data.TFRecordDataset data.TextLineDataset data.FixedLengthRecordDataset contrib.data.TFRecordDataset=TFRecordDataset
        contrib.data.TextLineDataset=TextLineDataset contrib.data.FixedLengthRecordDataset=FixedLengthRecordDataset""",
    "millstream.datasets.iterator_ops": """
        data.Iterator data.make_one_shot_iterator data.make_initializable_iterator contrib.data.Iterator=Iterator""",
}
