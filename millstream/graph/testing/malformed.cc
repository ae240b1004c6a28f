// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/testing/malformed.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "millstream/graph/functions/function_library.h"
#include "millstream/graph/import/import.h"
#include "millstream/proto/graph.pb.h"

namespace millstream {

void ExpectRefused(const MalformedGraph& malformed) {
  proto::GraphDef def;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(malformed.program, &def)) << malformed.program;
  Graph graph;
  const Status status = ImportGraph(def, {}, &graph);
  EXPECT_EQ(status.code(), malformed.code) << status;
  const std::string message(status.message());
  EXPECT_THAT(message, ::testing::StartsWith(malformed.says));
  EXPECT_THAT(message, ::testing::HasSubstr(malformed.names));
  EXPECT_EQ(graph.num_nodes(), 0);
  EXPECT_EQ(graph.id_limit(), 0);
  EXPECT_TRUE(graph.library() == nullptr || graph.library()->Names().empty());
}

}  // namespace millstream
