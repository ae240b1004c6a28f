// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdio>

#include "absl/strings/strip.h"
#include "millstream/base/file.h"
#include "millstream/framework/graph_files.h"
#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/flow/summary.h"

namespace millstream {
namespace {

// One write per message: lines of different threads do not mix.
void Write(std::FILE* to, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), to);
  std::fflush(to);
}

class Print final : public Kernel {
 public:
  explicit Print(KernelInit& init)
      : message_(init.Attr<std::string>("message")),
        first_n_(init.Attr<int64_t>("first_n")),
        summarize_(init.Attr<int>("summarize")) {}

  Status Compute(KernelContext& ctx) override {
    if (first_n_ < 0 || calls_.fetch_add(1, std::memory_order_relaxed) < first_n_) {
      std::string text = message_;
      for (int i = 1; i < ctx.num_inputs(); ++i) {
        absl::StrAppend(&text, "[", SummarizeForPrint(ctx.input(i), summarize_), "]");
      }
      Write(stderr, text + "\n");
    }
    ctx.set_output(0, ctx.TakeInput(0));
    return OkStatus();
  }

 private:
  const std::string message_;
  const int64_t first_n_;
  const int summarize_;
  std::atomic<int64_t> calls_{0};
};

class PrintV2 final : public Kernel {
 public:
  explicit PrintV2(KernelInit& init)
      : stream_(init.Attr<std::string>("output_stream")), end_(init.Attr<std::string>("end")) {
    absl::string_view path = stream_;
    if (absl::ConsumePrefix(&path, "file://")) {
      path_ = std::string(path);
    } else if (stream_ != "stdout" && stream_ != "stderr" && stream_ != "log(info)" && stream_ != "log(warning)" &&
               stream_ != "log(error)") {
      init.Fail(errors::InvalidArgument("Unknown output stream: ", stream_,
                                        ", Valid streams are: log(info), log(warning), log(error), stdout, "
                                        "stderr, file://"));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() != 0) {
      return errors::InvalidArgument("Input is expected to be scalar, but got ", input.shape().ToString());
    }
    const std::string text = input.scalar<std::string>() + end_;
    if (!path_.empty()) return Append(ctx, text);
    if (stream_ == "stdout")
      Write(stdout, text);
    else if (stream_ == "stderr")
      Write(stderr, text);
    else
      Log(stream_ == "log(info)"      ? LogLevel::kInfo
          : stream_ == "log(warning)" ? LogLevel::kWarning
                                      : LogLevel::kError,
          absl::StripSuffix(text, "\n"));
    return OkStatus();
  }

 private:
  Status Append(const KernelContext& ctx, const std::string& text) const {
    ASSIGN_OR_RETURN(const std::string path, ConfinedPath(ctx.resources(), path_));
    const StatusOr<std::unique_ptr<WritableFile>> file = WritableFile::Append(path);
    if (IsConfinedPath(path)) RETURN_IF_ERROR(file.status());
    if (!file.ok()) return errors::InvalidArgument("Cannot open ", path_, " to print to");
    Status written = (*file)->Write(text);
    if (written.ok()) written = (*file)->Close();
    return written.ok() ? written : errors::DataLoss("Cannot write to ", path_);
  }

  const std::string stream_;
  const std::string end_;
  std::string path_;
};

OP("Print")
    .Trait(OpTrait::kEffectsOnly)
    .Input("input: T")
    .Input("data: U")
    .Output("output: T")
    .Attr("T: type")
    .Attr("U: list(type) >= 0")
    .Attr("message: string = ''")
    .Attr("first_n: int = -1")
    .Attr("summarize: int = 3")
    .Stateful()
    .Shape(UnchangedShape)
    .Gradient([](GradContext& g) {
      g.set_dx(0, g.grad(0));
      return g.status();
    })
    .Cpu<Print>()
    .Doc("Passes its input on and prints the data to standard error.");

OP("PrintV2")
    .Trait(OpTrait::kEffectsOnly)
    .Input("input: string")
    .Attr("output_stream: string = 'stderr'")
    .Attr("end: string = '\n'")
    .Stateful()
    .Shape(NoOutputs)
    .Cpu<PrintV2>()
    .Doc(
        "Prints a string to standard output, standard error, the log or a "
        "file.");

}  // namespace
}  // namespace millstream
