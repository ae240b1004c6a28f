// SPDX-License-Identifier: Apache-2.0
// Whether there is a recording for everything that should have one; tests/goldens/README.md says how to add some.
#include <gtest/gtest.h>

#include <set>

#include "millstream/framework/op.h"
#include "tests/golden_case.h"

namespace millstream {
namespace {

// Ops of the registry that no case is about, with the reason.
const std::set<std::string>& WithoutCases() {
  static const auto* ops = new std::set<std::string>{
      "_Arg",
      "_Retval",
      "_Send",
      "_LoopSend",
      "_Recv",
      "_CopyToDevice",
      "_CopyToHost",  // put in by the runtime, never by users
      "_FusedBatchNormActivation",
      "_FusedBatchNormActivationGrad",
      "_FusedConv2D",
      "_FusedElements",
      "_FusedMatMul",
      "_GatherReference",  // put in by our graph passes
      "HashEmbedding",
      "HashEmbeddingApplyAdagrad",
      "HashEmbeddingApplyAdam",
      "HashEmbeddingApplyGradientDescent",
      "HashEmbeddingEvict",
      "HashEmbeddingExport",
      "HashEmbeddingFind",
      "HashEmbeddingImport",
      "HashEmbeddingLookup",
      "HashEmbeddingSize",  // Millstream's own: ops/embedding/hash_rows_test
      "_PartialFeed",
      "_PartialFetch",   // put in by partial runs: session_test
      "TopK",            // TensorFlow 2.21 refuses it
      "QuantizedReluX",  // has no kernel in TensorFlow
      "PaddedBatchDataset",
      "MutableDenseHashTable",    // fails inside TensorFlow 2.21
      "FixedLengthRecordReader",  // fails inside TensorFlow 2.21: ops/reader/reader_test
      "DeleteSeedGenerator",
      "DeleteRandomSeedGenerator",
      "DeleteMemoryCache",
      "AnonymousRandomSeedGenerator",  // fail inside TensorFlow 2.21: ops/data/dataset_test
      "MultiDeviceIterator",
      "AnonymousMultiDeviceIterator",
      "AnonymousMultiDeviceIteratorV3",
      "MultiDeviceIteratorInit",
      "MultiDeviceIteratorGetNextFromShard",
      "MultiDeviceIteratorToStringHandle",
      "MultiDeviceIteratorFromStringHandle",
      "DeleteMultiDeviceIterator",  // end TensorFlow 2.21: ops/data/devices/multi_device_iterator_test
      "Abort",                      // ends the process
      "StalenessClock",
      "StalenessClockAdvance",
      "StalenessClockJoin",
      "StalenessClockLeave",  // are not TensorFlow's: ops/queues/staleness_clock_test
      "CollectiveBcastRecv",
      "CollectiveBcastRecvV2",  // need a second member: python/tests/test_collectives.py
      "NcclAllReduce",
      "NcclBroadcast",
      "NcclReduce",
      "CollectiveAllToAllV2",
      "CollectiveReduceScatterV2",
      "CollectiveInitializeCommunicator",
      "CollectiveReduceV3",
      "CollectiveAllToAllV3",  // have no CPU kernels in TensorFlow, or crash it: python/tests/test_collectives.py
  };
  return *ops;
}

TEST(GoldenCoverageTest, EveryOpHasCases) {
  std::set<std::string> covered;
  for (const GoldenCase& c : AllGoldenCases()) {
    covered.insert(c.meta.meta_info_def().tags().begin(), c.meta.meta_info_def().tags().end());
  }
  for (const OpEntry* op : OpRegistry::Global().Sorted()) {
    EXPECT_TRUE(covered.count(op->def.name) > 0 || WithoutCases().count(op->def.name) > 0) << op->def.name;
  }
}

// Ops whose gradient is no derivative, or that a case cannot hold, with the reason.
const std::set<std::string>& WithoutDifferences() {
  static const auto* ops = new std::set<std::string>{
      "ArgMax",
      "ArgMin",
      "Ceil",
      "Floor",
      "FloorDiv",
      "Rint",
      "Round",
      "TruncateDiv",  // steps: there is none
      "FakeQuantWithMinMaxArgs",
      "FakeQuantWithMinMaxVars",
      "FakeQuantWithMinMaxVarsPerChannel",
      "QuantizeAndDequantize",
      "QuantizeAndDequantizeV2",
      "QuantizeAndDequantizeV3",
      "QuantizeAndDequantizeV4",  // pass through the steps of rounding
      "RandomGamma",
      "StatelessRandomGammaV2",
      "StatelessRandomGammaV3",  // of the distribution, not of the algorithm that draws
      "BlockLSTMV2",             // TensorFlow's takes the gates in the order of BlockLSTM
      "PreventGradient",         // an error
      "ReadVariableOp",
      "ResourceGather",
      "ResourceGatherNd",  // at handles: ops/state/variable_gradient_test
      "RefEnter",
      "RefExit",
      "RefMerge",
      "RefNextIteration",
      "RefSwitch",  // the functions of the ops without Ref
      "BatchNormWithGlobalNormalization",
      "TopK",
      "_EagerConst",  // TensorFlow 2.21 refuses them: tests beside the ops
      "Batch",
      "Unbatch",  // TensorFlow 2.21 has no gradients for them: python/tests/test_batch_ops.py
  };
  return *ops;
}

// Whether the case has a gradient of a real input that GoldenGradients compares with differences.
bool ComparesDifferences(const GoldenCase& c) {
  if (c.HasOption("no_finite_differences")) return false;
  for (const GoldenCase::Step& step : c.Steps("gradient_steps")) {
    for (const auto& named : step.expected.tensor()) {
      if (named.tensor().dtype() == proto::DT_FLOAT || named.tensor().dtype() == proto::DT_DOUBLE) return true;
    }
  }
  return false;
}

TEST(GoldenCoverageTest, EveryGradientIsComparedWithDifferences) {
  std::set<std::string> compared;
  for (const GoldenCase& c : AllGoldenCases()) {
    if (!ComparesDifferences(c)) continue;
    compared.insert(c.meta.meta_info_def().tags().begin(), c.meta.meta_info_def().tags().end());
  }
  for (const OpEntry* op : OpRegistry::Global().Sorted()) {
    if (op->grad == nullptr) continue;
    EXPECT_TRUE(compared.contains(op->def.name) || WithoutDifferences().contains(op->def.name)) << op->def.name;
  }
}

}  // namespace
}  // namespace millstream
