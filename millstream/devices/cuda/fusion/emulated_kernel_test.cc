// SPDX-License-Identifier: Apache-2.0
// Kernels that are written at run time, run without a GPU: the C++ compiler of the machine makes a library of the
// source, whose threads are then run one after the other on the host's memory. Skipped where there is no compiler.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "millstream/base/file.h"
#include "millstream/devices/cuda/fusion/element_layout.h"
#include "millstream/devices/cuda/fusion/testing/fused_program.h"
#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"

namespace millstream::cuda {
namespace {

// What CUDA C++ has and C++ has not. The conversions of 16-bit floats are instructions of the GPU.
constexpr char kHostPrelude[] = R"(#include <cmath>
#include <cstring>
using namespace std;
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(n)
struct Index { unsigned x; };
static Index blockIdx, threadIdx, gridDim;
static float __uint_as_float(unsigned x) { float y; memcpy(&y, &x, 4); return y; }
static float rsqrt(float x) { return 1 / sqrt(x); }
static double rsqrt(double x) { return 1 / sqrt(x); }
extern "C" {
float (*widen_half)(unsigned short);
unsigned short (*narrow_half)(float);
unsigned short (*narrow_brain)(float);
}
static float WidenHalf(unsigned short x) { return widen_half(x); }
static unsigned short NarrowHalf(float x) { return narrow_half(x); }
static unsigned short NarrowBrain(float x) { return narrow_brain(x); }
)";
constexpr char kRunAllThreads[] = R"(
extern "C" void run_all(const void* places, unsigned blocks, unsigned threads) {
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) fused(*static_cast<const Places*>(places));
}
)";

template <typename T>
float WidenBits(unsigned short bits) {
  T x;
  std::memcpy(static_cast<void*>(&x), &bits, sizeof(x));
  return static_cast<float>(x);
}
template <typename T>
unsigned short NarrowToBits(float wide) {
  const T x(wide);
  unsigned short bits = 0;
  std::memcpy(&bits, &x, sizeof(x));
  return bits;
}

bool HasCompiler() {
  static const bool has = std::system("c++ --version > /dev/null 2>&1") == 0;
  return has;
}

// The source without the functions that are instructions, and with the host's.
std::string HostSource(const std::string& source) {
  std::string kept = kHostPrelude;
  for (size_t at = 0; at < source.size();) {
    const size_t end = std::min(source.find('\n', at), source.size());
    const std::string line = source.substr(at, end - at);
    if (line.find("asm(") == std::string::npos) absl::StrAppend(&kept, line, "\n");
    at = end + 1;
  }
  return absl::StrCat(kept, kRunAllThreads);
}

class HostLibrary {
 public:
  explicit HostLibrary(const std::string& source) {
    static int count = 0;
    const std::string base = absl::StrCat(::testing::TempDir(), "/fused_", getpid(), "_", count++);
    EXPECT_TRUE(WriteFileAtomically(base + ".cc", HostSource(source)).ok());
    const std::string command =
        absl::StrCat("c++ -w -std=c++17 -O1 -shared -fPIC -o ", base, ".so ", base, ".cc 2> ", base, ".log");
    EXPECT_EQ(std::system(command.c_str()), 0) << *ReadFile(base + ".log") << source;
    library_ = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    for (const char* end : {".cc", ".so", ".log"}) DeleteFile(base + end).IgnoreError();
  }
  ~HostLibrary() {
    if (library_ != nullptr) dlclose(library_);
  }
  HostLibrary(const HostLibrary&) = delete;
  HostLibrary& operator=(const HostLibrary&) = delete;

  void Run(const ElementLayout::Launch& launch) const {
    ASSERT_NE(library_, nullptr);
    *Find<float (**)(unsigned short)>("widen_half") = WidenBits<Half>;
    *Find<unsigned short (**)(float)>("narrow_half") = NarrowToBits<Half>;
    *Find<unsigned short (**)(float)>("narrow_brain") = NarrowToBits<BFloat16>;
    // Laid out as for the launch of the kernel.
    std::vector<char> places(launch.addresses.size() * sizeof(uint64_t) + launch.numbers.size() * sizeof(uint32_t) + 8);
    std::memcpy(places.data(), launch.addresses.data(), launch.addresses.size() * sizeof(uint64_t));
    std::memcpy(places.data() + launch.addresses.size() * sizeof(uint64_t), launch.numbers.data(),
                launch.numbers.size() * sizeof(uint32_t));
    Find<void (*)(const void*, unsigned, unsigned)>("run_all")(places.data(), launch.blocks, kFusedThreads);
  }

 private:
  template <typename T>
  T Find(const char* name) const {
    return reinterpret_cast<T>(dlsym(library_, name));
  }
  void* library_ = nullptr;
};

// Numbers between 0.1 and 0.9, for which every formula has a value.
Tensor Numbers(DType dtype, const Shape& shape, int seed) {
  Tensor wide(dtype == DType::kBool ? DType::kBool : DType::kFloat, shape);
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    const int64_t k = (i * 7919 + seed * 104729) % 1009;
    if (dtype == DType::kBool) wide.data<bool>()[i] = k % 2 == 0;
    if (dtype != DType::kBool) wide.data<float>()[i] = 0.1F + 0.8F * static_cast<float>(k) / 1009;
  }
  if (wide.dtype() == dtype) return wide;
  AttrMap attrs;
  attrs.Set("SrcT", DType::kFloat);
  attrs.Set("DstT", dtype);
  return (*RunKernel(*OpRegistry::Global().Find("Cast"), attrs, {wide}, CpuDevice::SingleThreaded()))[0];
}

