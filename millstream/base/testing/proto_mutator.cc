// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/testing/proto_mutator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace millstream::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int kMaxDepth = 10;

// All messages in `message`, itself first.
template <typename M>
void Collect(M* message, int depth, std::vector<M*>* out) {
  out->push_back(message);
  if (depth == kMaxDepth) return;
  const Reflection* reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if constexpr (std::is_const_v<M>) {
      if (!field->is_repeated()) Collect(&reflection->GetMessage(*message, field), depth + 1, out);
      for (int i = 0; field->is_repeated() && i < reflection->FieldSize(*message, field); ++i) {
        Collect(&reflection->GetRepeatedMessage(*message, field, i), depth + 1, out);
      }
    } else {
      if (!field->is_repeated()) Collect(reflection->MutableMessage(message, field), depth + 1, out);
      for (int i = 0; field->is_repeated() && i < reflection->FieldSize(*message, field); ++i) {
        Collect(reflection->MutableRepeatedMessage(message, field, i), depth + 1, out);
      }
    }
  }
}

}  // namespace

int64_t ProtoMutator::AnyInteger() {
  static constexpr int64_t kFar[] = {INT64_MAX, INT64_MIN,        INT32_MAX, INT32_MIN, INT64_MAX - 1,
                                     1 << 20,   int64_t{1} << 40, -1000,     65536,     UINT32_MAX};
  if (Below(4) == 0) return kFar[Below(std::size(kFar))];
  if (Below(8) == 0) return static_cast<int64_t>(uint64_t{Next()} << 32 | Next());
  return Below(12) - 2;
}

double ProtoMutator::AnyReal() {
  using Limits = std::numeric_limits<double>;
  static constexpr double kReals[] = {
      0, 1, -1, 0.5, 1e30, -1e-30, Limits::infinity(), Limits::quiet_NaN(), Limits::max(), Limits::denorm_min()};
  return kReals[Below(std::size(kReals))];
}

std::string ProtoMutator::AnyString(const std::string& old, uint8_t mask) {
  switch (Below(8)) {
    case 0:
      return "";
    case 1:
      return old.substr(0, static_cast<size_t>(Below(static_cast<int>(old.size()) + 1)));
    case 2:
      return old + ":" + std::to_string(Below(3));
    case 3:
      return "^" + old.substr(0, old.find(':'));
    case 4: {
      std::string changed = old + static_cast<char>(Next() & mask);
      changed[static_cast<size_t>(Below(static_cast<int>(changed.size())))] = static_cast<char>(Next() & mask);
      return changed;
    }
    default:
      break;
  }
  if (words_->empty() || Below(2) == 0) {  // a name that stands somewhere else
    for (int attempt = 0; attempt < 20 && !donors_.empty(); ++attempt) {
      const Message& donor = *donors_[static_cast<size_t>(Below(static_cast<int>(donors_.size())))];
      const FieldDescriptor* field = donor.GetDescriptor()->field_count() == 0
                                         ? nullptr
                                         : donor.GetDescriptor()->field(Below(donor.GetDescriptor()->field_count()));
      if (field == nullptr || field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) continue;
      if (mask < 0x80 && field->type() != FieldDescriptor::TYPE_STRING) continue;  // bytes need not be UTF-8
      if (!field->is_repeated()) return donor.GetReflection()->GetString(donor, field);
      const int count = donor.GetReflection()->FieldSize(donor, field);
      if (count > 0) return donor.GetReflection()->GetRepeatedString(donor, field, Below(count));
    }
  }
  return words_->empty() ? "a" : (*words_)[static_cast<size_t>(Below(static_cast<int>(words_->size())))];
}

void ProtoMutator::SetScalar(Message* message, const Field* field, int index) {
  const Reflection* r = message->GetReflection();
  const auto set = [&](auto single, auto repeated, auto value) {
    if (field->is_repeated()) {
      (r->*repeated)(message, field, index, value);
    } else {
      (r->*single)(message, field, value);
    }
  };
  switch (field->cpp_type()) {
    case Field::CPPTYPE_INT32:
      return set(&Reflection::SetInt32, &Reflection::SetRepeatedInt32, static_cast<int32_t>(AnyInteger()));
    case Field::CPPTYPE_INT64:
      return set(&Reflection::SetInt64, &Reflection::SetRepeatedInt64, AnyInteger());
    case Field::CPPTYPE_UINT32:
      return set(&Reflection::SetUInt32, &Reflection::SetRepeatedUInt32, static_cast<uint32_t>(AnyInteger()));
    case Field::CPPTYPE_UINT64:
      return set(&Reflection::SetUInt64, &Reflection::SetRepeatedUInt64, static_cast<uint64_t>(AnyInteger()));
    case Field::CPPTYPE_DOUBLE:
      return set(&Reflection::SetDouble, &Reflection::SetRepeatedDouble, AnyReal());
    case Field::CPPTYPE_FLOAT: {
      const double value = AnyReal();
      return set(&Reflection::SetFloat, &Reflection::SetRepeatedFloat,
                 static_cast<float>(std::isfinite(value) ? std::clamp(value, -3e38, 3e38) : value));
    }
    case Field::CPPTYPE_BOOL:
      return set(&Reflection::SetBool, &Reflection::SetRepeatedBool, Below(2) == 0);
    case Field::CPPTYPE_ENUM: {
      const auto* type = field->enum_type();
      const int value = Below(16) == 0 ? static_cast<int>(Next()) : type->value(Below(type->value_count()))->number();
      return set(&Reflection::SetEnumValue, &Reflection::SetRepeatedEnumValue, value);
    }
    case Field::CPPTYPE_STRING: {
      const std::string old =
          field->is_repeated() ? r->GetRepeatedString(*message, field, index) : r->GetString(*message, field);
      // Strings that are not UTF-8 are refused by the parser.
      std::string value = AnyString(old, field->type() == Field::TYPE_BYTES ? 0xff : 0x7f);
      if (field->is_repeated()) return r->SetRepeatedString(message, field, index, std::move(value));
      return r->SetString(message, field, std::move(value));
    }
    case Field::CPPTYPE_MESSAGE:
      return;
  }
}

