// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SAVING_META_GRAPH_H_
#define MILLSTREAM_TRAIN_SAVING_META_GRAPH_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/graph/scope.h"
#include "millstream/train/saving/saver.h"

namespace millstream {

namespace proto {
class MetaGraphDef;
}  // namespace proto

// Meta graphs: a graph with its collections and its saver, as tf.train.export_meta_graph() and import_meta_graph()
// write and read them. They cross over with Python programs and with TensorFlow.

struct ExportMetaGraphOptions {
  std::vector<std::string> tags = {};
  bool clear_devices = false;
  bool strip_default_attrs = false;
  // Collections of a program's own: those of tensors or ops. The standard ones are always there: variables of all
  // kinds, losses, summaries, train and update ops, queue runners.
  std::vector<std::string> collections = {};
};

// Replaces what `def` holds. `saver` may be null.
Status ExportMetaGraph(const Scope& scope, const Saver* saver, const ExportMetaGraphOptions& options,
                       proto::MetaGraphDef* def);
// The same as a file, whole or not at all.
Status WriteMetaGraph(const Scope& scope, const Saver* saver, const std::string& path,
                      const ExportMetaGraphOptions& options = {});

struct ImportMetaGraphOptions {
  bool clear_devices = false;
  std::string import_scope = {};  // put before all names; "": none
};

// Adds nodes, functions and collections to the scope's graph; nothing if the graph is not a good one. The saver is that
// of the meta graph; without one it is a new one for the variables that came; null if none did. InvalidArgument: a node
// of that name is there already, or the meta graph is malformed; NotFound: an op is not known.
StatusOr<std::shared_ptr<Saver>> ImportMetaGraph(const Scope& scope, const proto::MetaGraphDef& def,
                                                 const ImportMetaGraphOptions& options = {});
// The same from a file, binary or text. NotFound if there is none.
StatusOr<std::shared_ptr<Saver>> ImportMetaGraph(const Scope& scope, const std::string& path,
                                                 const ImportMetaGraphOptions& options = {});
Status ReadMetaGraph(const std::string& path, proto::MetaGraphDef* def);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SAVING_META_GRAPH_H_
