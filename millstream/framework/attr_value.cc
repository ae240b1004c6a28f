// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/attr_value.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "absl/container/node_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "millstream/base/mutex.h"
#include "millstream/framework/intern.h"

namespace millstream {
namespace {

bool TensorsEqual(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (a.SharesBufferWith(b) && a.raw() == b.raw()) return true;
  if (IsPlainBytes(a.dtype())) return std::memcmp(a.raw(), b.raw(), a.ByteSize()) == 0;
  if (a.dtype() != DType::kString) return false;
  return std::equal(a.flat<std::string>().begin(), a.flat<std::string>().end(), b.flat<std::string>().begin());
}

bool FuncsEqual(const NameAttrList& a, const NameAttrList& b) { return a.name == b.name && a.attrs == b.attrs; }

template <typename T>
bool BoxedEqual(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, Tensor>)
    return TensorsEqual(a, b);
  else if constexpr (std::is_same_v<T, NameAttrList>)
    return FuncsEqual(a, b);
  else if constexpr (std::is_same_v<T, AttrValue::Placeholder>)
    return a.name == b.name;
  else if constexpr (std::is_same_v<T, AttrValue::Tensors>)
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), TensorsEqual);
  else if constexpr (std::is_same_v<T, AttrValue::Funcs>)
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), FuncsEqual);
  else
    return a == b;
}

template <typename T>
struct IsShared : std::false_type {};
template <typename T>
struct IsShared<std::shared_ptr<T>> : std::true_type {};

template <typename T>
std::string Show(const T& v) {
  if constexpr (std::is_same_v<T, bool>)
    return v ? "true" : "false";
  else if constexpr (std::is_same_v<T, DType>)
    return DTypeName(v);
  else if constexpr (std::is_same_v<T, std::string>)
    return absl::StrCat("\"", absl::CEscape(v), "\"");
  else if constexpr (std::is_same_v<T, PartialShape>)
    return v.ToString();
  else if constexpr (std::is_same_v<T, Tensor>)
    return v.DebugString();
  else if constexpr (std::is_same_v<T, NameAttrList>)
    return v.name;
  else if constexpr (std::is_same_v<T, AttrValue::Placeholder>)
    return absl::StrCat("$", v.name);
  else
    return absl::StrCat(v);
}

template <typename T>
std::string ShowList(const std::vector<T>& values) {
  std::vector<std::string> shown;
  for (const auto& v : values) shown.push_back(Show<T>(v));
  return absl::StrCat("[", absl::StrJoin(shown, ", "), "]");
}

}  // namespace

std::string AttrValue::kind() const {
  static constexpr const char* kKinds[] = {
      "",           "bool",       "int",         "float",        "type",      "list()",       "string",
      "shape",      "tensor",     "func",        "placeholder",  "list(int)", "list(string)", "list(float)",
      "list(bool)", "list(type)", "list(shape)", "list(tensor)", "list(func)"};
  return kKinds[v_.index()];
}

std::string AttrValue::ToString() const {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return "<unset>";
        else if constexpr (std::is_same_v<T, EmptyList>)
          return "[]";
        else if constexpr (IsShared<T>::value) {
          using B = std::remove_const_t<typename T::element_type>;
          if constexpr (std::is_same_v<B, std::string> || std::is_same_v<B, PartialShape> ||
                        std::is_same_v<B, Tensor> || std::is_same_v<B, NameAttrList> ||
                        std::is_same_v<B, Placeholder>) {
            return Show<B>(*v);
          } else {
            return ShowList(*v);
          }
        } else
          return Show<T>(v);
      },
      v_);
}

bool operator==(const AttrValue& a, const AttrValue& b) {
  if (a.v_.index() != b.v_.index()) {
    // An empty list equals an empty list of any kind.
    const auto empty_list = [](const AttrValue& v) {
      return std::holds_alternative<AttrValue::EmptyList>(v.v_) || v.ToString() == "[]";
    };
    return a.kind().starts_with("list") && b.kind().starts_with("list") && empty_list(a) && empty_list(b);
  }
  return std::visit(
      [&](const auto& x) -> bool {
        using T = std::decay_t<decltype(x)>;
        const auto& y = std::get<T>(b.v_);
        if constexpr (std::is_same_v<T, std::monostate> || std::is_same_v<T, AttrValue::EmptyList>)
          return true;
        else if constexpr (IsShared<T>::value)
          return x == y || BoxedEqual(*x, *y);
        else
          return x == y;
      },
      a.v_);
}

