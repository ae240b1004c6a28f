#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares millstream/proto with the messages of an installed TensorFlow.

Usage: check_protos.py [--protoc PROTOC]      (run by a Python that has TensorFlow)

Our files differ from TensorFlow's in the package, and in fields of our own, numbered from 10001 on and named millstream_*:
names, numbers, types, labels, oneofs, maps, defaults and
reserved ranges must be equal, because they are on the wire, in checkpoints and in text files. Prints each difference
and exits with 1 when there is one.
"""

import argparse
import importlib
import mmap
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OURS, THEIRS = "millstream.proto", "tensorflow"
# Where TensorFlow keeps the files that we keep in one folder, in the order of the search.
FOLDERS = [
    "tensorflow/core/framework",
    "tensorflow/core/example",
    "tensorflow/core/util",
    "tensorflow/python/training",
    "xla/tsl/protobuf",  # before core/protobuf, which has re-exports of the same name
    "tensorflow/core/protobuf",
]
# The wheel has no Python module for these; its C++ library carries their descriptors.
EMBEDDED = ["master", "worker"]
LIBRARY = "libtensorflow_cc.so.2"


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def cut_file_descriptor(data, name):
    """The bytes of the serialized FileDescriptorProto called `name`: fields from `name` (1) up to `syntax` (12)."""
    head = b"\x0a" + bytes([len(name)]) + name.encode()
    start = data.find(head)
    while start >= 0:
        at = start
        while True:
            tag, body = read_varint(data, at)
            if tag & 7 != 2:  # every field of interest is length-delimited
                break
            size, body = read_varint(data, body)
            at = body + size
            if tag >> 3 == 12:
                return bytes(data[start:at])
        start = data.find(head, start + 1)
    raise LookupError(f"{name} is not in {LIBRARY}")


def load_tensorflow_files(names):
    """Maps each base name to TensorFlow's FileDescriptorProto."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import tensorflow
    from google.protobuf import descriptor_pb2, descriptor_pool

    files = {}
    for name in names:
        if name in EMBEDDED:
            continue
        for folder in FOLDERS:
            module = folder.replace("xla/", "tensorflow/compiler/xla/").replace("/", ".") + f".{name}_pb2"
            try:
                importlib.import_module(module)
            except ImportError:
                continue
            files[name] = descriptor_pb2.FileDescriptorProto()
            descriptor_pool.Default().FindFileByName(f"{folder}/{name}.proto").CopyToProto(files[name])
            break
    library = pathlib.Path(tensorflow.__file__).parent / LIBRARY
    with open(library, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for name in EMBEDDED:
            if name in names:
                serialized = cut_file_descriptor(data, f"tensorflow/core/protobuf/{name}.proto")
                files[name] = descriptor_pb2.FileDescriptorProto.FromString(serialized)
    return tensorflow.__version__, files


def compile_our_files(protoc):
    """Maps each base name to the FileDescriptorProto of our file."""
    from google.protobuf import descriptor_pb2

    paths = sorted((ROOT / "millstream/proto").glob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "set.pb")
        relative = [str(path.relative_to(ROOT)) for path in paths]
        subprocess.run([protoc, f"--descriptor_set_out={out}", "-I.", *relative], cwd=ROOT, check=True)
        with open(out, "rb") as f:
            descriptors = descriptor_pb2.FileDescriptorSet.FromString(f.read())
    return {pathlib.Path(file.name).stem: file for file in descriptors.file}


def without_package(type_name):
    for package in (OURS, THEIRS):
        if type_name.startswith(f".{package}."):
            return type_name[len(package) + 2 :]
    return type_name


def describe_enum(enum, out, scope):
    name = scope + enum.name
    out[name] = "enum"
    if enum.options.allow_alias:
        out[name + " option allow_alias"] = "true"
    for value in enum.value:
        out[f"{name}.{value.name}"] = str(value.number)
    for span in enum.reserved_range:
        out[f"{name} reserved {span.start}..{span.end}"] = "reserved"


def describe_field(field, oneofs):
    parts = [field.Label.Name(field.label), field.Type.Name(field.type), without_package(field.type_name)]
    parts.append(f"= {field.number}")
    if field.HasField("oneof_index") and not field.proto3_optional:
        parts.append(f"oneof {oneofs[field.oneof_index].name}")
    if field.proto3_optional:
        parts.append("optional")
    if field.default_value:
        parts.append(f"default {field.default_value}")
    if field.options.HasField("packed"):
        parts.append(f"packed {field.options.packed}")
    return " ".join(part for part in parts if part)


def describe_message(message, out, scope):
    name = scope + message.name
    out[name] = "map entry" if message.options.map_entry else "message"
    for field in message.field:
        if field.number > 10000 and field.name.startswith("millstream_"):
            continue
        out[f"{name}.{field.name}"] = describe_field(field, message.oneof_decl)
    for span in message.reserved_range:
        out[f"{name} reserved {span.start}..{span.end}"] = "reserved"
    for reserved in message.reserved_name:
        out[f"{name} reserved '{reserved}'"] = "reserved"
    for enum in message.enum_type:
        describe_enum(enum, out, name + ".")
    for nested in message.nested_type:
        describe_message(nested, out, name + ".")


def describe_file(file):
    """Everything of a file that must be equal, as a flat table."""
    out = {"syntax": file.syntax or "proto2"}
    scope = without_package(f".{file.package}.")
    for enum in file.enum_type:
        describe_enum(enum, out, scope)
    for message in file.message_type:
        describe_message(message, out, scope)
    return out


# What tasks say to each other is no business of TensorFlow's.
OUR_OWN = {"task"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--protoc", default="protoc")
    args = parser.parse_args()

    ours = compile_our_files(args.protoc)
    version, theirs = load_tensorflow_files(ours)
    differences = entries = 0
    for name, file in ours.items():
        if name in OUR_OWN:
            continue
        if name not in theirs:
            print(f"{name}.proto: TensorFlow has no such file")
            differences += 1
            continue
        mine, other = describe_file(file), describe_file(theirs[name])
        entries += len(mine)
        for key in sorted(mine.keys() | other.keys()):
            if mine.get(key) != other.get(key):
                print(f"{name}.proto: {key}: ours {mine.get(key)!r}, TensorFlow's {other.get(key)!r}")
                differences += 1
    print(f"{len(ours)} proto files, {entries} entries, {differences} differences from TensorFlow {version}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
