// SPDX-License-Identifier: Apache-2.0
// Fused nodes against the ops one by one: the same bits, for all ops, types, sizes, ways of repeating operands and
// numbers of threads.
#include "millstream/ops/fused/block_program.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <random>

#include "absl/container/flat_hash_map.h"
#include "millstream/base/flush_denormals.h"
#include "millstream/framework/cpu_device.h"
#include "millstream/framework/element_ops.h"
#include "millstream/framework/run_kernel.h"
#include "millstream/graph/scope.h"
#include "millstream/ops/elements/broadcast.h"

namespace millstream {
namespace {

constexpr DType kTypes[] = {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16};

CpuDevice* Threads(int count) {
  static ThreadPool one(1), four(4);
  const auto cpu = [] {
    DeviceAttributes attributes;
    attributes.type = "CPU";
    return attributes;
  };
  static CpuDevice single(cpu(), &one), several(cpu(), &four);
  return count == 1 ? &single : &several;
}

Tensor Numbers(DType type, const Shape& shape, std::mt19937* random) {
  Tensor t(type, shape);
  std::uniform_real_distribution<float> any(-2.5F, 2.5F);
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    const float x = any(*random);
    if (type == DType::kBool)
      t.data<bool>()[i] = x > 0;
    else if (type == DType::kFloat)
      t.data<float>()[i] = x;
    else if (type == DType::kDouble)
      t.data<double>()[i] = x;
    else if (type == DType::kHalf)
      t.data<Half>()[i] = Half(x);
    else
      t.data<BFloat16>()[i] = BFloat16(x);
  }
  return t;
}

// Elements that are no numbers count as equal: which of several a machine's loop keeps depends on the place.
template <typename T>
int64_t FirstDifference(const Tensor& a, const Tensor& b) {
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    const T x = a.data<T>()[i], y = b.data<T>()[i];
    using Bits = std::array<char, sizeof(T)>;
    if (std::bit_cast<Bits>(x) == std::bit_cast<Bits>(y)) continue;
    const auto p = static_cast<double>(x), q = static_cast<double>(y);
    if (p == p || q == q) return i;
  }
  return -1;
}

int64_t FirstDifference(const Tensor& a, const Tensor& b) {
  switch (a.dtype()) {
    case DType::kFloat:
      return FirstDifference<float>(a, b);
    case DType::kDouble:
      return FirstDifference<double>(a, b);
    case DType::kHalf:
      return FirstDifference<Half>(a, b);
    case DType::kBfloat16:
      return FirstDifference<BFloat16>(a, b);
    default:
      return FirstDifference<bool>(a, b);
  }
}

// A body that is built op by op, and run both ways.
class Both {
 public:
  explicit Both(int seed) : random_(static_cast<uint32_t>(seed)) {}

  Output Arg(DType type, const Shape& shape) {
    const Output arg = scope_.WithOpName(absl::StrCat("a", inputs_.size())).Op("Placeholder", {}, {{"dtype", type}});
    inputs_.push_back(Numbers(type, shape, &random_));
    return arg;
  }
  Scope& scope() { return scope_; }
  Output Op(const std::string& op, std::vector<Output> operands) { return scope_.Op(op, std::move(operands)); }
  std::mt19937& random() { return random_; }

  FusedBody Body(const std::vector<Output>& results) const {
    FusedBody body;
    body.graph = scope_.graph()->Clone();
    for (size_t i = 0; i < inputs_.size(); ++i) body.args.push_back(body.graph->Find(absl::StrCat("a", i)));
    for (const auto& node : body.graph->nodes())
      if (!node->Is("Placeholder")) body.members.push_back(node.get());
    for (const Output& r : results) body.results.emplace_back(body.graph->Find(r.node->name()), r.index);
    return body;
  }

  StatusOr<std::vector<Tensor>> Fused(const std::vector<Output>& results, int threads) const {
    AttrMap attrs;
    RETURN_IF_ERROR(WriteFusedBody(Body(results), &attrs));
    return RunKernel(*OpRegistry::Global().Find(kFusedElements), attrs, Copies(), Threads(threads));
  }

  bool RunsInBlocks(const std::vector<Output>& results) const {
    const FusedBody body = Body(results);
    const AttrMap attrs;
    const std::string name = "fused";
    const OpEntry& op = *OpRegistry::Global().Find(kFusedElements);
    KernelInit init(op.def, name, attrs, Threads(1), nullptr, nullptr, {}, {});
    const auto kernels = MemberKernels::Make(body, "CPU", init);
    EXPECT_TRUE(kernels.ok()) << kernels.status();
    return kernels.ok() && BlockProgram::Make(body, **kernels) != nullptr;
  }

