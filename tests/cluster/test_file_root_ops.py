# SPDX-License-Identifier: Apache-2.0
"""Every op with a name of a file, at a server with --file_root: it works inside, and by no name gets outside.

A new op with such an argument fails test_no_op_is_forgotten until it is in one of the tables."""
import itertools
import os
import pathlib
import re

import pytest

import millstream as tf
from millstream import _core

raw = tf.raw_ops
SOURCES = pathlib.Path(__file__).parents[2] / "millstream" / "ops"


_numbers = itertools.count()  # of resources, which outlive their graph at the server


def _iterator(types):
    return raw.IteratorV2(shared_name=f"iterator{next(_numbers)}", container="", output_types=list(types), output_shapes=[None] * len(types))


def _first(dataset, types=(tf.string,)):
    """Runs a dataset up to its first element."""
    shapes, iterator = [None] * len(types), _iterator(types)

    def run(session):
        session.run(raw.MakeIterator(dataset=dataset, iterator=iterator))
        session.run(raw.IteratorGetNext(iterator=iterator, output_types=list(types), output_shapes=shapes))
    return run


def _all(dataset, types=(tf.string,)):
    """Runs a dataset to its end, where caches are written."""
    shapes, iterator = [None] * len(types), _iterator(types)

    def run(session):
        session.run(raw.MakeIterator(dataset=dataset, iterator=iterator))
        element = raw.IteratorGetNext(iterator=iterator, output_types=list(types), output_shapes=shapes)
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                session.run(element)
    return run


def _table(path, version):
    kind = raw.HashTableV2 if version == 2 else raw.HashTable
    init = raw.InitializeTableFromTextFileV2 if version == 2 else raw.InitializeTableFromTextFile
    table = kind(key_dtype=tf.string, value_dtype=tf.int64)
    return init(table_handle=table, filename=path, key_index=-2, value_index=-1)


def _reader(reader, version):
    def run(path):
        queue_kind = raw.FIFOQueueV2 if version == 2 else raw.FIFOQueue
        queue = queue_kind(component_types=[tf.string])
        enqueue = (raw.QueueEnqueueV2 if version == 2 else raw.QueueEnqueue)(handle=queue, components=[path])
        read = (raw.ReaderReadV2 if version == 2 else raw.ReaderRead)(reader_handle=reader(), queue_handle=queue)

        def steps(session):
            session.run(enqueue)
            session.run(read)
        return steps
    return run


def _cache(path, version):
    source = raw.TensorSliceDataset(components=[tf.constant(["a", "b"])], output_shapes=[[]])
    more = {"cache": raw.DummyMemoryCache()} if version == 2 else {}
    return (raw.CacheDatasetV2 if version == 2 else raw.CacheDataset)(
        input_dataset=source, filename=path, output_types=[tf.string], output_shapes=[[]], **more)


def _csv(path, kind, **more):
    return kind(filenames=[path], compression_type="", buffer_size=100, header=False, field_delim=",", use_quote_delim=True, na_value="",
                select_cols=tf.constant([], tf.int64), record_defaults=[tf.constant([""]), tf.constant([""])], output_shapes=[[], []], **more)


def _strings():
    return raw.TensorSliceDataset(components=[tf.constant(["a", "b"])], output_shapes=[[]])


def _save_dataset(path, op):
    from millstream.framework import function

    @function.Defun(tf.string)
    def to_shard(x):
        return tf.constant(0, tf.int64)

    more = {"output_types": [tf.string], "output_shapes": [[]]} if op == "SaveDatasetV2" else {}
    dataset = getattr(raw, op)(input_dataset=_strings(), path=path, shard_func_other_args=[], shard_func=to_shard, **more)
    return _all(dataset) if op == "SaveDatasetV2" else dataset


def _snapshot(path):
    from millstream.framework import function

    @function.Defun(tf.string)
    def to_shard(x):
        return tf.constant(0, tf.int64)

    @function.Defun(tf.variant)
    def same(shards):
        return tf.identity(shards)

    return _all(raw.SnapshotDatasetV2(input_dataset=_strings(), path=path, reader_func_other_args=[], shard_func_other_args=[], reader_func=same,
                                      shard_func=to_shard, output_types=[tf.string], output_shapes=[[]]))


