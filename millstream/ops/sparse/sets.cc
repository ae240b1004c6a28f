// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "millstream/framework/op.h"
#include "millstream/ops/sparse/sparse_input.h"

namespace millstream {
namespace {

using SetTypes = Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, std::string>;
using Group = std::vector<int64_t>;  // all coordinates but the last

// The sets in the last dimension, by group. Groups without elements are not in it.
template <typename T>
using Sets = std::map<Group, std::set<T>>;

template <typename T>
Sets<T> DenseSets(const Tensor& t) {
  Sets<T> sets;
  const int outer = t.rank() - 1;
  const int64_t n = t.dim(outer);
  Group group(static_cast<size_t>(outer), 0);
  for (int64_t i = 0; i * n < t.num_elements(); ++i) {
    int64_t rest = i;
    for (int d = outer - 1; d >= 0; rest /= t.dim(d--)) group[d] = rest % t.dim(d);
    sets[group].insert(t.data<T>() + i * n, t.data<T>() + (i + 1) * n);
  }
  return sets;
}

template <typename T>
Sets<T> SparseSets(const SparseInput& s) {
  Sets<T> sets;
  for (int64_t i = 0; i < s.size(); ++i) {
    sets[Group(s.at(i), s.at(i) + s.rank() - 1)].insert(s.values.data<T>()[i]);
  }
  return sets;
}

enum class SetOp { kAMinusB, kBMinusA, kIntersection, kUnion };

template <typename T>
std::set<T> Combine(SetOp op, const std::set<T>& a, const std::set<T>& b) {
  std::set<T> out;
  const auto to = std::inserter(out, out.end());
  switch (op) {
    case SetOp::kAMinusB:
      std::set_difference(a.begin(), a.end(), b.begin(), b.end(), to);
      break;
    case SetOp::kBMinusA:
      std::set_difference(b.begin(), b.end(), a.begin(), a.end(), to);
      break;
    case SetOp::kIntersection:
      std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), to);
      break;
    case SetOp::kUnion:
      std::set_union(a.begin(), a.end(), b.begin(), b.end(), to);
      break;
  }
  return out;
}

// Without validation the order does not count.
Status CheckOperand(const SparseInput& s, bool validate) {
  if (s.rank() < 2) return errors::InvalidArgument("Invalid rank ", s.rank(), " of a set: it must be at least 2.");
  if (validate) return CheckOrdered(s);
  for (int64_t i = 0; i < s.size(); ++i) {
    for (int d = 0; d < s.rank(); ++d) {
      if (s.at(i)[d] >= 0 && s.at(i)[d] < s.shape[d]) continue;
      return errors::Internal("indices[", i, ", ", d, "] expected < ", s.shape[d], ", got ", s.at(i)[d], ".");
    }
  }
  return OkStatus();
}

// The sparse set in inputs i to i + 2.
StatusOr<SparseInput> ReadSet(const KernelContext& ctx, int i) {
  if (ctx.input(i + 2).rank() != 1) return errors::InvalidArgument("Shape must be a 1D tensor.");
  return ReadSparse(ctx, i);
}

// Sizes without the last one, which must be the same for both operands.
Status CheckGroups(const Dims& a, const Dims& b, Dims* groups) {
  if (a.size() != b.size()) {
    return errors::InvalidArgument("Mismatched ranks ", a.size(), " and ", b.size());
  }
  groups->assign(a.begin(), a.end() - 1);
  if (std::equal(a.begin(), a.end() - 1, b.begin())) return OkStatus();
  return errors::InvalidArgument("Mismatched group shapes of the two sets");
}

Dims DimsOf(const Tensor& t) { return Dims(t.shape().dims().begin(), t.shape().dims().end()); }

// How an op gets its operands: dense or sparse.
template <typename T>
class SetOperation : public Kernel {
 public:
  explicit SetOperation(KernelInit& init) : validate_(init.Attr<bool>("validate_indices")) {
    const auto name = init.Attr<std::string>("set_operation");
    if (name == "a-b")
      op_ = SetOp::kAMinusB;
    else if (name == "b-a")
      op_ = SetOp::kBMinusA;
    else if (name == "intersection")
      op_ = SetOp::kIntersection;
    else if (name == "union")
      op_ = SetOp::kUnion;
    else
      init.Fail(errors::InvalidArgument("Invalid set_operation ", name, "."));
  }

  Status Compute(KernelContext& ctx) override {
    Sets<T> a, b;
    Dims a_shape, b_shape, groups;
    RETURN_IF_ERROR(Read(ctx, 0, ctx.num_inputs() == 6, &a, &a_shape));
    RETURN_IF_ERROR(Read(ctx, ctx.num_inputs() == 6 ? 3 : 1, ctx.num_inputs() > 2, &b, &b_shape));
    RETURN_IF_ERROR(CheckGroups(a_shape, b_shape, &groups));
    Sets<T> out;
    static const std::set<T> kEmpty;
    for (const auto* side : {&a, &b}) {
      for (const auto& [group, set] : *side) {
        const auto in_a = a.find(group), in_b = b.find(group);
        if (side == &b && in_a != a.end()) continue;
        std::set<T> result =
            Combine(op_, in_a == a.end() ? kEmpty : in_a->second, in_b == b.end() ? kEmpty : in_b->second);
        if (!result.empty()) out[group] = std::move(result);
      }
    }
    return Write(ctx, out, std::move(groups));
  }

