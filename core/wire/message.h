// SPDX-License-Identifier: Apache-2.0
// Messages of a peer as structs: each has one list of fields (core/result/field_list.h), by which
// it is written and read with types and ranges checked. What comes from a peer passes here once and
// is trusted afterwards.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/result/field_list.h"
#include "core/wire/channel.h"

namespace rdmameter {

/// @param type  what the receiver tells messages apart by; empty: it is a part of one
template <class Data>
Json make_message(std::string_view type, const Data& data) {
  Json message = write_fields(data, FieldForm::message);
  if (!type.empty()) message["type"] = type;
  return message;
}

/// A message without fields.
inline Json make_message(std::string_view type) {
  return {{"type", type}};
}

/// A key as an argument of a template.
template <std::size_t kBytes>
struct Key {
  consteval Key(const char (&key)[kBytes]) { std::copy_n(key, kBytes, text); }
  char text[kBytes]{};
};

/// A message of one field.
template <Key kKey, class Value, FieldRule kRule = FieldRule{}>
struct OneField {
  Value value{};
};

template <Key kKey, class Value, FieldRule kRule>
void list_fields(auto& fields, OneField<kKey, Value, kRule>& message) {
  fields(kKey.text, message.value, kRule);
}
template <Key kKey, class Value, FieldRule kRule>
void list_fields(auto& fields, const OneField<kKey, Value, kRule>& message) {
  fields(kKey.text, message.value, kRule);
}

/// Keys that the list does not name are not looked at.
/// @throws MeasurementError  a key is missing, of another type or out of range: the text names it
template <class Data>
Data read_message(const Json& message) {
  return read_fields<Data>(CheckedJson(message, "", Reading::message));
}

/// A message as text, where what carries it knows nothing of JSON. Text that is not UTF-8 goes with
/// U+FFFD in its place.
template <class Data>
std::string message_text(const Data& data) {
  return make_message("", data).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Reads a message_text() of any length.
/// @throws MeasurementError  as read_message(), parse_message()
template <class Data>
Data read_message_text(std::string_view text) {
  return read_message<Data>(
      parse_message(text, "the peer", std::numeric_limits<std::size_t>::max()));
}

/// @throws MeasurementError  it has none
std::string type_of(const Json& message);

/// Facts of the peer's for people to read, whatever they are: all texts and keys made printable.
Json printable_json(const Json& facts);

}  // namespace rdmameter