def _writer(logdir, suffix=""):
    writer = raw.SummaryWriter(shared_name=f"writer{next(_numbers)}", container="")
    create = raw.CreateSummaryFileWriter(writer=writer, logdir=logdir, max_queue=1, flush_millis=1, filename_suffix=suffix)

    def run(session):
        session.run(create)
        session.run(raw.FlushSummaryWriter(writer=writer))
    return run


# What reads: op -> (the kind of its file, how to run it with a path).
READS = {
    "ReadFile": ("text", lambda p: raw.ReadFile(filename=p)),
    "TextLineDataset": ("text", lambda p: _first(raw.TextLineDataset(filenames=[p], compression_type="", buffer_size=100))),
    "TFRecordDataset": ("records", lambda p: _first(raw.TFRecordDataset(filenames=[p], compression_type="", buffer_size=100))),
    "TFRecordDatasetV2": ("records", lambda p: _first(raw.TFRecordDatasetV2(filenames=[p], compression_type="", buffer_size=100,
                                                                            byte_offsets=tf.constant([0], tf.int64)))),
    "FixedLengthRecordDataset": ("text", lambda p: _first(raw.FixedLengthRecordDataset(
        filenames=[p], header_bytes=0, record_bytes=1, footer_bytes=0, buffer_size=100))),
    "FixedLengthRecordDatasetV2": ("text", lambda p: _first(raw.FixedLengthRecordDatasetV2(
        filenames=[p], header_bytes=0, record_bytes=1, footer_bytes=0, buffer_size=100, compression_type=""))),
    "CSVDataset": ("text", lambda p: _first(_csv(p, raw.CSVDataset), (tf.string, tf.string))),
    "CSVDatasetV2": ("text", lambda p: _first(_csv(p, raw.CSVDatasetV2, exclude_cols=tf.constant([], tf.int64)), (tf.string, tf.string))),
    "ExperimentalCSVDataset": ("text", lambda p: _first(_csv(p, raw.ExperimentalCSVDataset), (tf.string, tf.string))),
    "InitializeTableFromTextFile": ("text", lambda p: _table(p, 1)),
    "InitializeTableFromTextFileV2": ("text", lambda p: _table(p, 2)),
    "FixedUnigramCandidateSampler": ("text", lambda p: raw.FixedUnigramCandidateSampler(
        true_classes=tf.constant([[0]], tf.int64), num_true=1, num_sampled=1, unique=False, range_max=1, vocab_file=p)),
    "GenerateVocabRemapping": ("text", lambda p: raw.GenerateVocabRemapping(new_vocab_file=p, old_vocab_file=p, new_vocab_offset=0,
                                                                            num_new_vocab=1)),
    "ImmutableConst": ("text", lambda p: raw.ImmutableConst(dtype=tf.uint8, shape=[2], memory_region_name=p)),
    "RecordInput": ("records", lambda p: raw.RecordInput(file_pattern=p, file_buffer_size=1, batch_size=1, file_parallelism=1)),
    "DecodeProtoV2": ("schema", lambda p: raw.DecodeProtoV2(bytes=[b""], message_type="m.M", field_names=[], output_types=[],
                                                            descriptor_source=p)),
    "EncodeProto": ("schema", lambda p: raw.EncodeProto(sizes=tf.ones([1, 1], tf.int32), values=[tf.constant([[1]])], field_names=["i"],
                                                        message_type="m.M", descriptor_source=p)),
    "Restore": ("v1", lambda p: raw.Restore(file_pattern=p, tensor_name="v", dt=tf.float32)),
    "RestoreSlice": ("v1", lambda p: raw.RestoreSlice(file_pattern=p, tensor_name="v", shape_and_slice="2 0,1", dt=tf.float32)),
    "RestoreV2": ("bundle", lambda p: raw.RestoreV2(prefix=p, tensor_names=["v"], shape_and_slices=[""], dtypes=[tf.float32])),
    "LoadAndRemapMatrix": ("bundle", lambda p: raw.LoadAndRemapMatrix(
        ckpt_path=p, old_tensor_name="m", row_remapping=tf.constant([0], tf.int64), col_remapping=tf.constant([], tf.int64),
        initializing_values=tf.constant([], tf.float32), num_rows=1, num_cols=1)),
    "LoadDataset": ("saved", lambda p: _load_dataset(p)),
    "WholeFileReader": ("text", _reader(raw.WholeFileReader, 1)),
    "WholeFileReaderV2": ("text", _reader(raw.WholeFileReaderV2, 2)),
    "TextLineReader": ("text", _reader(raw.TextLineReader, 1)),
    "TextLineReaderV2": ("text", _reader(raw.TextLineReaderV2, 2)),
    "TFRecordReader": ("records", _reader(raw.TFRecordReader, 1)),
    "TFRecordReaderV2": ("records", _reader(raw.TFRecordReaderV2, 2)),
    "FixedLengthRecordReader": ("text", _reader(lambda: raw.FixedLengthRecordReader(record_bytes=1), 1)),
    "FixedLengthRecordReaderV2": ("text", _reader(lambda: raw.FixedLengthRecordReaderV2(record_bytes=1), 2)),
}
# What writes: op -> how to run it with a path of a new file.
WRITES = {
    "WriteFile": lambda p: raw.WriteFile(filename=p, contents="x"),
    "SaveV2": lambda p: raw.SaveV2(prefix=p, tensor_names=["v"], shape_and_slices=[""], tensors=[tf.constant(1.0)]),
    "Save": lambda p: raw.Save(filename=p, tensor_names=["v"], data=[tf.constant(1.0)]),
    "SaveSlices": lambda p: raw.SaveSlices(filename=p, tensor_names=["v"], shapes_and_slices=[""], data=[tf.constant(1.0)]),
    "CacheDataset": lambda p: _all(_cache(p, 1)),
    "CacheDatasetV2": lambda p: _all(_cache(p, 2)),
    "DatasetToTFRecord": lambda p: raw.DatasetToTFRecord(input_dataset=_strings(), filename=p, compression_type=""),
    "ExperimentalDatasetToTFRecord": lambda p: raw.ExperimentalDatasetToTFRecord(input_dataset=_strings(), filename=p,
                                                                                  compression_type=""),
    "SaveDataset": lambda p: _save_dataset(p, "SaveDataset"),
    "SaveDatasetV2": lambda p: _save_dataset(p, "SaveDatasetV2"),
    "SnapshotDataset": lambda p: _all(raw.SnapshotDataset(input_dataset=_strings(), path=p, output_types=[tf.string], output_shapes=[[]])),
    "SnapshotDatasetV2": _snapshot,
    "PrintV2": lambda p: raw.PrintV2(input="x", output_stream=p if p.startswith("file://") else "file://" + p),
    "CreateSummaryFileWriter": _writer,
}
# What lists names.
PATTERNS = {
    "MatchingFiles": lambda p: raw.MatchingFiles(pattern=p),
    "MatchingFilesDataset": lambda p: _first(raw.MatchingFilesDataset(patterns=p)),
    "ExperimentalMatchingFilesDataset": lambda p: _first(raw.ExperimentalMatchingFilesDataset(patterns=p)),
}
APART = {"MergeV2Checkpoints"}  # with two names: a test of its own
# Strings that are no names of files, and ops of sources that open files which take none.
NO_FILES = {"RegexFullMatch", "RegexReplace", "StaticRegexFullMatch", "StaticRegexReplace", "TensorArrayGrad", "TensorArrayGradV2",
            "TensorArrayGradV3", "TensorArrayGradWithShape", "SetStatsAggregatorDataset", "ExperimentalSetStatsAggregatorDataset",
            "ShardedFilename", "ShardedFilespec", "Print", "IdentityReader", "IdentityReaderV2", "SummaryWriter", "FlushSummaryWriter",
            "CloseSummaryWriter", "WriteSummary", "WriteScalarSummary", "WriteHistogramSummary", "WriteImageSummary", "WriteAudioSummary",
            "WriteRawProtoSummary", "WriteGraphSummary", "ImportEvent", "AnonymousMemoryCache", "DeleteMemoryCache", "DummyMemoryCache",
            "InitializeTableFromDataset", "LearnedUnigramCandidateSampler", "ThreadUnsafeUnigramCandidateSampler"}
