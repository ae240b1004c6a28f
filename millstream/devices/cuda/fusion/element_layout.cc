// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/fusion/element_layout.h"

#include <algorithm>
#include <climits>

#include "millstream/ops/elements/broadcast.h"

namespace millstream::cuda {
namespace {

constexpr int kMaxDims = 6;
constexpr unsigned int kMaxFusedBlocks = 132 * 16;
// With fewer elements, each thread takes one, so that all multiprocessors have work.
constexpr int64_t kFewElements = 132 * 8 * kFusedThreads;

std::vector<int64_t> StridesOf(const Shape& shape) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()));
  int64_t stride = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    strides[static_cast<size_t>(d)] = stride;
    stride *= shape.dim(d);
  }
  return strides;
}

// The elements of a small constant of integers.
bool IntegersOf(const Output& from, std::vector<int64_t>* values) {
  Tensor t;
  if (!from.node->GetAttr("value", &t).ok()) return false;
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    if (t.dtype() != DType::kInt32 && t.dtype() != DType::kInt64) return false;
    values->push_back(t.dtype() == DType::kInt32 ? t.data<int32_t>()[i] : t.data<int64_t>()[i]);
  }
  return true;
}

bool AxisOf(const Output& from, int rank, int* axis) {
  std::vector<int64_t> value;
  if (!IntegersOf(from, &value) || value.size() != 1) return false;
  const int64_t a = value[0] < 0 ? value[0] + rank : value[0];
  *axis = static_cast<int>(a);
  return a >= 0 && a < rank;
}

}  // namespace

std::optional<ElementLayout> ElementLayout::Make(const ElementProgram& program, const FusedBody& body,
                                                 const std::vector<Shape>& args) {
  ElementLayout layout;
  if (!layout.AddLoads(program, args) || !layout.AddStores(program, body)) return std::nullopt;
  layout.count_ = layout.common_.num_elements();
  for (const Shape& arg : args) {
    if (arg.num_elements() > INT_MAX) return std::nullopt;
  }
  for (const Shape& result : layout.results_) {
    if (result.num_elements() > INT_MAX) return std::nullopt;
  }
  if (layout.count_ > 0 && !layout.MergeDims()) return std::nullopt;
  return layout;
}

std::optional<ElementLayout::View> ElementLayout::ViewOf(const ElementProgram::Load& load, const Shape& arg) {
  View view{arg, {0, StridesOf(arg)}};
  if (load.part == nullptr) return view;
  if (FindElementOp(load.part->type())->role == ElementRole::kSplit) {
    int axis = 0;
    const int n = load.part->num_outputs();
    if (!AxisOf(load.part->input(0), arg.rank(), &axis) || arg.dim(axis) % n != 0) return std::nullopt;
    view.shape.set_dim(axis, arg.dim(axis) / n);
    view.walk.offset = load.part_output * (arg.dim(axis) / n) * view.walk.strides[static_cast<size_t>(axis)];
    return view;
  }
  std::vector<int64_t> begin, size;
  if (!IntegersOf(load.part->input(1), &begin) || !IntegersOf(load.part->input(2), &size)) return std::nullopt;
  const auto rank = static_cast<size_t>(arg.rank());
  if (begin.size() != rank || size.size() != rank) return std::nullopt;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t dim = arg.dim(static_cast<int>(d));
    if (begin[d] < 0 || begin[d] > dim) return std::nullopt;
    const int64_t left = dim - begin[d], taken = size[d] == -1 ? left : size[d];
    if (taken < 0 || taken > left) return std::nullopt;
    view.shape.set_dim(static_cast<int>(d), taken);
    view.walk.offset += begin[d] * view.walk.strides[d];
  }
  return view;
}

bool ElementLayout::AddLoads(const ElementProgram& program, const std::vector<Shape>& args) {
  std::vector<View> views;
  for (const ElementProgram::Load& load : program.loads) {
    std::optional<View> view = ViewOf(load, args[static_cast<size_t>(load.arg)]);
    if (!view) return false;
    if (views.empty()) {
      common_ = view->shape;
    } else {
      const StatusOr<Shape> both = BroadcastShapes(common_, view->shape);
      if (!both.ok()) return false;
      common_ = *both;
    }
    views.push_back(*std::move(view));
  }
  for (View& view : views) {
    Walk walk{view.walk.offset, std::vector<int64_t>(static_cast<size_t>(common_.rank()), 0)};
    const auto missing = static_cast<size_t>(common_.rank() - view.shape.rank());
    for (int d = 0; d < view.shape.rank(); ++d) {
      if (view.shape.dim(d) != 1)
        walk.strides[static_cast<size_t>(d) + missing] = view.walk.strides[static_cast<size_t>(d)];
    }
    walks_.push_back(std::move(walk));
  }
  return true;
}

bool ElementLayout::AddStores(const ElementProgram& program, const FusedBody& body) {
  results_.assign(body.results.size(), common_);
  for (const ElementProgram::Store& store : program.stores) {
    Shape& result = results_[static_cast<size_t>(store.result)];
    Walk walk;
    if (store.concat != nullptr) {
      const int parts = store.concat->num_inputs() - 1;
      int axis = 0;
      if (!AxisOf(store.concat->input(parts), common_.rank(), &axis)) return false;
      result = common_;
      result.set_dim(axis, common_.dim(axis) * parts);
      walk.strides = StridesOf(result);
      walk.offset = store.position * common_.dim(axis) * walk.strides[static_cast<size_t>(axis)];
    } else {
      walk.strides = StridesOf(result);
    }
    walks_.push_back(std::move(walk));
  }
  return true;
}

