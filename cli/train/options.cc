// SPDX-License-Identifier: Apache-2.0
#include "cli/train/options.h"

#include <CLI/CLI.hpp>
#include <ctime>
#include <filesystem>
#include <map>

#include "absl/strings/str_join.h"
#include "cli/number_checks.h"
#include "cli/train/models/model.h"
#include "cli/train/modes/mode.h"
#include "cli/train/settings/optimizers.h"
#include "millstream/data/examples.h"
#include "millstream/data/mnist.h"

namespace millstream::cli {
namespace {

// "what to train (default: mlp)", then a line for each.
template <typename T>
std::string HelpOf(const std::string& what, const T& standard) {
  std::string help = absl::StrCat(what, " (default: ", standard.name, ")");
  for (const T* one : Registry<T>::All()) absl::StrAppend(&help, "\n", one->name, ": ", one->help);
  return help;
}

// The flags that models and modes have declared, by name; a line of help for each that has one of that name.
struct DeclaredFlag {
  std::string help, type;
};
template <typename T>
void Declare(std::map<std::string, DeclaredFlag>* all) {
  for (const T* owner : Registry<T>::All()) {
    for (const OwnFlag& flag : owner->flags) {
      DeclaredFlag& declared = (*all)[flag.name];
      absl::StrAppend(&declared.help, declared.help.empty() ? "" : "\n", owner->name, ": ", flag.help);
      if (!flag.default_value.empty()) absl::StrAppend(&declared.help, " (default: ", flag.default_value, ")");
      if (declared.type.size() < std::string(TypeName(flag.type)).size()) declared.type = TypeName(flag.type);
    }
  }
}

void AddOwnFlags(CLI::App& app, GivenFlags* given) {
  std::map<std::string, DeclaredFlag> declared;
  Declare<Model>(&declared);
  Declare<Mode>(&declared);
  for (const auto& [name, flag] : declared) {
    const auto keep = [given, name = name](const std::string& text) { (*given)[name] = text; };
    app.add_option_function<std::string>("--" + name, keep, flag.help)->type_name(flag.type);
  }
}

std::string NewLogdir(const std::string& model) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &local);
  return absl::StrCat("millstream-logs/", model, "-", text);
}

// A path that means the same for a process in another folder.
std::string Absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

}  // namespace

