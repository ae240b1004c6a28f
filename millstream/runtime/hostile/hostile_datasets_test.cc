// SPDX-License-Identifier: Apache-2.0
// Datasets made from datasets, without end, and buffers without size.
#include <gtest/gtest.h>

#include "millstream/runtime/testing/hostile_graph.h"

namespace millstream {
namespace {

using enum absl::StatusCode;

const AttrValue kTypes = std::vector<DType>{DType::kInt64};
const AttrValue kShapes = std::vector<PartialShape>{PartialShape(Shape())};

Output Range(const Scope& s, int64_t end) {
  return s.Op("RangeDataset", {s.Const<int64_t>(0), s.Const(end), s.Const<int64_t>(1)},
              {{"output_types", kTypes}, {"output_shapes", kShapes}});
}
// Of a dataset and one number: Take, Skip, Repeat, Prefetch.
Output With(const Scope& s, const char* op, Output dataset, int64_t count) {
  return s.Op(op, {dataset, s.Const(count)}, {{"output_types", kTypes}, {"output_shapes", kShapes}});
}
Output Shuffle(const Scope& s, Output dataset, int64_t buffer) {
  return s.Op("ShuffleDataset", {dataset, s.Const(buffer), s.Const<int64_t>(1), s.Const<int64_t>(2)},
              {{"output_types", kTypes}, {"output_shapes", kShapes}});
}

// Takes the first element, and then as many as `steps` says.
Status Walk(const Scope& s, Output dataset, int steps = 1) {
  RETURN_IF_ERROR(s.status());
  Output iterator = s.Op("IteratorV2", {},
                         {{"output_types", kTypes},
                          {"output_shapes", std::vector<PartialShape>{PartialShape::Unknown()}},
                          {"shared_name", ""},
                          {"container", ""}});
  s.WithOpName("make").Add("MakeIterator", {dataset, iterator});
  s.WithOpName("next").Add(
      "IteratorGetNext", {iterator},
      {{"output_types", kTypes}, {"output_shapes", std::vector<PartialShape>{PartialShape::Unknown()}}});
  RETURN_IF_ERROR(s.status());
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, NewSession({}));
  RETURN_IF_ERROR(session->Extend(*s.graph()));
  RETURN_IF_ERROR(session->Run({}, {}, {"make"}, nullptr));
  std::vector<Tensor> out;
  for (int i = 0; i < steps; ++i) RETURN_IF_ERROR(session->Run({}, {"next:0"}, {}, &out));
  return OkStatus();
}

// One kind each: with a thread per dataset, with a recursive count, with elements by number.
TEST(HostileDatasetsTest, Chains) {
  for (const char* op : {"TakeDataset", "SkipDataset", "RepeatDataset", "PrefetchDataset"}) {
    for (const int length : {1000, 3000, 20'000, 100'000}) {
      ExpectSurvives({kOk, kResourceExhausted, kOutOfRange}, [op, length] {
        Scope s = Scope::Root();
        Output d = Range(s, 1000);
        for (int i = 0; i < length; ++i) d = With(s, op, d, 1);
        return Walk(s, d);
      });
    }
  }
}

TEST(HostileDatasetsTest, ShortChainsWork) {
  ExpectSurvives({kOk}, [] {
    Scope s = Scope::Root();
    Output d = Range(s, 1000);
    for (int i = 0; i < 500; ++i) d = With(s, "TakeDataset", d, 100);
    return Walk(s, d);
  });
}

TEST(HostileDatasetsTest, ChainWithCardinality) {
  ExpectSurvives({kOk, kResourceExhausted}, [] {
    Scope s = Scope::Root();
    Output d = Range(s, 1000);
    for (int i = 0; i < 100'000; ++i) d = With(s, "TakeDataset", d, 100);
    return RunOnce(s, s.Op("DatasetCardinality", {d}).name());
  });
}

TEST(HostileDatasetsTest, TreeOfConcatenations) {
  ExpectSurvives({kOk, kResourceExhausted}, [] {
    Scope s = Scope::Root();
    Output d = Range(s, 2);
    for (int i = 0; i < 60; ++i)
      d = s.Op("ConcatenateDataset", {d, d}, {{"output_types", kTypes}, {"output_shapes", kShapes}});
    return Walk(s, d, 100);
  });
}

TEST(HostileDatasetsTest, BuffersWithoutBounds) {
  for (const int64_t size : {int64_t{1} << 32, int64_t{1} << 40, std::numeric_limits<int64_t>::max()}) {
    ExpectSurvives({kResourceExhausted}, [size] {
      Scope s = Scope::Root();
      return Walk(s, Shuffle(s, Range(s, std::numeric_limits<int64_t>::max()), size));
    });
    ExpectSurvives({kResourceExhausted, kInvalidArgument}, [size] {
      Scope s = Scope::Root();
      return Walk(
          s, s.Op("BatchDatasetV2", {Range(s, std::numeric_limits<int64_t>::max()), s.Const(size), s.Const(false)},
                  {{"output_types", kTypes}, {"output_shapes", std::vector<PartialShape>{PartialShape::Unknown()}}}));
    });
  }
}

TEST(HostileDatasetsTest, CacheOfWhatNeverEnds) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    Output cached =
        s.Op("CacheDataset", {Range(s, std::numeric_limits<int64_t>::max()), s.Const(Tensor::Scalar<std::string>(""))},
             {{"output_types", kTypes}, {"output_shapes", kShapes}});
    return Walk(s, With(s, "SkipDataset", cached, int64_t{1} << 40));
  });
}

TEST(HostileDatasetsTest, BatchOfCopiesOfAString) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    const AttrValue types = std::vector<DType>{DType::kString};
    const AttrValue unknown = std::vector<PartialShape>{PartialShape::Unknown()};
    Output one = s.Op("TensorDataset", {s.Const(Tensor::Scalar(std::string(1 << 20, 'a')))},
                      {{"Toutput_types", types}, {"output_shapes", kShapes}});
    Output many =
        s.Op("RepeatDataset", {one, s.Const<int64_t>(-1)}, {{"output_types", types}, {"output_shapes", kShapes}});
    Output batches = s.Op("BatchDatasetV2", {many, s.Const<int64_t>(100'000), s.Const(false)},
                          {{"output_types", types}, {"output_shapes", unknown}});
    Node* next = s.Add("DatasetToSingleElement", {batches}, {{"output_types", types}, {"output_shapes", unknown}});
    return RunOnce(s, Output(next, 0).name());
  });
}

TEST(HostileDatasetsTest, NestedVariants) {
  for (const bool optional : {false, true}) {
    ExpectSurvives({kOk, kResourceExhausted, kInvalidArgument}, [optional] {
      Scope s = Scope::Root();
      Output v = Range(s, 3);
      const AttrValue types = std::vector<DType>{DType::kVariant};
      for (int i = 0; i < 100'000; ++i) {
        v = optional ? s.Op("OptionalFromValue", {v}, {{"Toutput_types", types}})
                     : s.Op("TensorDataset", {v}, {{"Toutput_types", types}, {"output_shapes", kShapes}});
      }
      return RunOnce(s, "", v.node->name());
    });
  }
}

}  // namespace
}  // namespace millstream
