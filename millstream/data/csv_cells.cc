// SPDX-License-Identifier: Apache-2.0
#include "millstream/data/csv_cells.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace millstream {
namespace {

bool IsMissingMarker(const std::string& cell) {
  static constexpr std::array kMarkers = {"", "?", "na", "n/a", "#n/a", "nan", "-nan", "<na>", "null", "none"};
  const std::string lower = absl::AsciiStrToLower(cell);
  return std::find(kMarkers.begin(), kMarkers.end(), lower) != kMarkers.end();
}

std::string AndMore(const CellTally::Some& some) {
  return some.count == 1 ? "" : absl::StrCat(" (and ", some.count - 1, " more like it)");
}

Status NotANumber(const std::string& column, const CellTally& cells, const char* advice) {
  return errors::InvalidArgument(cells.texts.where, ", column '", column, "': '", cells.texts.text,
                                 "' is not a finite number", AndMore(cells.texts), ", but ", cells.numbers, " of ",
                                 cells.numbers + cells.texts.count + cells.missing.count, " cells are; ", advice);
}

}  // namespace

CellReader::CellReader(const std::vector<std::string>& declared_missing)
    : declared_(declared_missing.begin(), declared_missing.end()) {}

CellKind CellReader::Read(const std::string& cell, float* value) const {
  if (declared_.empty() || declared_.count(cell) == 0) {
    if (absl::SimpleAtof(cell, value) && std::isfinite(*value)) return CellKind::kNumber;
    *value = std::numeric_limits<float>::quiet_NaN();
    return IsMissingMarker(cell) ? CellKind::kMissing : CellKind::kText;
  }
  *value = std::numeric_limits<float>::quiet_NaN();
  return CellKind::kMissing;
}

void CellTally::Some::Add(const std::string& path, int64_t line, const std::string& cell) {
  if (count++ > 0) return;
  where = absl::StrCat(path, " line ", line);
  text = cell;
}

void CellTally::Add(CellKind kind, const std::string& path, int64_t line, const std::string& cell) {
  if (kind == CellKind::kNumber)
    ++numbers;
  else
    (kind == CellKind::kMissing ? missing : texts).Add(path, line, cell);
}

StatusOr<bool> HoldsTexts(const std::string& column, const CellTally& cells) {
  if (cells.texts.count == 0) return false;
  if (cells.numbers <= cells.texts.count) return true;
  return NotANumber(column, cells, "correct it, name it in --missing_values, or name the column in --category_columns");
}

Status CheckLabelCells(const std::string& column, const CellTally& cells, const CellTally::Some& empty) {
  const CellTally::Some* missing = &empty;
  if (cells.numbers > cells.texts.count) {
    if (cells.texts.count > 0) return NotANumber(column, cells, "correct the label or remove the line");
    missing = &cells.missing;
  }
  if (missing->count == 0) return OkStatus();
  return errors::InvalidArgument(
      missing->where, ": the label (column '", column, "') is missing",
      missing->text.empty() ? "" : absl::StrCat(": '", missing->text, "'"),
      missing->count == 1 ? "" : absl::StrCat(" (and in ", missing->count - 1, " more lines)"),
      "; a line without a label cannot be trained on");
}

}  // namespace millstream