void TrainOptions::AddTo(CLI::App& app) {
  app.add_option("--model", model, HelpOf("what to train", DefaultModel()))
      ->check(CLI::IsMember(Registry<Model>::Names()));
  app.add_option("--mode", mode, HelpOf("how workers work together", DefaultMode()))
      ->check(CLI::IsMember(Registry<Mode>::Names()));
  AddOwnFlags(app, &own);
  app.add_option("--ps", ps, "parameter servers (default: 1; 0 for modes without)")->check(CLI::Range(0, 64));
  app.add_option("--workers", workers, "workers (default: 2)")->check(CLI::Range(1, 256));
  app.add_option("--batch_size", batch_size, "examples per step of a worker (default: the model's)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--learning_rate", learning_rate, "default: the model's")->check(AboveZero());
  app.add_option("--optimizer", optimizer, "default: the model's")->check(CLI::IsMember(OptimizerNames()));
  app.add_option("--train_steps", train_steps, "global step to stop at (default: the model's)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 50));
  app.add_option("--data_dir", data_dir,
                 "folder (or file) with IDX files, TFRecords of Example, or CSV (default: the MNIST that comes along)");
  app.add_option(
      "--label_column", label_column,
      "column (name or number from 0) or feature with the label (default: found by its name, else the last)");
  app.add_option("--missing_values", missing_values,
                 "CSV: texts that stand for a missing value, with commas between them\n"
                 "(besides empty cells, ?, NA, N/A, NaN, null and None)")
      ->delimiter(',')
      ->type_name("TEXT,...");
  app.add_option("--category_columns", category_columns,
                 "CSV: columns (names or numbers from 0) that hold categories although their cells are numbers")
      ->delimiter(',')
      ->type_name("TEXT,...");
  app.add_option("--logdir", logdir,
                 "checkpoints and event files; training goes on from the last checkpoint there\n"
                 "(default: a new folder below millstream-logs; '': nothing is written)")
      ->each([this](const std::string& value) { no_logdir = value.empty(); });
  app.add_option("--seed", seed, "seed of the initial values and of the order of examples (default: 1)");
  app.add_option("--eval_steps", eval_steps, "global steps between evaluations (default: only at the end)")
      ->check(ZeroOrAbove());
  app.add_option("--save_checkpoint_secs", save_checkpoint_secs, "time between checkpoints (default: 600)")
      ->check(AboveZero());
  app.add_option("--max_restarts", max_restarts, "how often a task that dies is started again (default: 0)")
      ->check(ZeroOrAbove());
  app.add_option("--threads", threads, "threads of each task (default: its share of the cores)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--status_port", status_port,
                 "port of the chief's status page on this machine; 0: any free one, -1: none (default: 0, for a single "
                 "task -1)")
      ->envname("MILLSTREAM_STATUS_PORT")
      ->check(CLI::Range(-1, 65535));
  app.add_flag("--json", json, "print what happens as JSON, one object per line");
  app.add_option(
      "--job_name", job_name,
      "run one task only, ps or worker, of the cluster that --ps_hosts and --worker_hosts (or TF_CONFIG) describe");
  app.add_option("--task_index", task_index, "its index in the job (default: 0)")->check(ZeroOrAbove());
  cluster.AddTo(app);
}

Status TrainOptions::Resolve(bool is_task) {
  if (model.empty()) model = DefaultModel().name;
  if (mode.empty()) mode = DefaultMode().name;
  ASSIGN_OR_RETURN(const Model* const chosen, Registry<Model>::Find(model));
  ASSIGN_OR_RETURN(const Mode* const how, Registry<Mode>::Find(mode));
  RETURN_IF_ERROR(CheckFlagsAreUsed(*this, is_task));
  if (!is_task) RETURN_IF_ERROR(ChoosePs(*how));
  RETURN_IF_ERROR(OwnFlagValues::Read(chosen->flags, own).status());
  ASSIGN_OR_RETURN(const OwnFlagValues mode_flags, OwnFlagValues::Read(how->flags, own));
  if (!is_task && how->check != nullptr) RETURN_IF_ERROR(how->check(mode_flags, workers));
  RETURN_IF_ERROR(ChooseOptimizer(*chosen, *how));
  if (batch_size == 0) batch_size = chosen->batch_size;
  if (train_steps == 0) train_steps = chosen->train_steps;
  if (job_name != "ps") RETURN_IF_ERROR(FindData());
  new_logdir = logdir.empty() && !no_logdir;
  if (!no_logdir) logdir = Absolute(logdir.empty() ? NewLogdir(model) : logdir);
  return OkStatus();
}

Status TrainOptions::ChoosePs(const Mode& how) {
  const bool was_given = given.count("ps") > 0;
  if (how.own_variables && !was_given) ps = 0;
  if (how.own_variables && ps > 0) {
    return errors::InvalidArgument("--mode ", mode, " has no parameter servers; it takes --ps 0 alone");
  }
  if (!how.own_variables && ps == 0) {
    std::vector<std::string> others;
    for (const Mode* one : Registry<Mode>::All()) {
      if (one->own_variables) others.push_back(one->name);
    }
    return errors::InvalidArgument("--mode ", mode,
                                   " needs parameter servers; these modes do not: ", absl::StrJoin(others, ", "));
  }
  return OkStatus();
}

Status TrainOptions::ChooseOptimizer(const Model& chosen, const Mode& how) {
  if (how.plain_gradient_descent && !optimizer.empty() && optimizer != "sgd") {
    return errors::InvalidArgument("--mode ", mode, " is gradient descent itself; it takes no --optimizer ", optimizer);
  }
  if (optimizer.empty()) optimizer = how.plain_gradient_descent ? "sgd" : chosen.optimizer;
  if (learning_rate != 0) return OkStatus();
  if (optimizer != chosen.optimizer && optimizer != "sgd") {
    return errors::InvalidArgument("--optimizer ", optimizer, " needs a --learning_rate (", model, " comes with ",
                                   chosen.optimizer, " at ", chosen.learning_rate, ")");
  }
  learning_rate = optimizer == chosen.optimizer ? chosen.learning_rate : chosen.sgd_learning_rate;
  return OkStatus();
}

Status TrainOptions::FindData() {
  if (data_dir.empty()) {
    ASSIGN_OR_RETURN(data_dir, MnistFolder());
  }
  data_dir = Absolute(data_dir);
  if (!std::filesystem::exists(data_dir)) return errors::NotFound("--data_dir ", data_dir, ": no such file or folder");
  ExampleOptions reading;
  reading.label = label_column;
  reading.missing_values = missing_values;
  reading.category_columns = category_columns;
  return CheckExampleFiles(data_dir, reading);
}

std::vector<std::string> TrainOptions::ToArguments() const {
  std::vector<std::string> arguments;
  const auto add = [&](const char* flag, const auto& value) {
    arguments.push_back(absl::StrCat("--", flag, "=", value));
  };
  add("model", model);
  add("mode", mode);
  add("optimizer", optimizer);
  add("learning_rate", learning_rate);
  add("batch_size", batch_size);
  add("train_steps", train_steps);
  for (const auto& [flag, text] : own) add(flag.c_str(), text);
  add("data_dir", data_dir);
  if (!label_column.empty()) arguments.insert(arguments.end(), {"--label_column", label_column});
  if (!missing_values.empty()) add("missing_values", absl::StrJoin(missing_values, ","));
  if (!category_columns.empty()) add("category_columns", absl::StrJoin(category_columns, ","));
  arguments.insert(arguments.end(),
                   {"--logdir", no_logdir ? "" : logdir});  // CLI11 takes the next flag for the value in "--logdir="
  add("seed", seed);
  add("eval_steps", eval_steps);
  if (!no_logdir) add("save_checkpoint_secs", save_checkpoint_secs);
  if (threads > 0) add("threads", threads);
  add("status_port", status_port.value_or(0));
  return arguments;
}

}  // namespace millstream::cli
