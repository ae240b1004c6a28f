// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_FUNCTIONS_FUNCTION_LIBRARY_H_
#define MILLSTREAM_GRAPH_FUNCTIONS_FUNCTION_LIBRARY_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/graph/functions/import_options.h"
#include "millstream/graph/graph.h"

namespace millstream {

namespace proto {
class FunctionDef;
class FunctionDefLibrary;
}  // namespace proto

// A function of the library. Immutable. The body stays in its message until it is instantiated.
struct Function {
  OpDef signature;
  std::shared_ptr<const proto::FunctionDef> def;
};

// A function's body for given attributes: a graph whose _Arg nodes stand for the arguments and whose _Retval nodes for
// the results, both in order. `control_rets` must run although no result may depend on them.
struct FunctionBody {
  std::unique_ptr<Graph> graph;
  std::vector<Node*> args;
  std::vector<Node*> rets;
  std::vector<Node*> control_rets;
  std::vector<DType> arg_types;
  std::vector<DType> ret_types;
};

// The functions of a program, by name. Thread-safe: sessions add to it while steps instantiate from it. Held by
// shared_ptr, because the graphs made from it keep it.
class FunctionLibrary : public std::enable_shared_from_this<FunctionLibrary> {
 public:
  // Adds all functions and gradients, or none. InvalidArgument: no name, the name of an op, a different function (or
  // gradient) of that name, a bad signature. Adding an equal function again does nothing. `added` (optional) receives
  // the new names.
  Status AddLibrary(const proto::FunctionDefLibrary& library, std::vector<std::string>* added = nullptr);
  Status Add(proto::FunctionDef def);
  // Undoes AddLibrary(): the functions and the gradients defined for them.
  void Remove(const std::vector<std::string>& names);

  // Null if unknown.
  std::shared_ptr<const Function> Find(absl::string_view name) const;
  // The name of the gradient function given for `name`, "" if none.
  std::string GradientOf(absl::string_view name) const;
  std::vector<std::string> Names() const;

  // NotFound if there is no such function; InvalidArgument, naming function and node, if its body is malformed or
  // attributes are missing. REQUIRES: this library is held by a shared_ptr.
  StatusOr<FunctionBody> Instantiate(const NameAttrList& function, const ImportOptions& options = {}) const;

  void ToProto(proto::FunctionDefLibrary* proto) const;

 private:
  using Functions = std::map<std::string, std::shared_ptr<const Function>, std::less<>>;
  using Gradients = std::map<std::string, std::string, std::less<>>;

  mutable Mutex mu_;
  Functions functions_ ABSL_GUARDED_BY(mu_);
  Gradients gradients_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_FUNCTIONS_FUNCTION_LIBRARY_H_
