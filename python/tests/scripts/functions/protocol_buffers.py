# SPDX-License-Identifier: Apache-2.0
"""Fields of protocol buffers in the graph: the schema comes from the program itself, from bytes, or from a file."""
import os
import tempfile

import tensorflow as tf
from google.protobuf import descriptor_pb2

FIELD = descriptor_pb2.FieldDescriptorProto
file = descriptor_pb2.FileDescriptorProto(name="house.proto", package="town", syntax="proto3")
room = file.message_type.add(name="Room")
room.field.add(name="area", number=1, type=FIELD.TYPE_FLOAT, label=FIELD.LABEL_OPTIONAL)
house = file.message_type.add(name="House")
house.field.add(name="street", number=1, type=FIELD.TYPE_STRING, label=FIELD.LABEL_OPTIONAL)
house.field.add(name="numbers", number=2, type=FIELD.TYPE_SINT32, label=FIELD.LABEL_REPEATED)
house.field.add(name="rooms", number=3, type=FIELD.TYPE_MESSAGE, type_name=".town.Room", label=FIELD.LABEL_REPEATED)
schema = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
path = os.path.join(tempfile.mkdtemp(), "schema.pb")
with open(path, "wb") as f:
    f.write(schema)

sess = tf.Session()
areas = tf.constant([[[12.5], [8.0]], [[20.25], [0.0]]])
rooms = tf.io.encode_proto(tf.ones([2, 2, 1], tf.int32), [areas], ["area"], "town.Room", descriptor_source=path)
houses = tf.io.encode_proto([[1, 3, 2], [1, 0, 1]], [tf.constant([["Elm"], ["Oak"]]), tf.constant([[1, -2, 3], [0, 0, 0]]), rooms],
                            ["street", "numbers", "rooms"], "town.House", descriptor_source=path)
print(rooms.shape, houses.shape, sess.run(houses))
sizes, (numbers, inner, street) = tf.io.decode_proto(houses, "town.House", ["numbers", "rooms", "street"], [tf.int64, tf.string, tf.string],
                                                     descriptor_source=b"bytes://" + schema)
print(sizes.shape, numbers.shape)
for value in sess.run([sizes, numbers, street]):
    print(value.tolist())
decoded = tf.io.decode_proto(inner, "town.Room", ["area"], [tf.double], descriptor_source=path)
print(type(decoded).__name__, decoded._fields, sess.run(decoded.values[0]).tolist())
node = tf.NodeDef(name="sum", op="Add", input=["a", "b"]).SerializeToString()
print(sess.run(tf.io.decode_proto(node, "tensorflow.NodeDef", ["name", "input"], [tf.string, tf.string])))
for bad in (dict(message_type="town.None"), dict(field_names=["none"]), dict(bytes=[b"\x0a\x50"])):
    kwargs = dict(dict(bytes=houses, message_type="town.House", field_names=["street"], output_types=[tf.string], descriptor_source=path), **bad)
    try:
        sess.run(tf.io.decode_proto(**kwargs))
    except tf.errors.OpError as e:
        print(type(e).__name__)