double ToDouble(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::kFloat:
      return t.data<float>()[i];
    case DType::kDouble:
      return t.data<double>()[i];
    case DType::kHalf:
      return static_cast<float>(t.data<Half>()[i]);
    case DType::kBfloat16:
      return static_cast<float>(t.data<BFloat16>()[i]);
    default:
      return t.data<bool>()[i] ? 1 : 0;
  }
}

double Tolerance(DType dtype) {
  return dtype == DType::kDouble ? 1e-9 : dtype == DType::kHalf ? 4e-3 : dtype == DType::kBfloat16 ? 3e-2 : 2e-5;
}

void ExpectNear(const Tensor& got, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  for (int64_t i = 0; i < got.num_elements(); ++i) {
    const double x = ToDouble(got, i), y = ToDouble(expected, i);
    ASSERT_LE(std::abs(x - y), Tolerance(got.dtype()) * std::max(1.0, std::abs(y)))
        << what << " at " << i << ": " << x << " instead of " << y;
  }
}

// The members of the body one by one on the CPU, and the kernel: the same numbers.
void Check(const FusedBody& body, const std::vector<Tensor>& args) {
  AttrMap attrs;
  ASSERT_TRUE(WriteFusedBody(body, &attrs).ok());
  const auto expected = RunKernel(*OpRegistry::Global().Find(kFusedElements), attrs, args, CpuDevice::SingleThreaded());
  ASSERT_TRUE(expected.ok()) << expected.status();
  const ElementProgram program = *MakeElementProgram(body);
  std::vector<Shape> shapes;
  std::vector<const void*> from;
  for (const Tensor& arg : args) shapes.push_back(arg.shape());
  for (const Tensor& arg : args) from.push_back(arg.raw());
  const std::optional<ElementLayout> layout = ElementLayout::Make(program, body, shapes);
  ASSERT_TRUE(layout.has_value());
  std::vector<Tensor> results;
  std::vector<void*> to;
  for (size_t i = 0; i < body.results.size(); ++i) {
    results.emplace_back(body.results[i].dtype(), layout->results()[i]);
    std::memset(results.back().raw(), 0x5A, results.back().ByteSize());
  }
  for (Tensor& result : results) to.push_back(result.raw());
  const ElementLayout::Launch launch = layout->At(program, from, to);
  HostLibrary(ElementKernelSource(program, launch.form)).Run(launch);
  for (size_t i = 0; i < results.size(); ++i) ExpectNear(results[i], expected->at(i), body.results[i].node->type());
}

class EmulatedFormulas : public ::testing::TestWithParam<DType> {};

TEST_P(EmulatedFormulas, GiveWhatTheirOpsGive) {
  if (!HasCompiler()) GTEST_SKIP() << "there is no compiler on this machine";
  // All of one shape; rows, columns and scalars that are repeated; more elements than threads, several at once.
  const std::vector<std::vector<Shape>> cases = {
      {Shape({3, 5}), Shape({3, 5}), Shape({3, 5}), Shape({3, 5})},
      {Shape({6, 4, 8}), Shape({8}), Shape({4, 1}), Shape({})},
      {Shape({700, 512}), Shape({512}), Shape({700, 1}), Shape({700, 512})},
  };
  for (const std::vector<Shape>& shapes : cases) {
    AllFormulas formulas(GetParam(), /*broadcasting=*/!(shapes[0] == shapes[1]));
    const FusedBody body = formulas.Finish();
    std::vector<Tensor> args;
    for (const DType type : formulas.arg_types()) {
      args.push_back(Numbers(type, shapes[args.size()], static_cast<int>(args.size())));
    }
    Check(body, args);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, EmulatedFormulas, ::testing::ValuesIn(kFusedTypes),
                         [](const auto& tested) { return std::string(DTypeName(tested.param)); });

TEST(EmulatedKernelTest, SplitsSlicesAndConcats) {
  if (!HasCompiler()) GTEST_SKIP() << "there is no compiler on this machine";
  for (const int64_t batch : {1, 3, 600}) {
    for (const int64_t units : {5, 128}) {
      Check(LstmCell(), {Numbers(DType::kFloat, Shape({batch, 4 * units}), 1), Numbers(DType::kFloat, Shape({}), 2),
                         Numbers(DType::kFloat, Shape({batch, units}), 3)});
    }
  }
  Body body;
  const Output wide = body.Arg(), beside = body.Arg();
  Scope& s = body.scope();
  const Output window = s.Op("Slice", {wide, s.Constant({1, 0, 3}), s.Constant({2, -1, 2})});
  Check(body.Finish({s.Op("Mul", {s.Op("Neg", {window}), beside})}),
        {Numbers(DType::kFloat, Shape({4, 5, 6}), 1), Numbers(DType::kFloat, Shape({5, 1}), 2)});
}

}  // namespace
}  // namespace millstream::cuda
