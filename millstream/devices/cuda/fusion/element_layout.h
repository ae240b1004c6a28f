// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_FUSION_ELEMENT_LAYOUT_H_
#define MILLSTREAM_DEVICES_CUDA_FUSION_ELEMENT_LAYOUT_H_

#include <optional>
#include <span>
#include <vector>

#include "millstream/devices/cuda/fusion/element_program.h"

namespace millstream::cuda {

// How a program goes through arguments of given shapes.
class ElementLayout {
 public:
  // None if the shapes do not fit, or there are too many elements or dimensions for one kernel: then members run one by
  // one, and say what is wrong.
  static std::optional<ElementLayout> Make(const ElementProgram& program, const FusedBody& body,
                                           const std::vector<Shape>& args);

  const std::vector<Shape>& results() const { return results_; }
  int64_t num_elements() const { return count_; }
  // Whether load i reads element k of its argument for element k, and nothing else.
  bool ReadsInOrder(size_t load) const;

  struct Launch {
    KernelForm form;
    std::vector<uint64_t> addresses;  // of the loads' first elements, then the stores'
    std::vector<uint32_t> numbers;
    unsigned int blocks;
  };
  // With the memory of arguments and results.
  Launch At(const ElementProgram& program, std::span<const void* const> args, std::span<void* const> results) const;

 private:
  // One load or store: the distance of its first element from the beginning of its tensor, and of neighbours along
  // each dimension of the common shape.
  struct Walk {
    int64_t offset = 0;
    std::vector<int64_t> strides;
  };
  struct View {
    Shape shape;
    Walk walk;
  };

  static std::optional<View> ViewOf(const ElementProgram::Load& load, const Shape& arg);
  bool AddLoads(const ElementProgram& program, const std::vector<Shape>& args);
  bool AddStores(const ElementProgram& program, const FusedBody& body);
  bool MergeDims();
  int LanesFor(const ElementProgram& program, const std::vector<uint64_t>& addresses) const;
  Reach ReachOf(const Walk& walk) const;

  Shape common_;
  int64_t count_ = 0;
  std::vector<Shape> results_;
  std::vector<Walk> walks_;    // loads, then stores; after merging, the last dimension first
  std::vector<int64_t> dims_;  // after merging, the last one first
};

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_FUSION_ELEMENT_LAYOUT_H_
