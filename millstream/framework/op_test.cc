// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/framework/op_spec.h"
#include "millstream/framework/op_traits.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Status PassThrough(KernelContext& ctx) {
  ctx.set_output(0, ctx.TakeInput(0));
  return OkStatus();
}

template <typename T>
class TypedKernel final : public Kernel {
 public:
  explicit TypedKernel(KernelInit&) {}
  Status Compute(KernelContext& ctx) override { return PassThrough(ctx); }
};

void TestUnary(OpBuilder& op) { op.Input("x: T").Output("y: T").Attr("T: {float, double, int32}"); }

OP("OpTestTyped")
    .With(TestUnary)
    .Cpu<TypedKernel>(Types<float, int32_t>{})
    .Expensive()
    .HostMemory("x")
    .Updates()
    .Doc("For this test.");
OP("OpTestPlain").Input("xs: N * T").Output("y: T").Attr("N: int >= 2").Attr("T: type").Cpu(PassThrough).MayBlock();

const OpEntry& Typed() { return *OpRegistry::Global().Find("OpTestTyped"); }
const OpEntry& Plain() { return *OpRegistry::Global().Find("OpTestPlain"); }

TEST(OpBuilderTest, RecordsWhatWasDeclared) {
  EXPECT_EQ(Typed().def.Signature(), "OpTestTyped(x: T) -> (y: T)");
  EXPECT_EQ(Typed().def.doc, "For this test.");
  EXPECT_THAT(Typed().file, HasSubstr("op_test.cc"));
  ASSERT_EQ(Typed().kernels.size(), 2u);
  for (const KernelDef& kernel : Typed().kernels) {
    EXPECT_EQ(kernel.device_type, "CPU");
    EXPECT_TRUE(kernel.expensive);
    EXPECT_FALSE(kernel.async);
    EXPECT_THAT(kernel.host_memory, ElementsAre("x"));
  }
}

TEST(OpBuilderTest, TraitsAreThoseDeclared) {
  EXPECT_TRUE(Typed().Has(OpTrait::kUpdates));
  EXPECT_FALSE(Typed().Has(OpTrait::kMayBlock));
  EXPECT_TRUE(Plain().Has(OpTrait::kMayBlock));
  EXPECT_FALSE(Plain().Has(OpTrait::kUpdates));
}

TEST(OpBuilderDeathTest, RefusesMistakesInOurSource) {
  EXPECT_DEATH(OpBuilder("OpTestTyped"), "defined twice");
  EXPECT_DEATH(OpBuilder("OpTestBadArg").Input("x y"), "OpTestBadArg");
  EXPECT_DEATH(OpBuilder("OpTestBadAttr").Attr("T: {float, nonsense}"), "OpTestBadAttr");
}

TEST(OpRegistryTest, LookupNamesWhatIsMissing) {
  EXPECT_EQ(OpRegistry::Global().Find("NoSuchOp"), nullptr);
  const Status status = OpRegistry::Global().Lookup("NoSuchOp").status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("Op type not registered 'NoSuchOp'"));
}

TEST(OpRegistryTest, SortedListsEachOpOnceByName) {
  const std::vector<const OpEntry*> ops = OpRegistry::Global().Sorted();
  ASSERT_GT(ops.size(), 1000u);
  for (size_t i = 1; i < ops.size(); ++i) EXPECT_LT(ops[i - 1]->def.name, ops[i]->def.name);
}

TEST(FindKernelTest, ChoosesByTypeAndDevice) {
  AttrMap attrs;
  attrs.Set("T", DType::kInt32);
  const auto found = FindKernel(Typed(), "CPU", attrs, "node");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)->constraints[0].second, DType::kInt32);
  EXPECT_TRUE(absl::IsInvalidArgument(FindKernel(Typed(), "GPU", attrs, "node").status()));
  attrs.Set("T", DType::kDouble);  // allowed by the definition, but there is no kernel
  const Status status = FindKernel(Typed(), "CPU", attrs, "my_node").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("my_node"));
}

TEST(OpSpecTest, ParsesArgs) {
  EXPECT_EQ(ParseArgSpec("x: float")->type, DType::kFloat);
  EXPECT_EQ(ParseArgSpec("x: T")->type_attr, "T");
  const auto many = ParseArgSpec("xs: N * T");
  EXPECT_EQ(many->number_attr, "N");
  EXPECT_EQ(many->type_attr, "T");
  EXPECT_TRUE(ParseArgSpec("x: Ref(T)")->is_ref);
}

TEST(OpSpecTest, ParsesAttrs) {
  const auto type = ParseAttrSpec("T: {float, double} = DT_DOUBLE");
  ASSERT_TRUE(type.ok()) << type.status();
  EXPECT_THAT(type->allowed_types, ElementsAre(DType::kFloat, DType::kDouble));
  const auto number = ParseAttrSpec("N: int >= 3");
  EXPECT_TRUE(number->has_minimum);
  EXPECT_EQ(number->minimum, 3);
  const auto text = ParseAttrSpec("padding: {'SAME', 'VALID'}");
  EXPECT_THAT(text->allowed_strings, ElementsAre("SAME", "VALID"));
  EXPECT_EQ(ParseAttrSpec("strides: list(int) = [1, 2]")->type, "list(int)");
}

TEST(OpSpecTest, RefusesWhatIsNoSpec) {
  for (const char* spec : {"", "x", ": T", "x:", "x: N *", "x: Ref(T", "x: 3"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseArgSpec(spec).status())) << spec;
  }
  for (const char* spec : {"", "T", "T: ", "T: {float", "N: int >=", "N: int = x", "T: {float} = DT_INT32 more"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseAttrSpec(spec).status())) << spec;
  }
}

TEST(CompleteAttrsTest, FillsDefaultsAndChecksValues) {
  AttrMap attrs;
  attrs.Set("T", DType::kFloat);
  attrs.Set("N", int64_t{1});
  EXPECT_TRUE(absl::IsInvalidArgument(CompleteAttrs(Plain().def, &attrs)));  // N >= 2
  attrs.Set("N", int64_t{2});
  EXPECT_TRUE(CompleteAttrs(Plain().def, &attrs).ok());
  attrs.Set("unknown", int64_t{2});
  EXPECT_TRUE(absl::IsInvalidArgument(CompleteAttrs(Plain().def, &attrs)));
  AttrMap typed;
  typed.Set("T", DType::kInt8);
  EXPECT_TRUE(absl::IsInvalidArgument(CompleteAttrs(Typed().def, &typed)));
}

}  // namespace
}  // namespace millstream