// Dimensions that all loads and stores go through as if they were one become one.
bool ElementLayout::MergeDims() {
  std::vector<std::vector<int64_t>> merged(walks_.size());
  for (int d = common_.rank() - 1; d >= 0; --d) {
    const int64_t dim = common_.dim(d);
    if (dim == 1) continue;
    bool merges = !dims_.empty();
    for (size_t w = 0; merges && w < walks_.size(); ++w) {
      merges = walks_[w].strides[static_cast<size_t>(d)] == merged[w].back() * dims_.back();
    }
    if (merges) {
      dims_.back() *= dim;
      continue;
    }
    dims_.push_back(dim);
    for (size_t w = 0; w < walks_.size(); ++w) merged[w].push_back(walks_[w].strides[static_cast<size_t>(d)]);
  }
  if (dims_.empty()) {
    dims_.push_back(1);
    for (auto& strides : merged) strides.push_back(1);
  }
  for (size_t w = 0; w < walks_.size(); ++w) walks_[w].strides = std::move(merged[w]);
  return dims_.size() <= kMaxDims;
}

Reach ElementLayout::ReachOf(const Walk& walk) const {
  bool one = true, all = true;
  int64_t next = 1;
  for (size_t d = 0; d < dims_.size(); ++d) {
    one &= walk.strides[d] == 0;
    all &= walk.strides[d] == next;
    next *= dims_[d];
  }
  if (all) return Reach::kAll;
  if (one) return Reach::kOne;
  return walk.strides[0] == 1 ? Reach::kRows : walk.strides[0] == 0 ? Reach::kRepeat : Reach::kSteps;
}

bool ElementLayout::ReadsInOrder(size_t load) const {
  return count_ > 0 && walks_[load].offset == 0 && ReachOf(walks_[load]) == Reach::kAll;
}

// How many neighbours along the last dimension are read and written at once.
int ElementLayout::LanesFor(const ElementProgram& program, const std::vector<uint64_t>& addresses) const {
  std::vector<int64_t> sizes;
  for (const auto& load : program.loads) sizes.push_back(static_cast<int64_t>(DTypeSize(load.dtype)));
  for (const auto& store : program.stores) sizes.push_back(static_cast<int64_t>(DTypeSize(store.dtype)));
  if (count_ < kFewElements) return 1;
  for (int64_t lanes = 16 / *std::max_element(sizes.begin(), sizes.end()); lanes > 1; lanes /= 2) {
    bool fits = dims_[0] % lanes == 0;
    for (size_t w = 0; fits && w < walks_.size(); ++w) {
      const Reach reach = ReachOf(walks_[w]);
      if (reach == Reach::kSteps) fits = false;
      if (reach != Reach::kAll && reach != Reach::kRows) continue;
      fits = addresses[w] % static_cast<uint64_t>(lanes * sizes[w]) == 0;
      for (size_t d = 1; d < dims_.size(); ++d) fits &= walks_[w].strides[d] % lanes == 0;
    }
    if (fits) return static_cast<int>(lanes);
  }
  return 1;
}

ElementLayout::Launch ElementLayout::At(const ElementProgram& program, std::span<const void* const> args,
                                        std::span<void* const> results) const {
  Launch launch;
  const size_t loads = program.loads.size();
  for (size_t w = 0; w < walks_.size(); ++w) {
    const bool is_load = w < loads;
    const void* const at = is_load ? args[static_cast<size_t>(program.loads[w].arg)]
                                   : results[static_cast<size_t>(program.stores[w - loads].result)];
    const DType type = is_load ? program.loads[w].dtype : program.stores[w - loads].dtype;
    launch.addresses.push_back(reinterpret_cast<uint64_t>(at) +
                               static_cast<uint64_t>(walks_[w].offset) * DTypeSize(type));
  }
  KernelForm& form = launch.form;
  form.rank = static_cast<int>(dims_.size());
  form.lanes = LanesFor(program, launch.addresses);
  for (size_t w = 0; w < walks_.size(); ++w) (w < loads ? form.loads : form.stores).push_back(ReachOf(walks_[w]));
  const int64_t groups = count_ / form.lanes;
  launch.numbers.push_back(static_cast<uint32_t>(groups));
  for (size_t d = 0; d + 1 < dims_.size(); ++d) {
    launch.numbers.push_back(static_cast<uint32_t>(d == 0 ? dims_[0] / form.lanes : dims_[d]));
  }
  for (const Walk& walk : walks_) {
    const int steps = form.NumSteps(ReachOf(walk));
    for (size_t d = walk.strides.size() - static_cast<size_t>(steps); d < walk.strides.size(); ++d) {
      launch.numbers.push_back(static_cast<uint32_t>(walk.strides[d]));
    }
  }
  launch.blocks =
      static_cast<unsigned int>(std::clamp<int64_t>((groups + kFusedThreads - 1) / kFusedThreads, 1, kMaxFusedBlocks));
  return launch;
}

}  // namespace millstream::cuda