  Tensor OneByOne(const Output& result) {
    Node* const node = result.node;
    if (node->Is("Placeholder")) return inputs_[static_cast<size_t>(std::stoi(node->name().substr(1)))];
    if (const auto known = values_.find(node); known != values_.end()) return known->second;
    std::vector<Tensor> operands;
    for (const Output& in : node->inputs()) operands.push_back(OneByOne(in));
    auto made = RunKernel(node->op(), node->attrs(), std::move(operands), Threads(1));
    EXPECT_TRUE(made.ok()) << made.status();
    return values_[node] = (*made)[0];
  }

  void ExpectSame(const std::vector<Output>& results, const std::string& what) {
    const FlushDenormals flush;  // as on the threads of a step
    ASSERT_TRUE(scope_.ok()) << scope_.status();
    for (const int threads : {1, 4}) {
      const auto fused = Fused(results, threads);
      ASSERT_TRUE(fused.ok()) << what << ": " << fused.status();
      for (size_t i = 0; i < results.size(); ++i) {
        const Tensor wanted = OneByOne(results[i]);
        ASSERT_EQ((*fused)[i].shape(), wanted.shape()) << what;
        ASSERT_EQ((*fused)[i].dtype(), wanted.dtype()) << what;
        const int64_t at = FirstDifference((*fused)[i], wanted);
        EXPECT_EQ(at, -1) << what << ", " << results[i].node->type() << ", result " << i << ", " << threads
                          << " threads, element " << at << " of " << wanted.num_elements();
      }
    }
  }

 private:
  // Of the node alone, so that their memory may be taken over.
  std::vector<Tensor> Copies() const {
    std::vector<Tensor> copies;
    for (const Tensor& t : inputs_) {
      Tensor copy(t.dtype(), t.shape());
      std::memcpy(copy.raw(), t.raw(), static_cast<size_t>(t.num_elements()) * DTypeSize(t.dtype()));
      copies.push_back(std::move(copy));
    }
    return copies;
  }

  Scope scope_ = Scope::Root();
  std::mt19937 random_;
  std::vector<Tensor> inputs_;
  absl::flat_hash_map<const Node*, Tensor> values_;
};

bool Takes(const OpEntry& op, const std::string& attr, DType type) {
  const AttrDef* const def = op.def.FindAttr(attr);
  if (def == nullptr) return false;
  const auto& allowed = def->allowed_types;
  return allowed.empty() || std::find(allowed.begin(), allowed.end(), type) != allowed.end();
}

// What kinds of operands an op of `type` takes: true for a truth value. Nothing if it does not take the type.
std::optional<std::vector<bool>> OperandsOf(const OpEntry& op, DType type) {
  std::vector<bool> kinds;
  for (const ArgDef& arg : op.def.inputs) {
    if (arg.type == DType::kBool)
      kinds.push_back(true);
    else if (Takes(op, arg.type_attr, type))
      kinds.push_back(false);
    else
      return std::nullopt;
  }
  AttrMap attrs;
  attrs.Set("T", type);
  if (!FindKernel(op, "CPU", attrs, "").ok()) return std::nullopt;
  return kinds;
}

std::vector<const OpEntry*> Formulas() {
  std::vector<const OpEntry*> found;
  for (const OpEntry* op : OpRegistry::Global().Sorted()) {
    const ElementOp* const element = FindElementOp(op->def.name);
    if (element != nullptr && element->role == ElementRole::kFormula && op->def.name != "Cast") found.push_back(op);
  }
  return found;
}

// Adds random ops of one type on values of one shape and on smaller arguments.
class RandomBody {
 public:
  RandomBody(DType type, const Shape& shape, int seed) : both_(seed), type_(type), shape_(shape) {
    numbers_.push_back(both_.Arg(type, shape));
    truths_.push_back(both_.Arg(DType::kBool, shape));
  }

  void Run(int members) {
    const std::vector<const OpEntry*> ops = Formulas();
    while (static_cast<int>(made_.size()) < members) {
      const size_t what = Pick(ops.size() + 2);
      if (what >= ops.size())
        what == ops.size() ? AddSum() : AddCast();
      else
        AddFormula(*ops[what]);
    }
    std::vector<Output> results = {made_.back()};
    for (size_t i = 0; i + 1 < made_.size(); ++i)
      if (Pick(4) == 0) results.push_back(made_[i]);
    both_.ExpectSame(results, absl::StrCat(DTypeName(type_), shape_.ToString()));
    EXPECT_TRUE(both_.RunsInBlocks(results));
  }