 private:
  Status Read(KernelContext& ctx, int i, bool sparse, Sets<T>* sets, Dims* shape) const {
    if (!sparse) {
      const Tensor& t = ctx.input(i);
      if (t.rank() < 2) return errors::InvalidArgument("Invalid rank ", t.rank(), " of a set: it must be at least 2.");
      *sets = DenseSets<T>(t);
      *shape = DimsOf(t);
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const SparseInput s, ReadSet(ctx, i));
    RETURN_IF_ERROR(CheckOperand(s, validate_));
    *sets = SparseSets<T>(s);
    *shape = s.shape;
    return OkStatus();
  }

  static Status Write(KernelContext& ctx, const Sets<T>& sets, Dims shape) {
    std::vector<int64_t> entries;
    std::vector<T> elements;
    int64_t largest = 0;
    for (const auto& [group, set] : sets) {
      int64_t next = 0;
      for (const T& element : set) {
        entries.insert(entries.end(), group.begin(), group.end());
        entries.push_back(next++);
        elements.push_back(element);
      }
      largest = std::max(largest, next);
    }
    shape.push_back(largest);
    ASSIGN_OR_RETURN(Tensor * values, WriteSparse(ctx, 0, entries, static_cast<int>(shape.size()), &shape));
    std::copy(elements.begin(), elements.end(), values->template data<T>());
    return OkStatus();
  }

  const bool validate_;
  SetOp op_ = SetOp::kUnion;
};

template <typename T>
class SetSize : public Kernel {
 public:
  explicit SetSize(KernelInit& init) : validate_(init.Attr<bool>("validate_indices")) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseInput s, ReadSet(ctx, 0));
    RETURN_IF_ERROR(CheckOperand(s, validate_));
    const Dims groups(s.shape.begin(), s.shape.end() - 1);
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(groups));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    std::fill_n(out->data<int32_t>(), shape.num_elements(), 0);
    for (const auto& [group, set] : SparseSets<T>(s)) {
      int64_t place = 0;
      for (size_t d = 0; d < group.size(); ++d) place = place * groups[d] + group[d];
      out->data<int32_t>()[place] = static_cast<int32_t>(set.size());
    }
    return OkStatus();
  }

 private:
  const bool validate_;
};

Status SetOperationShape(ShapeContext& c) {
  int64_t rank = -1;
  for (int i = 0; i < c.num_inputs();) {
    const bool dense = (c.num_inputs() == 2) || (c.num_inputs() == 4 && i == 0);
    if (dense) {
      PartialShape set;
      RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(i), 2, &set));
      RETURN_IF_ERROR(ShapeContext::MergeDim(rank, set.rank_known() ? set.rank() : -1, &rank));
    } else {
      PartialShape shape;
      RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i + 2), 1, &shape));
      RETURN_IF_ERROR(ShapeContext::MergeDim(rank, shape.dim(0), &rank));
    }
    i += dense ? 1 : 3;
  }
  if (c.num_inputs() == 2 && c.input(0).rank_known() && c.input(1).rank_known()) {
    const PartialShape &a = c.input(0), &b = c.input(1);
    RETURN_IF_ERROR(a.Slice(0, a.rank() - 1).MergeWith(b.Slice(0, b.rank() - 1)).status());
  }
  SetSparseOutput(c, 0, rank);
  return OkStatus();
}

auto DenseSet(int number) {
  return [number](OpBuilder& op) { op.Input(absl::StrCat("set", number, ": T").c_str()); };
}

auto SparseSet(int number) {
  return [number](OpBuilder& op) {
    for (const char* part : {"_indices: int64", "_values: T", "_shape: int64"})
      op.Input(absl::StrCat("set", number, part).c_str());
  };
}

void SetOperationOp(OpBuilder& op) {
  op.Output("result_indices: int64")
      .Output("result_values: T")
      .Output("result_shape: int64")
      .Attr("set_operation: string")
      .Attr("validate_indices: bool = true")
      .Attr("T: {int8, int16, int32, int64, uint8, uint16, string}")
      .Shape(SetOperationShape)
      .NotDifferentiable()
      .Cpu<SetOperation>(SetTypes{});
}

OP("DenseToDenseSetOperation")
    .With(DenseSet(1))
    .With(DenseSet(2))
    .With(SetOperationOp)
    .Doc("Union, intersection or difference of the sets in the last dimension of two tensors.");
OP("DenseToSparseSetOperation")
    .With(DenseSet(1))
    .With(SparseSet(2))
    .With(SetOperationOp)
    .Doc("As DenseToDenseSetOperation, of a dense and a sparse tensor.");
OP("SparseToSparseSetOperation")
    .With(SparseSet(1))
    .With(SparseSet(2))
    .With(SetOperationOp)
    .Doc("As DenseToDenseSetOperation, of two sparse tensors.");

OP("SetSize")
    .Input("set_indices: int64")
    .Input("set_values: T")
    .Input("set_shape: int64")
    .Output("size: int32")
    .Attr("validate_indices: bool = true")
    .Attr("T: {int8, int16, int32, int64, uint8, uint16, string}")
    .Shape(UnknownShape)
    .NotDifferentiable()
    .Cpu<SetSize>(SetTypes{})
    .Doc("The number of distinct elements of each set in the last dimension.");

}  // namespace
}  // namespace millstream