void ProtoMutator::Fill(Message* message) {
  std::vector<const Message*> alike;
  for (const Message* donor : donors_) {
    if (donor->GetDescriptor() == message->GetDescriptor() && donor != message) alike.push_back(donor);
  }
  if (!alike.empty() && Below(4) != 0) {
    // By way of a copy: a donor may contain the message that is filled.
    std::unique_ptr<Message> copy(message->New());
    copy->CopyFrom(*alike[static_cast<size_t>(Below(static_cast<int>(alike.size())))]);
    message->CopyFrom(*copy);
    return;
  }
  const int fields = message->GetDescriptor()->field_count();
  if (fields > 0) MutateField(message, message->GetDescriptor()->field(Below(fields)));
}

void ProtoMutator::AddElement(Message* message, const Field* field) {
  const Reflection* r = message->GetReflection();
  switch (field->cpp_type()) {
    case Field::CPPTYPE_INT32:
      r->AddInt32(message, field, 0);
      break;
    case Field::CPPTYPE_INT64:
      r->AddInt64(message, field, 0);
      break;
    case Field::CPPTYPE_UINT32:
      r->AddUInt32(message, field, 0);
      break;
    case Field::CPPTYPE_UINT64:
      r->AddUInt64(message, field, 0);
      break;
    case Field::CPPTYPE_DOUBLE:
      r->AddDouble(message, field, 0);
      break;
    case Field::CPPTYPE_FLOAT:
      r->AddFloat(message, field, 0);
      break;
    case Field::CPPTYPE_BOOL:
      r->AddBool(message, field, false);
      break;
    case Field::CPPTYPE_ENUM:
      r->AddEnumValue(message, field, 0);
      break;
    case Field::CPPTYPE_STRING:
      r->AddString(message, field, "");
      break;
    case Field::CPPTYPE_MESSAGE:
      return Fill(r->AddMessage(message, field));
  }
  SetScalar(message, field, r->FieldSize(*message, field) - 1);
}

void ProtoMutator::MutateRepeated(Message* message, const Field* field) {
  const Reflection* r = message->GetReflection();
  const int size = r->FieldSize(*message, field);
  if (size == 0 || Below(3) == 0) return AddElement(message, field);
  const int at = Below(size);
  switch (Below(4)) {
    case 0:
      return r->SwapElements(message, field, at, Below(size));
    case 1:
      r->SwapElements(message, field, at, size - 1);
      return r->RemoveLast(message, field);
    default:
      break;
  }
  if (field->cpp_type() != Field::CPPTYPE_MESSAGE) return SetScalar(message, field, at);
  Fill(r->MutableRepeatedMessage(message, field, at));
}

void ProtoMutator::MutateField(Message* message, const Field* field) {
  const Reflection* r = message->GetReflection();
  if (field->is_repeated()) return MutateRepeated(message, field);
  if (r->HasField(*message, field) && Below(8) == 0) return r->ClearField(message, field);
  if (field->cpp_type() != Field::CPPTYPE_MESSAGE) return SetScalar(message, field, 0);
  Fill(r->MutableMessage(message, field));
}

void ProtoMutator::Mutate(Message* message) {
  std::unique_ptr<Message> before(message->New());
  before->CopyFrom(*message);
  Cross(*before, message);
}

void ProtoMutator::Cross(const Message& other, Message* message) {
  donors_.clear();
  Collect(&other, 0, &donors_);
  std::vector<Message*> places;
  Collect(message, 0, &places);
  for (int attempt = 0; attempt < 10; ++attempt) {
    Message* place = places[static_cast<size_t>(Below(static_cast<int>(places.size())))];
    const auto* type = place->GetDescriptor();
    if (type->field_count() == 0) continue;
    MutateField(place, type->field(Below(type->field_count())));
    break;
  }
  donors_.clear();
}

size_t MutateMessage(uint8_t* data, size_t size, size_t max_size, ProtoMutator* mutator, Message* message,
                     const std::function<bool(ProtoMutator*)>& change, size_t (*raw)(uint8_t*, size_t, size_t)) {
  if (!message->ParseFromArray(data, static_cast<int>(size))) message->Clear();
  if (mutator->Below(16) == 0) return raw(data, size, max_size);
  for (int changes = 1 + mutator->Below(4); changes > 0; --changes) {
    if (mutator->Below(3) == 0 && change != nullptr && change(mutator)) continue;
    mutator->Mutate(message);
  }
  const size_t bytes = message->ByteSizeLong();
  if (bytes > max_size || !message->SerializePartialToArray(data, static_cast<int>(max_size))) return size;
  return bytes;
}

}  // namespace millstream::testing