 private:
  size_t Pick(size_t count) { return both_.random()() % count; }

  void AddFormula(const OpEntry& op) {
    const auto kinds = OperandsOf(op, type_);
    if (!kinds) return;
    std::vector<Output> operands;
    size_t whole = 0;
    for (const bool truth : *kinds) {
      const bool smaller = FindElementOp(op.def.name)->broadcasts && Pick(3) == 0;
      whole += smaller ? 0 : 1;
      const bool last = operands.size() + 1 == kinds->size();
      operands.push_back(smaller && !(last && whole == 0) ? Smaller(truth ? DType::kBool : type_)
                                                          : Any(truth ? &truths_ : &numbers_));
    }
    Add(both_.Op(op.def.name, std::move(operands)));
  }
  void AddSum() {
    std::vector<Output> terms;
    for (size_t n = 2 + Pick(4); n > 0; --n) terms.push_back(Any(&numbers_));
    Add(both_.Op("AddN", std::move(terms)));
  }
  void AddCast() {
    if (Pick(2) == 0)
      Add(both_.scope().Op("Cast", {Any(&truths_)}, {{"DstT", type_}}));
    else
      Add(both_.scope().Op("Cast", {Any(&numbers_)}, {{"DstT", DType::kBool}}));
  }
  void Add(const Output& made) {
    (made.dtype() == DType::kBool ? truths_ : numbers_).push_back(made);
    made_.push_back(made);
  }
  Output Any(std::vector<Output>* values) { return (*values)[Pick(values->size())]; }
  // An argument that is repeated: any of its dimensions is 1 or left out.
  Output Smaller(DType type) {
    std::vector<int64_t> dims;
    for (int d = static_cast<int>(Pick(static_cast<size_t>(shape_.rank()) + 1)); d < shape_.rank(); ++d)
      dims.push_back(Pick(2) == 0 ? 1 : shape_.dim(d));
    return both_.Arg(type, Shape(dims));
  }
  Both both_;
  const DType type_;
  const Shape shape_;
  std::vector<Output> numbers_, truths_, made_;
};

TEST(BlockProgramTest, RandomBodiesGiveTheBitsOfTheirMembers) {
  const Shape shapes[] = {Shape(),        Shape({1}),       Shape({2}),      Shape({17}),       Shape({3, 5}),
                          Shape({65}),    Shape({7, 1}),    Shape({33, 31}), Shape({1025}),     Shape({3, 300}),
                          Shape({2049}),  Shape({4, 8, 9}), Shape({0, 3}),   Shape({128, 300}), Shape({70, 3, 101}),
                          Shape({20481}), Shape({9, 2000})};
  int seed = 0;
  for (const DType type : kTypes) {
    for (const Shape& shape : shapes) {
      for (const int members : {1, 2, 5, 12, 30}) RandomBody(type, shape, ++seed).Run(members);
    }
  }
}

TEST(BlockProgramTest, EveryOpOnElementsRunsInBlocks) {
  for (const DType type : kTypes) {
    size_t count = 0;
    for (const OpEntry* op : Formulas()) {
      const auto kinds = OperandsOf(*op, type);
      if (!kinds) continue;
      AttrMap attrs;
      attrs.Set("T", type);
      std::vector<DType> inputs;
      for (const bool truth : *kinds) inputs.push_back(truth ? DType::kBool : type);
      Both both(1);
      std::vector<Output> args;
      for (const DType t : inputs) args.push_back(both.Arg(t, Shape({1025})));
      const Output result = both.Op("Neg", {both.scope().Op("Cast", {both.Op(op->def.name, args)}, {{"DstT", type}})});
      both.ExpectSame({result}, op->def.name);
      EXPECT_TRUE(both.RunsInBlocks({result})) << op->def.name;
      ++count;
    }
    EXPECT_GT(count, 40u);
  }
}

