// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/fusion/element_program.h"

#include <gmock/gmock.h>

#include "millstream/devices/cuda/fusion/element_layout.h"
#include "millstream/devices/cuda/fusion/testing/fused_program.h"
#include "millstream/graph/scope.h"

namespace millstream::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ElementProgramTest, NamesDoNotMatter) {
  const auto source = [](const char* name) {
    Body body;
    const Output x = body.Arg(), y = body.Arg();
    const FusedBody b = body.Finish({body.scope().Op("Tanh", {body.scope().WithOpName(name).Op("Mul", {x, y})})});
    const ElementProgram program = *MakeElementProgram(b);
    return ElementKernelSource(program, LaunchOf(b, program, {Shape({4}), Shape({4})}).form);
  };
  EXPECT_EQ(source("one"), source("other"));
  EXPECT_THAT(source("one"), HasSubstr("x0 * x1"));
  EXPECT_THAT(source("one"), HasSubstr("tanh(x0)"));
}

TEST(ElementProgramTest, RoundsWhatHasSixteenBits) {
  Body body;
  const Output x = body.Arg(DType::kBfloat16);
  const FusedBody b =
      body.Finish({body.scope().Op("Cast", {body.scope().Op("Square", {x})}, {{"DstT", DType::kFloat}})});
  const ElementProgram program = *MakeElementProgram(b);
  const std::string source = ElementKernelSource(program, LaunchOf(b, program, {Shape({4})}).form);
  EXPECT_THAT(source, HasSubstr("WidenBrain(NarrowBrain(static_cast<float>(x0 * x0)))"));
  EXPECT_THAT(source, HasSubstr("Lanes<float, 1> o0"));
}

TEST(ElementProgramTest, PutsAttributesIntoFormulas) {
  Body body;
  const Output x = body.Arg();
  const FusedBody b = body.Finish({body.scope().Op("LeakyRelu", {body.scope().Op("Neg", {x})}, {{"alpha", 0.25F}})});
  const ElementProgram program = *MakeElementProgram(b);
  EXPECT_THAT(ElementKernelSource(program, LaunchOf(b, program, {Shape({4})}).form),
              HasSubstr("x0 * T(2.500000000e-01)"));
}

TEST(ElementLayoutTest, BroadcastsAndTakesSeveralNeighbours) {
  Body body;
  const Output x = body.Arg(), row = body.Arg(), one = body.Arg(), column = body.Arg();
  Scope& s = body.scope();
  const FusedBody b = body.Finish({s.Op("Mul", {s.Op("AddV2", {s.Op("AddV2", {x, row}), one}), column})});
  const ElementProgram program = *MakeElementProgram(b);
  const auto launch = LaunchOf(b, program, {Shape({4096, 128}), Shape({128}), Shape({}), Shape({4096, 1})});
  EXPECT_EQ(launch.form.rank, 2);
  EXPECT_EQ(launch.form.lanes, 4);
  EXPECT_THAT(launch.form.loads, ElementsAre(Reach::kAll, Reach::kRows, Reach::kOne, Reach::kRepeat));
  EXPECT_THAT(launch.form.stores, ElementsAre(Reach::kAll));
  // Groups, groups in a row, the step of the row along rows, that of the column.
  EXPECT_THAT(launch.numbers, ElementsAre(4096 * 128 / 4, 128 / 4, 0, 1));
}

TEST(ElementLayoutTest, FindsPartsAndPutsThemTogether) {
  Body body;
  const Output gates = body.Arg(), beside = body.Arg();
  Scope& s = body.scope();
  Node* const split = s.Add("Split", {s.Const<int32_t>(-1), gates}, {{"num_split", 2}});
  const Output sum = s.Op("AddV2", {Output(split, 0), Output(split, 1)});
  const Output window = s.Op("Slice", {beside, s.Constant({1, 3}), s.Constant({2, -1})});
  const FusedBody b = body.Finish({s.Op("ConcatV2", {sum, window, s.Const<int32_t>(1)})});
  const ElementProgram program = *MakeElementProgram(b);
  const std::vector<Shape> shapes = {Shape({2, 10}), Shape({4, 8})};
  EXPECT_THAT(ElementLayout::Make(program, b, shapes)->results(), ElementsAre(Shape({2, 10})));
  const auto launch = LaunchOf(b, program, shapes);
  EXPECT_EQ(launch.form.lanes, 1);
  const uint64_t first = uint64_t{1} << 32, second = uint64_t{2} << 32, result = uint64_t{101} << 32;
  EXPECT_THAT(launch.addresses, ElementsAre(first, first + 5 * 4, second + (8 + 3) * 4, result, result + 5 * 4));
  EXPECT_THAT(launch.numbers, ElementsAre(10, 5, 10, 10, 8, 10, 10));
  EXPECT_FALSE(ElementLayout::Make(program, b, {Shape({2, 11}), Shape({4, 8})}).has_value());
  EXPECT_FALSE(ElementLayout::Make(program, b, {Shape({2, 10}), Shape({2, 8})}).has_value());
}

TEST(ElementLayoutTest, OneElementIsReadInOrder) {
  Body body;
  const Output x = body.Arg(), y = body.Arg();
  const FusedBody b = body.Finish({body.scope().Op("Sub", {body.scope().Op("Neg", {x}), y})});
  const ElementProgram program = *MakeElementProgram(b);
  const auto launch = LaunchOf(b, program, {Shape({}), Shape({1, 1})});
  EXPECT_THAT(launch.numbers, ElementsAre(1));
  EXPECT_EQ(launch.blocks, 1);
  EXPECT_THAT(ElementKernelSource(program, launch.form), Not(HasSubstr("c1")));
}

}  // namespace
}  // namespace millstream::cuda
