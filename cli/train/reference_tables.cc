// SPDX-License-Identifier: Apache-2.0
// The tables of docs/train.md, made from what models and modes have registered.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/reference.h"
#include "cli/train/models/model.h"
#include "cli/train/modes/mode.h"

namespace millstream::cli {
namespace {

std::string Flags(const std::vector<OwnFlag>& flags) {
  std::vector<std::string> lines;
  for (const OwnFlag& flag : flags) {
    std::string line = absl::StrCat("`--", flag.name, " ", TypeName(flag.type), "`: ", flag.help);
    if (!flag.default_value.empty()) absl::StrAppend(&line, " (default: ", flag.default_value, ")");
    lines.push_back(std::move(line));
  }
  return absl::StrReplaceAll(absl::StrJoin(lines, "<br>"), {{"|", "\\|"}});
}

std::string Name(const std::string& name, bool is_default) {
  return absl::StrCat("`", name, "`", is_default ? " (default)" : "");
}

std::string ModelTable(const CLI::App& /*app*/) {
  std::string out =
      "| `--model` | | flags of its own | optimizer | batch | steps | MNIST |\n|---|---|---|---|---|---|---|\n";
  for (const Model* model : Registry<Model>::All()) {
    absl::StrAppend(&out, "| ", Name(model->name, model->is_default), " | ", model->help, " | ", Flags(model->flags),
                    " | ", model->optimizer, " ", model->learning_rate);
    absl::StrAppend(&out, " | ", model->batch_size, " | ", model->train_steps, " | ", model->mnist_accuracy, " |\n");
  }
  return out;
}

std::string ModeTable(const CLI::App& /*app*/) {
  std::string out = "| `--mode` | | flags of its own |\n|---|---|---|\n";
  for (const Mode* mode : Registry<Mode>::All())
    absl::StrAppend(&out, "| ", Name(mode->name, mode->is_default), " | ", mode->help, " | ", Flags(mode->flags),
                    " |\n");
  return out;
}

const Registration<ReferencePage> kModelTable({.name = "models",
                                               .help = "the table of models in docs/train.md",
                                               .write = ModelTable});
const Registration<ReferencePage> kModeTable({.name = "modes",
                                              .help = "the table of modes in docs/train.md",
                                              .write = ModeTable});

}  // namespace
}  // namespace millstream::cli