NAMES = re.compile(r"file|path|dir|prefix|pattern|suffix|vocab|region|source|stream|url|basename")


def _load_dataset(path):
    from millstream.framework import function

    @function.Defun(tf.variant)
    def same(shard):
        return tf.identity(shard)

    @function.Defun(tf.variant)
    def to_elements(shards):
        return raw.FlatMapDataset(input_dataset=shards, other_arguments=[], f=same, output_types=[tf.string], output_shapes=[[]])

    return _first(raw.LoadDataset(path=path, reader_func_other_args=[], output_types=[tf.string], output_shapes=[[]],
                                  reader_func=to_elements))


def test_no_op_is_forgotten():
    known = {*READS, *WRITES, *PATTERNS, *APART, *NO_FILES}
    missing = set()
    for name in _core.op_names():
        _, inputs, _, attrs, *_ = _core.describe_op(name)
        strings = [i[0] for i in inputs if i[1] == tf.string.as_datatype_enum] + [a[0] for a in attrs if "string" in str(a[1])]
        if any(map(NAMES.search, strings)):
            missing.add(name)
    for source in SOURCES.rglob("*.cc"):
        text = source.read_text()
        if "ConfinedPath(" in text and not source.name.endswith("_test.cc"):
            missing.update(name for name in re.findall(r'"([A-Z]\w+)"', text) if name in _core.op_names())
    assert missing <= known, sorted(missing - known)
    assert not (known - set(_core.op_names())), sorted(known - set(_core.op_names()))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server that is confined to `inside`; the same files are in `outside`, beside it."""
    import conftest
    from cluster_processes import Cluster
    base = tmp_path_factory.mktemp("roots")
    inside, outside = base / "in", base / "out"
    inside.mkdir()
    _make_files(inside)
    with Cluster(conftest.PROGRAM, worker=1, flags=["--file_root", str(inside)]) as cluster:
        _make_saved(cluster.target("worker"), inside)
        import shutil
        shutil.copytree(inside, outside)
        (inside / "linked").symlink_to(outside)
        for path in outside.iterdir():
            (inside / ("link_" + path.name)).symlink_to(path)
        (inside / "dangling").symlink_to(outside / "new")
        for end in (".index", ".data-00000-of-00001"):
            (inside / ("dangling" + end)).symlink_to(outside / ("new" + end))
        yield cluster.target("worker"), inside, outside


def _make_files(folder):
    from google.protobuf import descriptor_pb2
    (folder / "text").write_text("a,1\n")
    with tf.python_io.TFRecordWriter(str(folder / "records")) as writer:
        writer.write(b"record")
    schema = descriptor_pb2.FileDescriptorSet()
    file = schema.file.add(name="m.proto", package="m", syntax="proto3")
    message = file.message_type.add(name="M")
    message.field.add(name="i", number=1, label=1, type=5)
    (folder / "schema").write_bytes(schema.SerializeToString())
    with tf.Graph().as_default(), tf.Session() as session:
        v, m = tf.constant([1.0, 2.0]), tf.constant([[1.0]])
        session.run([raw.Save(filename=str(folder / "v1"), tensor_names=["v"], data=[v]),
                     raw.SaveV2(prefix=str(folder / "bundle"), tensor_names=["v", "m"], shape_and_slices=["", ""], tensors=[v, m])])


def _make_saved(target, folder):
    with tf.Graph().as_default(), tf.Session(target) as session:
        _run(session, _save_dataset(str(folder / "saved"), "SaveDataset"))


def _run(session, made):
    return made(session) if callable(made) else session.run(made)


def _contents(folder):
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def _attacks(inside, outside, name):
    return [str(outside / name), f"{inside}/../out/{name}", str(inside / "linked" / name), f"file://{outside}/{name}",
            f"{inside}/linked/../out/{name}", os.path.relpath(outside / name), f"confined:{outside}/{name}", f"confined:1:{outside}/{name}",
            f"/proc/self/root{outside}/{name}"]


@pytest.mark.parametrize("op", sorted(READS))
def test_reads(server, op):
    target, inside, outside = server
    kind, make = READS[op]
    with tf.Graph().as_default(), tf.Session(target) as session:
        _run(session, make(str(inside / kind)))
        _run(session, make(f"file://{inside}/{kind}"))
        for path in _attacks(inside, outside, kind) + [str(inside / ("link_" + kind))]:
            with pytest.raises(tf.errors.OpError, match="--file_root|Invalid|no such|not find|No such") as error:
                _run(session, make(path))
            assert "file_root" in str(error.value), (path, error.value)


@pytest.mark.parametrize("op", ["Restore", "RestoreSlice", "RestoreV2", "RecordInput"])
def test_patterns_that_match_links(server, op):
    target, inside, outside = server
    kind, make = READS[op]
    name = {"bundle": "v1"}.get(kind, kind)
    with tf.Graph().as_default(), tf.Session(target) as session:
        _run(session, make(f"{inside}/{name[:-1]}?"))
        for pattern in (f"{inside}/link_{name[:-1]}?", f"{inside}/linke?/{name}", f"{inside}/*/{name}", f"{inside}/*/../{name}"):
            with pytest.raises(tf.errors.OpError):
                _run(session, make(pattern if ".." not in pattern else pattern.replace("/*/", "/linked/")))


@pytest.mark.parametrize("op", sorted(WRITES))
def test_writes(server, op):
    target, inside, outside = server
    make, before = WRITES[op], _contents(outside)
    with tf.Graph().as_default(), tf.Session(target) as session:
        _run(session, make(str(inside / f"made_by_{op}")))
        assert [p for p in inside.iterdir() if p.name.startswith(f"made_by_{op}")]
        for path in _attacks(inside, outside, "new") + [f"{inside.parent}/new", str(inside.parent)]:
            with pytest.raises(tf.errors.OpError, match="file_root"):
                _run(session, make(path))
        for path in (str(inside / "dangling"), str(inside)):  # the root itself: files are written beside such a name
            try:
                _run(session, make(path))
            except tf.errors.OpError:
                pass
    assert _contents(outside) == before
    assert sorted(os.listdir(inside.parent)) == ["in", "out"]
    if not (inside / "dangling").is_symlink():  # replaced, which is inside
        (inside / "dangling").unlink()
        (inside / "dangling").symlink_to(outside / "new")


@pytest.mark.parametrize("suffix", ["/../../out/x", "/../../x", "/../x/../../y", "/x"])
def test_suffixes_of_event_files(server, suffix):
    target, inside, outside = server
    before = _contents(outside)
    with tf.Graph().as_default(), tf.Session(target) as session:
        # A folder of the name that the event file would have, so that ".." has something to lead out of.
        with pytest.raises(tf.errors.OpError):
            _run(session, _writer(str(inside / "events"), suffix))
    assert _contents(outside) == before and sorted(os.listdir(inside.parent)) == ["in", "out"]


@pytest.mark.parametrize("op", sorted(PATTERNS))
def test_patterns(server, op):
    target, inside, outside = server
    make = PATTERNS[op]
    with tf.Graph().as_default(), tf.Session(target) as session:
        _run(session, make(str(inside / "te*")))
        for path in _attacks(inside, outside, "te*") + [str(inside / "link_te*"), f"{inside}/*/../../out/te*", f"{inside.parent}/*/te*"]:
            try:
                found = _run(session, make(path))
            except tf.errors.OpError:
                continue
            assert op == "MatchingFiles" and found.size == 0, (path, found)


def test_merging_checkpoints(server):
    target, inside, outside = server
    before = _contents(outside)
    with tf.Graph().as_default(), tf.Session(target) as session:
        def part(prefix):
            return session.run(raw.SaveV2(prefix=prefix, tensor_names=["v"], shape_and_slices=[""], tensors=[tf.constant(1.0)]))
        part(str(inside / "parts" / "part-0"))
        session.run(raw.MergeV2Checkpoints(checkpoint_prefixes=[str(inside / "parts" / "part-0")], destination_prefix=str(inside / "merged")))
        part(str(inside / "parts" / "part-0"))
        for path in _attacks(inside, outside, "bundle"):
            for sources, to in (([path], str(inside / "stolen")), ([str(inside / "parts" / "part-0")], path)):
                with pytest.raises(tf.errors.PermissionDeniedError, match="file_root"):
                    session.run(raw.MergeV2Checkpoints(checkpoint_prefixes=sources, destination_prefix=to))
    assert _contents(outside) == before and not (inside / "stolen.index").exists()
