// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_TESTING_RANDOM_PROGRAM_H_
#define MILLSTREAM_GRAPH_TESTING_RANDOM_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "millstream/base/testing/proto_mutator.h"
#include "millstream/framework/op.h"
#include "millstream/proto/graph.pb.h"

namespace millstream::testing {

// Reads choices from bytes; zeros when they are used up.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  uint8_t Byte() { return at_ < size_ ? data_[at_++] : 0; }
  int Below(int n) { return n <= 1 ? 0 : (Byte() | (n > 256 ? Byte() << 8 : 0)) % n; }
  // Mostly small, sometimes an end of the range.
  int64_t Number();

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

// False for ops that write files, talk, or end the process.
bool IsHarmless(absl::string_view op);
// All harmless ops, by name.
const std::vector<const OpEntry*>& HarmlessOps();
// Names of ops and attributes, and of what else programs contain.
const std::vector<std::string>& ProgramWords();

// Adds nodes of any op to a program: attributes fit the op's definition (mostly), inputs have the right types and come
// from other nodes or from constants of any shape and value. Whether the op takes such inputs is another matter.
class RandomProgram {
 public:
  // Both are borrowed. Goes on from the nodes that `graph` has.
  RandomProgram(Choices* choices, proto::GraphDef* graph);

  // Whether inputs may be values of nodes that were there before. Constants otherwise.
  void set_connect(bool connect) { connect_ = connect; }
  // Returns the index of the new node; the nodes that make its inputs come before it. Negative: what was chosen does
  // not make a node.
  int AddNode(const OpEntry& op);
  int AddNode() {
    return AddNode(*HarmlessOps()[static_cast<size_t>(c_.Below(static_cast<int>(HarmlessOps().size())))]);
  }
  // Gives a node another value for an attribute of its op.
  void ChangeAttr(proto::NodeDef* node);
  // Applies a node to its own result, again and again, in the place of every input of that type: chains, and values
  // that double.
  void Repeat(const proto::NodeDef& node, int count);
  // Functions that nodes with attributes of type `func` may name.
  void AddFunctions();

 private:
  struct Value {
    std::string name;
    DType type;
  };
  proto::NodeDef* NewNode(absl::string_view op);
  void AddValues(const proto::NodeDef& node, const OpEntry& op, const AttrMap& attrs);
  AttrMap ChooseAttrs(const OpEntry& op);
  DType Type(const AttrDef& def);
  PartialShape AnyShape();
  std::string Text(const AttrDef& def);
  AttrValue Attr(const AttrDef& def);
  AttrValue ListAttr(const AttrDef& def);
  std::vector<int64_t> AnyDims();
  Tensor AnyTensor(DType type);
  // The name of a value of this type for `op`; "" if there is none.
  std::string Input(DType type, const OpEntry& op);
  std::string Const(DType type);
  std::string ResourceVariable();
  std::string RefVariable(DType type);
  // A value that some other op makes: handles, datasets, lists.
  std::string Produced(DType type, const OpEntry& op);

  Choices& c_;
  proto::GraphDef* const graph_;
  std::vector<Value> values_;
  std::vector<int64_t> common_;  // a shape that comes back, so that some inputs fit each other
  DType favourite_;              // a type that comes back
  bool connect_ = true;
  int depth_ = 0;
};

// One change that a mutator of messages would hardly find: a node of a known op, an attribute that its op has,
// functions.
void ChangeProgram(ProtoMutator* mutator, proto::GraphDef* graph);
// True if all nodes and functions are.
bool IsHarmless(const proto::GraphDef& graph);

}  // namespace millstream::testing

#endif  // MILLSTREAM_GRAPH_TESTING_RANDOM_PROGRAM_H_
