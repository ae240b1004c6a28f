// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/saving/graph_text.h"

#include <google/protobuf/text_format.h>

#include "millstream/base/file.h"
#include "millstream/graph/import/export.h"
#include "millstream/proto/graph.pb.h"

namespace millstream {

Status WriteGraphText(const Graph& graph, const std::string& path) {
  proto::GraphDef def;
  RETURN_IF_ERROR(ExportGraph(graph, &def));
  std::string text;
  if (!google::protobuf::TextFormat::PrintToString(def, &text)) return errors::Internal("No text for ", path);
  return WriteFileAtomically(path, text);
}

}  // namespace millstream