// What nobody else needs is written over only when nothing reads it any more.
TEST(BlockProgramTest, TakesTheMemoryOfArguments) {
  Both both(5);
  const Output x = both.Arg(DType::kFloat, Shape({5000})), y = both.Arg(DType::kFloat, Shape({5000}));
  const Output a = both.Op("Tanh", {x}), b = both.Op("Mul", {a, y}), c = both.Op("Sub", {b, x});
  both.ExpectSame({a, b, c}, "three results");
  const auto fused = both.Fused({a, b, c}, 1);
  ASSERT_TRUE(fused.ok());
  EXPECT_NE((*fused)[0].raw(), (*fused)[1].raw());
  EXPECT_NE((*fused)[1].raw(), (*fused)[2].raw());
}

TEST(BlockProgramTest, OtherShapesRunOneByOne) {
  Both both(6);
  const Output row = both.Arg(DType::kFloat, Shape({7})), x = both.Arg(DType::kFloat, Shape({30, 7}));
  both.ExpectSame({both.Op("Mul", {both.Op("Tanh", {row}), x})}, "a row that is computed first");
  Both two(7);
  const Output column = two.Arg(DType::kFloat, Shape({30, 1})), line = two.Arg(DType::kFloat, Shape({1, 7}));
  two.ExpectSame({two.Op("Tanh", {two.Op("AddV2", {column, line})})}, "no operand has the shape of the result");
  Both choice(8);
  const Output rows = choice.Arg(DType::kBool, Shape({30})), t = choice.Arg(DType::kFloat, Shape({30, 7}));
  choice.ExpectSame({choice.Op("Select", {rows, choice.Op("Neg", {t}), t})}, "rows are chosen");
}

TEST(BlockProgramTest, ErrorsAreThoseOfTheMembersAndNameThem) {
  Scope s = Scope::Root();
  FusedBody body;
  const Output x = s.WithOpName("a0").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  const Output y = s.WithOpName("a1").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  const Output sum = s.WithOpName("m/tower/sum").Op("AddV2", {s.WithOpName("m/tanh").Op("Tanh", {x}), y});
  body.graph = s.graph()->Clone();
  body.args = {body.graph->Find("a0"), body.graph->Find("a1")};
  body.results = {Output(body.graph->Find(sum.node->name()))};
  AttrMap attrs;
  ASSERT_TRUE(WriteFusedBody(body, &attrs).ok());
  const auto made = RunKernel(*OpRegistry::Global().Find(kFusedElements), attrs,
                              {Tensor::Vector<float>({1, 2}), Tensor::Vector<float>({1, 2, 3})}, Threads(1));
  EXPECT_TRUE(absl::IsInvalidArgument(made.status()));
  EXPECT_NE(made.status().message().find("Incompatible shapes: [2] vs. [3]"), std::string::npos) << made.status();
  EXPECT_NE(made.status().message().find("{{node tower/sum}}"), std::string::npos) << made.status();
}

// Bodies that no pass makes: they run, one op after the other, or are refused.
TEST(BlockProgramTest, OddBodies) {
  Both strings(9);
  const Output word = strings.scope().WithOpName("a0").Op("Placeholder", {}, {{"dtype", DType::kString}});
  FusedBody body;
  const Output both_words = strings.Op("Add", {word, word});
  body.graph = strings.scope().graph()->Clone();
  body.args = {body.graph->Find("a0")};
  body.results = {Output(body.graph->Find(both_words.node->name()))};
  AttrMap attrs;
  ASSERT_TRUE(WriteFusedBody(body, &attrs).ok());
  const OpEntry& op = *OpRegistry::Global().Find(kFusedElements);
  const auto joined = RunKernel(op, attrs, {Tensor::Scalar(std::string("ab"))}, Threads(1));
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ((*joined)[0].scalar<std::string>(), "abab");

  Both twice(10);
  const Output once = twice.Op("Tanh", {twice.Arg(DType::kFloat, Shape({9}))});
  twice.ExpectSame({once, once}, "a result twice");
  Both many(11);
  Output sum = many.Arg(DType::kDouble, Shape({77}));
  std::vector<Output> made;
  for (int i = 0; i < 300; ++i) made.push_back(sum = many.Op("Sin", {sum}));
  many.ExpectSame({sum}, "more values than blocks hold");
  Both wide(12);
  const Output start = wide.Arg(DType::kDouble, Shape({4000}));
  std::vector<Output> alive;
  for (int i = 0; i < 90; ++i) alive.push_back(wide.Op("AddV2", {start, wide.Arg(DType::kDouble, Shape())}));
  wide.ExpectSame({wide.Op("AddN", alive)}, "as many values at a time");
}

}  // namespace
}  // namespace millstream
