// SPDX-License-Identifier: Apache-2.0
// Kernels that are written at run time, compiled by NVRTC: it needs no GPU. Skipped where there is no NVRTC.
#include "millstream/devices/cuda/fusion/nvrtc.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>

#include "millstream/base/file.h"
#include "millstream/devices/cuda/fusion/element_layout.h"
#include "millstream/devices/cuda/fusion/testing/fused_program.h"

namespace millstream::cuda {
namespace {

constexpr char kArchitectures[][6] = {"sm_80", "sm_90"};

#define SKIP_WITHOUT_NVRTC() \
  if (!HasNvrtc()) GTEST_SKIP() << "there is no NVRTC on this machine"

class CompiledFormulas : public ::testing::TestWithParam<DType> {};

// In the forms that shapes give kernels: one element at a time, several neighbours, broadcast rows, columns and
// scalars.
TEST_P(CompiledFormulas, OfAllOps) {
  SKIP_WITHOUT_NVRTC();
  AllFormulas formulas(GetParam());
  EXPECT_GT(formulas.num_ops(), GetParam() == DType::kBool ? 5u : 50u);
  const FusedBody body = formulas.Finish();
  const ElementProgram program = *MakeElementProgram(body);
  const std::vector<Shape> same(formulas.num_args(), Shape({4096, 128}));
  std::vector<Shape> mixed = {Shape({4096, 128}), Shape({128}), Shape({4096, 1}), Shape({})};
  mixed.resize(formulas.num_args());
  std::vector<int> lanes;
  for (const std::vector<Shape>& shapes : {same, mixed, std::vector<Shape>(formulas.num_args(), Shape({3}))}) {
    const KernelForm form = LaunchOf(body, program, shapes).form;
    lanes.push_back(form.lanes);
    const StatusOr<std::string> code = CompileForGpu(ElementKernelSource(program, form), "sm_90");
    EXPECT_TRUE(code.ok()) << code.status();
  }
  EXPECT_GT(lanes[0], 1);
  EXPECT_EQ(lanes[2], 1);
}

INSTANTIATE_TEST_SUITE_P(Types, CompiledFormulas, ::testing::ValuesIn(kFusedTypes),
                         [](const auto& tested) { return std::string(DTypeName(tested.param)); });

TEST(NvrtcTest, CompilesAnLstmCellForEachArchitecture) {
  SKIP_WITHOUT_NVRTC();
  const FusedBody b = LstmCell();
  const ElementProgram program = *MakeElementProgram(b);
  for (const char* architecture : kArchitectures) {
    for (const int64_t batch : {1, 20, 8192}) {
      const auto launch = LaunchOf(b, program, {Shape({batch, 2600}), Shape({}), Shape({batch, 650})});
      const StatusOr<std::string> code = CompileForGpu(ElementKernelSource(program, launch.form), architecture);
      EXPECT_TRUE(code.ok()) << code.status();
    }
  }
}

TEST(NvrtcTest, SaysWhatIsWrongWithASource) {
  SKIP_WITHOUT_NVRTC();
  const StatusOr<std::string> code = CompileForGpu("__global__ void fused() { nonsense; }", "sm_90");
  ASSERT_FALSE(code.ok());
  EXPECT_THAT(std::string(code.status().message()), ::testing::HasSubstr("nonsense"));
  EXPECT_FALSE(CompileForGpu("__global__ void fused() {}", "sm_1").ok());
}

TEST(NvrtcTest, KeepsCodeInFiles) {
  SKIP_WITHOUT_NVRTC();
  const std::string folder = ::testing::TempDir() + "/kernels_" + std::to_string(getpid());
  ASSERT_EQ(setenv("MILLSTREAM_KERNEL_CACHE", folder.c_str(), 1), 0);
  const std::string source = "extern \"C\" __global__ void fused() {}\n";
  const StatusOr<std::string> made = CompileOrReadCached(source, "sm_90");
  ASSERT_TRUE(made.ok()) << made.status();
  const std::vector<std::string> files = *ListFolder(folder);
  ASSERT_EQ(files.size(), 1);
  const std::string path = folder + "/" + files[0];
  const std::string content = *ReadFile(path);
  EXPECT_EQ(content.substr(content.size() - made->size()), *made);
  // What is in the file is taken; a file of another source, or a damaged one, is made anew.
  ASSERT_TRUE(WriteFileAtomically(path, content + "x").ok());
  EXPECT_EQ(*CompileOrReadCached(source, "sm_90"), *made + "x");
  ASSERT_TRUE(WriteFileAtomically(path, "damaged").ok());
  EXPECT_EQ(*CompileOrReadCached(source, "sm_90"), *made);
  EXPECT_EQ(*ReadFile(path), content);
  ASSERT_TRUE(DeleteFile(path).ok());
  ASSERT_EQ(setenv("MILLSTREAM_KERNEL_CACHE", "/proc/none", 1), 0);  // cannot be written
  EXPECT_EQ(*CompileOrReadCached(source, "sm_90"), *made);
  unsetenv("MILLSTREAM_KERNEL_CACHE");
}

}  // namespace
}  // namespace millstream::cuda
