// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/data/memory_dataset.h"

namespace millstream {
namespace {

// The inputs are the components of the first element, then those of the second, and so on.
class MakeListDataset final : public Kernel {
 public:
  explicit MakeListDataset(KernelInit& init) : signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    const int components = static_cast<int>(signature_.types.size());
    if (ctx.num_inputs() % components != 0) {
      return errors::InvalidArgument("There are ", ctx.num_inputs(), " tensors, which elements of ", components,
                                     " components do not divide");
    }
    MemoryDataset::Elements elements;
    for (int at = 0; at < ctx.num_inputs(); at += components) {
      Element& element = elements.emplace_back();
      std::vector<DType> types;
      std::vector<PartialShape> shapes;
      for (int i = 0; i < components; ++i) {
        element.push_back(ctx.input(at + i));
        types.push_back(element.back().dtype());
        shapes.emplace_back(element.back().shape());
      }
      RETURN_IF_ERROR(CheckSignature(signature_, types, shapes));
    }
    OutputDataset(ctx, MakeRef<MemoryDataset>(signature_.types, signature_.shapes, std::move(elements)));
    return OkStatus();
  }

 private:
  const OutputSignature signature_;
};

OP("ListDataset")
    .Input("tensors: Tinput_types")
    .Output("handle: variant")
    .Attr("Tinput_types: list(type) >= 1")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<MakeListDataset>()
    .Doc("A dataset of given elements, whose components follow one another.");

}  // namespace
}  // namespace millstream
