// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/data/captured_function.h"
#include "millstream/ops/data/element_attrs.h"

namespace millstream {
namespace {

// The three functions of a generator: `init` makes a state, `next` an element of the state until it reports OutOfRange,
// and `finalize` sees the state last.
struct GeneratorFunctions {
  CapturedFunction init, next, finalize;
};

class GeneratorDataset final : public Dataset {
 public:
  GeneratorDataset(GeneratorFunctions functions, OutputSignature signature)
      : Dataset(std::move(signature.types), std::move(signature.shapes)), functions_(std::move(functions)) {}
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(CapturedFunction::Instance init, functions_.init.Instantiate(owner, {}));
    const std::vector<DType>& state = init.ret_types();
    ASSIGN_OR_RETURN(CapturedFunction::Instance next, functions_.next.Instantiate(owner, state));
    ASSIGN_OR_RETURN(CapturedFunction::Instance finalize, functions_.finalize.Instantiate(owner, state));
    return std::make_unique<Iterator>(owner, std::move(init), std::move(next), std::move(finalize));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(const StepContext& owner, CapturedFunction::Instance init, CapturedFunction::Instance next,
             CapturedFunction::Instance finalize)
        : owner_(owner), init_(std::move(init)), next_(std::move(next)), finalize_(std::move(finalize)) {}
    // An iterator that ends early finalizes its state, unless the owner is being cancelled: nothing runs there any
    // more.
    ~Iterator() override {
      if (stage_ != Stage::kRunning) return;
      Element ignored;
      (void)finalize_.Run(owner_, state_, &ignored);
    }
    Status Next(const StepContext& step, Element* element, bool* end) override {
      if (stage_ == Stage::kNew) {
        RETURN_IF_ERROR(init_.Run(step, {}, &state_));
        stage_ = Stage::kRunning;
      }
      *end = stage_ == Stage::kFinalized;
      if (*end) return OkStatus();
      const Status made = next_.Run(step, state_, element);
      if (!absl::IsOutOfRange(made)) return made;
      Element ignored;
      RETURN_IF_ERROR(finalize_.Run(step, state_, &ignored));
      stage_ = Stage::kFinalized;
      *end = true;
      return OkStatus();
    }

   private:
    enum class Stage { kNew, kRunning, kFinalized };
    const StepContext& owner_;
    const CapturedFunction::Instance init_, next_, finalize_;
    Stage stage_ = Stage::kNew;
    Element state_;
  };
  const GeneratorFunctions functions_;
};

class MakeGenerator final : public Kernel {
 public:
  explicit MakeGenerator(KernelInit& init)
      : init_(init.Attr<NameAttrList>("init_func")),
        next_(init.Attr<NameAttrList>("next_func")),
        finalize_(init.Attr<NameAttrList>("finalize_func")),
        init_args_(ArgCount(init, "Tinit_func_args")),
        next_args_(ArgCount(init, "Tnext_func_args")),
        signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    const int next = init_args_, finalize = next + next_args_;
    GeneratorFunctions f;
    ASSIGN_OR_RETURN(f.init, CapturedFunction::FromInputs(ctx, init_, 0, next));
    ASSIGN_OR_RETURN(f.next, CapturedFunction::FromInputs(ctx, next_, next, finalize));
    ASSIGN_OR_RETURN(f.finalize, CapturedFunction::FromInputs(ctx, finalize_, finalize, ctx.num_inputs()));
    OutputDataset(ctx, MakeRef<GeneratorDataset>(std::move(f), signature_));
    return OkStatus();
  }

 private:
  static int ArgCount(KernelInit& init, const char* attr) {
    return static_cast<int>(init.Attr<std::vector<DType>>(attr).size());
  }
  const NameAttrList init_, next_, finalize_;
  const int init_args_, next_args_;
  const OutputSignature signature_;
};

OP("GeneratorDataset")
    .Input("init_func_other_args: Tinit_func_args")
    .Input("next_func_other_args: Tnext_func_args")
    .Input("finalize_func_other_args: Tfinalize_func_args")
    .Output("handle: variant")
    .Attr("init_func: func")
    .Attr("next_func: func")
    .Attr("finalize_func: func")
    .Attr("Tinit_func_args: list(type) >= 0")
    .Attr("Tnext_func_args: list(type) >= 0")
    .Attr("Tfinalize_func_args: list(type) >= 0")
    .With(ElementAttrs)
    .Attr("metadata: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<MakeGenerator>()
    .Doc("The elements that a function makes of a state until it reports OutOfRange.");

}  // namespace
}  // namespace millstream
