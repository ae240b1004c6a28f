# SPDX-License-Identifier: Apache-2.0
"""Which fed arrays may be read in place: those that nothing in the graph can keep beyond the step.

A variable that is assigned from a placeholder, or a queue that it is put into, would otherwise share memory with the program's
array, and see it change.
"""

# Their results are new values, whatever rewriting the graph does.
_MAKES_NEW_VALUES = frozenset("""
    MatMul BatchMatMul BatchMatMulV2 Conv2D Conv2DBackpropFilter DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter MaxPool
    AvgPool SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits ArgMax ArgMin Equal NotEqual Less LessEqual Greater
    GreaterEqual Shape ShapeN Size Rank InTopK InTopKV2 GatherV2 Gather Relu Sigmoid Tanh Exp Log Log1p Square Softmax LogSoftmax
    SigmoidGrad TanhGrad ReluGrad L2Loss ScalarSummary HistogramSummary ImageSummary OneHot
    """.split())
# Their results may be the input itself.
_MAY_HAND_ON = frozenset("""
    Identity Reshape ExpandDims Squeeze StopGradient Cast Transpose Add AddV2 Sub Mul Div RealDiv Neg Pow Maximum Minimum
    SquaredDifference Mean Sum Max Min BiasAdd Slice StridedSlice Pad PadV2 Tile AddN
    """.split())
_MOST_NODES = 300


def may_read_in_place(tensor):
    seen = set()
    todo = [tensor]
    while todo:
        current = todo.pop()
        for op in current.consumers():
            if op in seen or op.type in _MAKES_NEW_VALUES:
                continue
            if op.type not in _MAY_HAND_ON or len(seen) > _MOST_NODES:
                return False
            seen.add(op)
            todo.extend(op.outputs)
    return True
