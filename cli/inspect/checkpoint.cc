// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "cli/inspect/inspect.h"
#include "millstream/io/bundle_reader.h"

namespace millstream::cli {
namespace {

struct Row {
  std::string name;
  DType dtype = DType::kInvalid;
  Shape shape;
  uint64_t bytes() const { return static_cast<uint64_t>(shape.num_elements()) * DTypeSize(dtype); }
  nlohmann::ordered_json json() const {
    const auto dims = shape.dims();
    return {{"name", name}, {"dtype", DTypeName(dtype)}, {"shape", std::vector<int64_t>(dims.begin(), dims.end())}};
  }
};

Status PrintTensor(const InspectOptions& options, const BundleReader& bundle) {
  Row row{options.tensor, DType::kInvalid, Shape()};
  RETURN_IF_ERROR(bundle.Lookup(row.name, &row.dtype, &row.shape));
  ASSIGN_OR_RETURN(const Tensor value, bundle.Read(row.name));
  const std::string values = value.SummarizeValue(options.limit > 0 ? options.limit : 1000);
  if (options.json) {
    nlohmann::ordered_json object = row.json();
    object["values"] = values;
    PrintJson(object);
  } else {
    std::printf("%s %s %s\n%s\n", row.name.c_str(), DTypeName(row.dtype).c_str(), row.shape.ToString().c_str(),
                values.c_str());
  }
  return OkStatus();
}

void PrintRows(const std::string& prefix, const std::vector<Row>& rows) {
  size_t width = 4;
  uint64_t elements = 0, bytes = 0;
  for (const Row& row : rows) {
    width = std::max(width, row.name.size());
    elements += row.shape.num_elements();
    bytes += row.bytes();
  }
  std::printf("checkpoint %s: %zu tensors, %s elements, %s bytes\n", prefix.c_str(), rows.size(),
              WithThousands(elements).c_str(), WithThousands(bytes).c_str());
  for (const Row& row : rows) {
    std::printf("  %-*s  %-9s %-16s %s\n", static_cast<int>(width), row.name.c_str(), DTypeName(row.dtype).c_str(),
                row.shape.ToString().c_str(), WithThousands(row.bytes()).c_str());
  }
}

}  // namespace

Status InspectCheckpoint(const InspectOptions& options, const std::string& prefix) {
  ASSIGN_OR_RETURN(const auto bundle, BundleReader::Open(prefix));
  if (!options.tensor.empty()) return PrintTensor(options, *bundle);
  std::vector<Row> rows;
  for (const std::string& name : bundle->Names()) {
    Row row{name, DType::kInvalid, Shape()};
    RETURN_IF_ERROR(bundle->Lookup(name, &row.dtype, &row.shape));
    rows.push_back(std::move(row));
  }
  if (!options.json) {
    PrintRows(prefix, rows);
    return OkStatus();
  }
  nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
  for (const Row& row : rows) tensors.push_back(row.json());
  PrintJson({{"kind", "checkpoint"}, {"prefix", prefix}, {"tensors", std::move(tensors)}});
  return OkStatus();
}

}  // namespace millstream::cli