const AttrValue* AttrMap::Find(absl::string_view name) const {
  // Few entries: a linear search beats a binary one.
  for (const Entry& e : entries_) {
    if (e.first == name) return &e.second;
  }
  return nullptr;
}

void AttrMap::Set(absl::string_view name, AttrValue value) {
  auto it = std::lower_bound(entries_.begin(), entries_.end(), name,
                             [](const Entry& e, absl::string_view n) { return e.first < n; });
  if (it != entries_.end() && it->first == name)
    it->second = std::move(value);
  else
    entries_.insert(it, {Intern(name), std::move(value)});
}

void AttrMap::Erase(absl::string_view name) {
  std::erase_if(entries_, [&](const Entry& e) { return e.first == name; });
}

namespace {

Status WrongKind(absl::string_view name, const AttrValue& value, absl::string_view expected) {
  return errors::InvalidArgument("Attr '", name, "' has value ", value.ToString(), " of kind ", value.kind(),
                                 ", expected ", expected);
}

}  // namespace

#define MILLSTREAM_ATTR_GET(T, KIND)                                                        \
  template <>                                                                               \
  Status AttrMap::Get<T>(absl::string_view name, T * out) const {                           \
    const AttrValue* value = Find(name);                                                    \
    if (value == nullptr) return errors::NotFound("No attr named '", name, "' in NodeDef"); \
    const T* typed = value->get<T>();                                                       \
    if (typed == nullptr) return WrongKind(name, *value, KIND);                             \
    *out = *typed;                                                                          \
    return OkStatus();                                                                      \
  }
MILLSTREAM_ATTR_GET(bool, "bool")
MILLSTREAM_ATTR_GET(int64_t, "int")
MILLSTREAM_ATTR_GET(float, "float")
MILLSTREAM_ATTR_GET(DType, "type")
MILLSTREAM_ATTR_GET(std::string, "string")
MILLSTREAM_ATTR_GET(PartialShape, "shape")
MILLSTREAM_ATTR_GET(Tensor, "tensor")
MILLSTREAM_ATTR_GET(NameAttrList, "func")
MILLSTREAM_ATTR_GET(std::vector<int64_t>, "list(int)")
MILLSTREAM_ATTR_GET(std::vector<std::string>, "list(string)")
MILLSTREAM_ATTR_GET(std::vector<float>, "list(float)")
MILLSTREAM_ATTR_GET(std::vector<bool>, "list(bool)")
MILLSTREAM_ATTR_GET(std::vector<DType>, "list(type)")
MILLSTREAM_ATTR_GET(std::vector<PartialShape>, "list(shape)")
MILLSTREAM_ATTR_GET(std::vector<Tensor>, "list(tensor)")
MILLSTREAM_ATTR_GET(std::vector<NameAttrList>, "list(func)")
#undef MILLSTREAM_ATTR_GET

template <>
Status AttrMap::Get<int>(absl::string_view name, int* out) const {
  int64_t wide = 0;
  RETURN_IF_ERROR(Get(name, &wide));
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    return errors::InvalidArgument("Attr '", name, "' has value ", wide, " out of range for an int32");
  }
  *out = static_cast<int>(wide);
  return OkStatus();
}

namespace {

constexpr int64_t kMaxInternedBytes = int64_t{64} << 20;

struct InternTable {
  Mutex mu;
  absl::node_hash_set<std::string> strings ABSL_GUARDED_BY(mu);
  std::atomic<int64_t> bytes{0};
};

InternTable& Interned() {
  static auto* table = new InternTable;
  return *table;
}

}  // namespace

absl::string_view Intern(absl::string_view s) {
  InternTable& table = Interned();
  MutexLock lock(table.mu);
  const auto it = table.strings.find(s);
  if (it != table.strings.end()) return *it;
  table.bytes.fetch_add(static_cast<int64_t>(s.size() + sizeof(std::string)), std::memory_order_relaxed);
  return *table.strings.emplace(s).first;
}

Status CheckMayIntern(absl::string_view s) {
  InternTable& table = Interned();
  if (table.bytes.load(std::memory_order_relaxed) < kMaxInternedBytes) return OkStatus();
  MutexLock lock(table.mu);
  if (table.strings.contains(s)) return OkStatus();
  return errors::ResourceExhausted("Too many different names of attributes and devices in this process");
}

}  // namespace millstream
