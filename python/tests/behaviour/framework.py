# SPDX-License-Identifier: Apache-2.0
"""Expressions whose results (or classes of errors) were recorded from TensorFlow; see tools/goldens/behaviour.py."""

PRELUDE = """
g = tf.get_default_graph()
S, D = tf.TensorShape, tf.Dimension
x = tf.constant([[1.0, 2.0], [3.0, 4.0]], name='x')
i = tf.constant([1, 2, 3], name='i')
b = tf.constant([True, False], name='b')
s = tf.constant(['a', 'bc'], name='s')
p = tf.placeholder(tf.float32, [None, 2], name='p')
u = tf.placeholder(tf.float32, name='u')
run = tf.Session().run
"""

EXPRESSIONS = [
    # Shapes.
    "S(None)", "S([])", "S([1, None])", "S(3)", "S([D(2), None]).as_list()", "str(S([None, 3]))", "str(S([3]))", "str(S(None))",
    "S([1, 2]) == [1, 2]", "S([1, None]) == S([1, None])", "S(None) == S(None)", "S([1, 2]) != [1, 3]", "S(None) != S([1])",
    "S([1, None]).is_compatible_with([1, 5])", "S([1, None]).merge_with([None, 5])", "S([1]).merge_with([2])",
    "S([1, 2]).concatenate([3])", "S([1]).concatenate(None)", "S([1, 2, 3])[1:]", "S([1, 2, 3])[0]", "S(None)[0]", "S(None)[1:3]",
    "S([1, 2]).num_elements()", "S([1, None]).num_elements()", "S([1, 2]).with_rank(2)", "S([1, 2]).with_rank(3)",
    "S([1, 2]).with_rank_at_least(3)", "S([1, 2]).ndims", "S(None).ndims", "len(S([1, 2]))", "len(S(None))", "bool(S(None))",
    "bool(S([]))", "list(S([1, None]))", "S(None).as_list()", "S([1, None]).is_fully_defined()", "S([-1])", "S(['a'])",
    "S([1, 2]).assert_is_compatible_with([1, 3])", "tuple(S([2, 3]).as_list())", "S([1, 2]) + S([3])",
    "D(3) + 2", "2 * D(3)", "D(None) + 1", "D(3) == 3", "D(None) == 3", "D(7) // 2", "7 // D(2)", "D(3) < D(4)", "int(D(3))",
    "int(D(None))", "D(-1)", "D('a')", "str(D(None))", "D(3).merge_with(None)", "D(3) - 1", "7 - D(3)", "D(7) % 4", "D(3) / 2",
    "hash(D(3)) == hash(3)", "list(range(D(3)))", "x.shape[0].value", "x.get_shape().as_list()",
    # Types.
    "tf.float32", "str(tf.float32)", "tf.float32.name", "tf.as_dtype('float')", "tf.as_dtype('double')", "tf.as_dtype(np.int64)",
    "tf.as_dtype(np.float32)", "tf.as_dtype(1)", "tf.as_dtype('nope')", "tf.float32 == np.float32", "tf.float32 == 'float32'",
    "tf.float32 != tf.int32", "tf.float32._as_ref", "tf.float32._as_ref.base_dtype", "tf.float32.is_floating",
    "tf.int32.is_integer", "tf.complex64.is_complex", "tf.complex64.real_dtype", "tf.float32.as_numpy_dtype.__name__",
    "tf.int8.min", "tf.int8.max", "tf.float32.max", "tf.bool.is_bool", "tf.string.size", "tf.int64.size", "tf.qint8.is_quantized",
    "tf.as_dtype(str)", "tf.as_dtype(bool)", "tf.as_dtype(float)", "tf.as_dtype(np.dtype('S4'))", "tf.half is tf.float16",
    "tf.uint8.limits", "tf.float32.is_compatible_with(tf.float32._as_ref)", "tf.float32._as_ref.is_compatible_with(tf.float32)",
    # Constants and conversion.
    "tf.constant(1)", "tf.constant(1.5)", "tf.constant([1, 2.5])", "tf.constant(True)", "tf.constant('a')", "tf.constant(b'a')",
    "tf.constant([[1, 2], [3]])", "tf.constant(1, tf.float32)", "tf.constant(1.5, tf.int32)", "tf.constant([1, 'a'])",
    "tf.constant(np.array([1, 2]))", "tf.constant(np.float64(1))", "tf.constant([np.float64(1)])", "tf.constant(1 << 40)",
    "tf.constant([])", "tf.constant([], tf.int32)", "tf.constant(5, shape=[2, 2])", "tf.constant([1, 2, 3], shape=[2])",
    "tf.constant(True, tf.float32)", "tf.constant(1, tf.bool)", "tf.constant(1 << 40, tf.int32)", "tf.constant(-1, tf.uint8)",
    "tf.constant(1j)", "tf.constant([None])", "tf.constant(object())", "tf.constant('a', tf.int32)", "tf.constant(1, tf.string)",
    "tf.convert_to_tensor(S([1, 2]))", "tf.convert_to_tensor(S([1, None]))", "tf.convert_to_tensor(D(3))",
    "tf.convert_to_tensor([x, x])", "tf.convert_to_tensor([1.0, x[0, 0]])", "tf.convert_to_tensor((1, 2), dtype=tf.float32)",
    "tf.convert_to_tensor([x[0, 0], 'a'])", "tf.convert_to_tensor(np.ones((2, 2), np.float32))", "tf.convert_to_tensor(x, tf.float32) is x",
    "tf.convert_to_tensor(x, tf.int32)", "tf.convert_to_tensor(3, preferred_dtype=tf.float32)",
    "tf.convert_to_tensor(3.5, preferred_dtype=tf.int32)", "tf.convert_to_tensor(None)",
    # Operators.
    "run(x + 1)", "run(1 - x)", "run(x * x)", "run(x / 2)", "run(i / 2)", "run(i // 2)", "run(i % 2)", "run(-x)", "run(abs(-x))",
    "run(x ** 2)", "run(2 ** x)", "run(x @ x)", "run(x < 2)", "run(x >= 2)", "run(~b)", "run(b & True)", "run(b | b)", "run(b ^ b)",
    "run(i & 1)", "run(s + 'x')", "run(x + np.ones((2, 2)))", "run(np.ones((2, 2), np.float32) + x)", "x + 'a'", "i + 1.5",
    "x + i", "run(x[0])", "run(x[:, 1])", "run(x[..., 0])", "run(x[tf.newaxis].shape.as_list())", "run(x[::-1])", "run(x[i[0]])",
    "x[1.5]", "x['a']", "x[0, 0, 0]", "x == x", "x != i", "hash(x) == id(x)", "bool(x)", "len(x)", "iter(x)", "float(x)",
    "[1.0, 2.0] + x[0]", "run([1.0, 2.0] + x[0])", "x in [i, x]", "{x: 1}[x]", "x.op.outputs[0] is x",
    # Graphs.
    "x", "str(x)", "str(u)", "p", "x.op", "x.name", "x.dtype", "x.device", "x.graph is g", "x.consumers()", "(x + 1).op.inputs[0] is x",
    "g.get_tensor_by_name('x:0') is x", "g.get_tensor_by_name('x')", "g.get_tensor_by_name('y:0')", "g.get_tensor_by_name(3)",
    "g.get_operation_by_name('x') is x.op", "g.as_graph_element('x:0') is x", "g.as_graph_element('x:0', allow_tensor=False)",
    "g.unique_name('x')", "g.unique_name('new')", "g.unique_name('X')", "g.get_name_scope()", "g.version", "g.finalized", "g.seed",
    "g.building_function", "[o.name for o in g.get_operations()]", "g.is_feedable(x)", "x.op.get_attr('dtype')",
    "x.op.get_attr('nope')", "x.op.node_def.op", "x.op.type", "x.op.inputs", "len(x.op.inputs)", "x.op.control_inputs",
    "x.op.colocation_groups()", "p.set_shape([5, 2])", "p.set_shape([5, 3])", "p.set_shape([5])", "u.get_shape()",
    "tf.get_collection('nope')", "tf.get_collection_ref('nope')", "g.get_all_collection_keys()",
    "tf.device('/job:a/nope:0').__enter__()", "tf.DeviceSpec.from_string('/job:ps/task:3/cpu:1').to_string()",
    "tf.DeviceSpec(job='w', task=1, device_type='gpu', device_index=0).to_string()", "tf.DeviceSpec.from_string('/gpu:*').to_string()",
    "tf.DeviceSpec.from_string('').to_string()", "tf.DeviceSpec.from_string('/foo:1')",
    # Sessions.
    "run(x)", "run([x, i])", "run((x, {'a': i}))", "run('x:0')", "run('x')", "run(x.op)", "run(None)", "run([])", "run({})", "run(3)",
    "run('y:0')", "run(u, {u: 3})", "run(u * 2, {u: [1, 2]})", "run(p, {p: [[1, 2]]})", "run(p, {p: [1, 2]})", "run(p, {'p:0': [[1, 2]]})",
    "run(p, {'nope:0': 1})", "run(p, {p: x})", "run(p, {p: 'a'})", "run(u + 1)", "run(x, {x: [[5, 6], [7, 8]]})",
    "run(x, {x: [5]})", "run(s)", "run(s[0])", "type(run(x)).__name__", "type(run(x[0, 0])).__name__", "type(run(s[0])).__name__",
    "run(x).dtype.name", "run(i, {i: [1.7, 2.2, 3.9]})", "run(tf.SparseTensor([[0, 1]], [5.0], [2, 2]))",
    "run(tf.IndexedSlices(x, i[:2]))", "tf.SparseTensor([[0, 1]], [5.0], [2, 2]).get_shape()", "tf.SparseTensor([0], [5.0], [2])",
    "tf.SparseTensor([[0, 1]], [5.0, 6.0], [2, 2])", "x.eval()", "tf.Session(graph=3)", "tf.Session('grpc', graph=g, config=3)",
    # Gradients.
    "tf.gradients(x * 2, x)", "run(tf.gradients(x * x, x))", "tf.gradients(x, i)", "tf.gradients(i * 2, i)",
    "run(tf.gradients(x * x, x, grad_ys=x))", "tf.gradients(x * x, x, grad_ys=[x, x])", "run(tf.gradients([x * 2, x * 3], x))",
    "tf.gradients(x * x, 'x:0')", "tf.gradients(u, x, unconnected_gradients='zero')", "tf.gradients(x * x, [x], name='mine')[0].name",
]

# Where we differ, and mean to.
DIFFERS = {
    "hash(D(3)) == hash(3)": "True",  # sizes were keys of dicts in TensorFlow 1
    "tf.as_dtype(str)": "tf.string",
    "run(u + 1)": "raises InvalidArgumentError",
    "tf.gradients(x * 2, x)": "list [<tf.Tensor 'gradients/mul_grad/Mul_1:0' shape=(2, 2) dtype=float32>]",
}
