// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_ATTR_VALUE_H_
#define MILLSTREAM_FRAMEWORK_ATTR_VALUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

class AttrValue;
class AttrMap;

// The value of a `func` attribute: a function of the graph's library with attributes bound to it.
struct NameAttrList {
  std::string name;
  std::vector<std::pair<std::string, AttrValue>> attrs;
};

// The value of one attribute of a node; TensorFlow's AttrValue without protobuf. A value type; large values are shared.
class AttrValue {
 public:
  // Stands for "attribute bound when a function is instantiated" ($name).
  struct Placeholder {
    std::string name;
  };
  // An empty list: AttrValue{list{}} does not say of what.
  struct EmptyList {};
  using Int = int64_t;
  using Ints = std::vector<int64_t>;
  using Strings = std::vector<std::string>;
  using Floats = std::vector<float>;
  using Bools = std::vector<bool>;
  using DTypes = std::vector<DType>;
  using Shapes = std::vector<PartialShape>;
  using Tensors = std::vector<Tensor>;
  using Funcs = std::vector<NameAttrList>;

  AttrValue() = default;
  AttrValue(bool v) : v_(v) {}                                                   // NOLINT(google-explicit-constructor)
  AttrValue(int v) : v_(static_cast<int64_t>(v)) {}                              // NOLINT
  AttrValue(int64_t v) : v_(v) {}                                                // NOLINT
  AttrValue(float v) : v_(v) {}                                                  // NOLINT
  AttrValue(double v) : v_(static_cast<float>(v)) {}                             // NOLINT
  AttrValue(DType v) : v_(v) {}                                                  // NOLINT
  AttrValue(const char* v) : AttrValue(std::string(v)) {}                        // NOLINT
  AttrValue(absl::string_view v) : AttrValue(std::string(v)) {}                  // NOLINT
  AttrValue(std::string v) : v_(Box(std::move(v))) {}                            // NOLINT
  AttrValue(PartialShape v) : v_(Box(std::move(v))) {}                           // NOLINT
  AttrValue(const Shape& v) : AttrValue(PartialShape(v)) {}                      // NOLINT
  AttrValue(Tensor v) : v_(Box(std::move(v))) {}                                 // NOLINT
  AttrValue(NameAttrList v) : v_(Box(std::move(v))) {}                           // NOLINT
  AttrValue(Placeholder v) : v_(Box(std::move(v))) {}                            // NOLINT
  AttrValue(EmptyList v) : v_(v) {}                                              // NOLINT
  AttrValue(Ints v) : v_(Box(std::move(v))) {}                                   // NOLINT
  AttrValue(const std::vector<int>& v) : AttrValue(Ints(v.begin(), v.end())) {}  // NOLINT
  AttrValue(Strings v) : v_(Box(std::move(v))) {}                                // NOLINT
  AttrValue(Floats v) : v_(Box(std::move(v))) {}                                 // NOLINT
  AttrValue(Bools v) : v_(Box(std::move(v))) {}                                  // NOLINT
  AttrValue(DTypes v) : v_(Box(std::move(v))) {}                                 // NOLINT
  AttrValue(Shapes v) : v_(Box(std::move(v))) {}                                 // NOLINT
  AttrValue(Tensors v) : v_(Box(std::move(v))) {}                                // NOLINT
  AttrValue(Funcs v) : v_(Box(std::move(v))) {}                                  // NOLINT

  // Null unless the value is of that type. T: bool, int64_t, float, DType, std::string, PartialShape, Tensor,
  // NameAttrList, Placeholder or one of the list types. A list getter sees an EmptyList as an empty list.
  template <typename T>
  const T* get() const;
  bool empty() const { return std::holds_alternative<std::monostate>(v_); }
  bool IsPlaceholder() const { return get<Placeholder>() != nullptr; }

  // TensorFlow's kind: "int", "list(type)", "func", ..., "" when unset, "list()" for an empty list.
  std::string kind() const;
  std::string ToString() const;
  friend bool operator==(const AttrValue& a, const AttrValue& b);

 private:
  template <typename T>
  using Shared = std::shared_ptr<const T>;
  template <typename T>
  static Shared<T> Box(T v) {
    return std::make_shared<const T>(std::move(v));
  }

  std::variant<std::monostate, bool, int64_t, float, DType, EmptyList, Shared<std::string>, Shared<PartialShape>,
               Shared<Tensor>, Shared<NameAttrList>, Shared<Placeholder>, Shared<Ints>, Shared<Strings>, Shared<Floats>,
               Shared<Bools>, Shared<DTypes>, Shared<Shapes>, Shared<Tensors>, Shared<Funcs>>
      v_;
};

template <typename T>
const T* AttrValue::get() const {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, int64_t> || std::is_same_v<T, float> ||
                std::is_same_v<T, DType>) {
    return std::get_if<T>(&v_);
  } else {
    const auto* p = std::get_if<Shared<T>>(&v_);
    if (p != nullptr) return p->get();
    if constexpr (std::is_same_v<T, Ints> || std::is_same_v<T, Strings> || std::is_same_v<T, Floats> ||
                  std::is_same_v<T, Bools> || std::is_same_v<T, DTypes> || std::is_same_v<T, Shapes> ||
                  std::is_same_v<T, Tensors> || std::is_same_v<T, Funcs>) {
      static const T kEmpty;
      if (std::holds_alternative<EmptyList>(v_)) return &kEmpty;
    }
    return nullptr;
  }
}

// The attributes of a node, sorted by name. Names are interned: they live as long as the process.
class AttrMap {
 public:
  using Entry = std::pair<absl::string_view, AttrValue>;

  const AttrValue* Find(absl::string_view name) const;
  bool Has(absl::string_view name) const { return Find(name) != nullptr; }
  void Set(absl::string_view name, AttrValue value);
  void Erase(absl::string_view name);
  // NotFound if there is none, InvalidArgument if it is of another type. Also takes int (from int64_t, range-checked).
  template <typename T>
  Status Get(absl::string_view name, T* out) const;

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  size_t size() const { return entries_.size(); }
  void reserve(size_t n) { entries_.reserve(n); }

 private:
  std::vector<Entry> entries_;
};

// A view of `s` that lives as long as the process. Thread-safe.
absl::string_view Intern(absl::string_view s);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_ATTR_VALUE_H_
