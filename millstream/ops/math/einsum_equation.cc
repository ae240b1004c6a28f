// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/math/einsum_equation.h"

#include <algorithm>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace millstream {
namespace {

StatusOr<std::string> ReadSubscripts(absl::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.' && text.substr(i, 3) == "...") {
      if (EinsumEquation::HasEllipsis(result)) {
        return errors::InvalidArgument("Found more than one ellipsis in subscript: ", text);
      }
      result.push_back(EinsumEquation::kEllipsis);
      i += 2;
    } else if (text[i] != '.') {
      result.push_back(text[i]);
    } else {
      return errors::InvalidArgument("Invalid character(s) in subscript: ", text);
    }
  }
  return result;
}

}  // namespace

StatusOr<EinsumEquation> EinsumEquation::Parse(const std::string& equation, int num_inputs) {
  const std::vector<std::string> sides = absl::StrSplit(absl::StrReplaceAll(equation, {{" ", ""}}), "->");
  if (sides.size() != 2) {
    return errors::InvalidArgument("Expecting exactly one '->' in einsum equation: ", equation);
  }
  EinsumEquation result;
  for (absl::string_view operand : absl::StrSplit(sides[0], ',')) {
    ASSIGN_OR_RETURN(std::string subscripts, ReadSubscripts(operand));
    result.inputs_.push_back(std::move(subscripts));
  }
  ASSIGN_OR_RETURN(result.output_, ReadSubscripts(sides[1]));
  if (static_cast<int>(result.inputs_.size()) != num_inputs) {
    return errors::InvalidArgument("Expected ", num_inputs, " inputs but got: ", result.inputs_.size());
  }
  if (num_inputs != 1 && num_inputs != 2) {
    return errors::InvalidArgument("Expecting 1 or 2 input operands in equation '", equation,
                                   "' but got: ", num_inputs);
  }
  bool ellipsis = false;
  for (const std::string& in : result.inputs_) ellipsis |= HasEllipsis(in);
  if (!ellipsis) std::erase(result.output_, kEllipsis);  // it stands for no dimensions
  for (const char label : result.output_) {
    const bool known = std::any_of(result.inputs_.begin(), result.inputs_.end(),
                                   [&](const std::string& in) { return in.find(label) != std::string::npos; });
    if (!known) {
      return errors::InvalidArgument("Expected label '", std::string(1, label), "' of the output of '", equation,
                                     "' in some input");
    }
  }
  return result;
}

std::string EinsumEquation::Spell(const std::string& subscripts) {
  return absl::StrReplaceAll(subscripts, {{std::string(1, kEllipsis), "..."}});
}

StatusOr<std::vector<int>> EinsumEquation::Labels(const std::string& subscripts, int rank) {
  const bool ellipsis = HasEllipsis(subscripts);
  const int named = static_cast<int>(subscripts.size()) - (ellipsis ? 1 : 0);
  if (rank < named || (!ellipsis && rank != named)) {
    return errors::InvalidArgument("Expected input of rank ", ellipsis ? "at least " : "", named, " but got rank ",
                                   rank, " for subscripts '", Spell(subscripts), "'");
  }
  std::vector<int> labels;
  for (const char label : subscripts) {
    if (label != kEllipsis) {
      labels.push_back(label);
    } else {
      for (int i = rank - named; i > 0; --i) labels.push_back(-i);
    }
  }
  return labels;
}

}  // namespace millstream
