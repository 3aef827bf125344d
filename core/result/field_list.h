// SPDX-License-Identifier: Apache-2.0
// One list of fields for each struct that becomes JSON: it says what is written, what is read and
// checked, and which keys are known. The list of a struct is a function template:
//
//   void list_fields(auto& fields, Is<Data> auto& data) {
//     fields("messages", data.messages);
//     fields("ranks", data.ranks, {.min = 1, .max = kMaxRanks});
//     fields.derived("gbps", [&] { return gbps_of(data); });  // written, never read
//     fields.bulk("histogram", data.histogram);               // not read where only metrics are
//   }
//
// In a file an optional, a bool, an array and a JSON value may be absent: a missing key leaves the
// value as it is, and nothing, false, an empty array and null are not written. A message is whole:
// of an absent optional it holds null. Where complete(data, json) exists, it is called after
// reading, for what no list can check.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/result/checked_json.h"
#include "core/result/json_text.h"
#include "core/result/row.h"

namespace rdmameter {

template <class Data, class Struct>
concept Is = std::same_as<std::remove_const_t<Data>, Struct>;

template <class Value>
concept IsArray = std::same_as<Value, std::vector<typename Value::value_type>>;

/// Room for so many at first: a row has about fifty.
inline constexpr std::size_t kRoomForKeys = 16;

/// The form into which a list is written.
enum class FieldForm : std::uint8_t { file, message };

template <class Data>
Json write_fields(const Data& data, FieldForm form = FieldForm::file);

/// @throws as CheckedJson, naming the key and the reason
template <class Data>
Data read_fields(const CheckedJson& json);

/// The limits of a number (or of each number in an array), of a text's bytes, and of
/// an array's elements.
struct FieldRule {
  std::uint64_t min = 0, max = std::numeric_limits<std::uint64_t>::max();
  std::size_t min_size = 0;
  std::size_t max_size = std::numeric_limits<std::size_t>::max();  ///< a larger array is left out
  bool short_form = false;  ///< a double is written without ".0" where it is whole
};

class FieldWriter {
 public:
  explicit FieldWriter(FieldForm form = FieldForm::file) : form_(form) {
    object_.reserve(kRoomForKeys);
    keys_.reserve(kRoomForKeys);
  }

  template <class Value>
  void operator()(const char* key, const Value& value, const FieldRule& rule = {}) {
    keys_.emplace_back(key);
    if (form_ == FieldForm::message || !absent(value, rule))
      object_.emplace_back(key, to_json(value, rule));
  }
  /// A text of any bytes; its reader must make it printable.
  void any_text(const char* key, const std::string& value) { constant(key, value); }
  /// A value that other functions write as JSON and read.
  void coded(const char* key, const auto& value, const auto& to_json, const auto&) {
    constant(key, to_json(value));
  }
  /// A value of an enum. @param names  of all values, in their order
  void named(const char* key, auto value, const auto& names) {
    constant(key, names.at(static_cast<std::size_t>(value)));
  }
  void constant(const char* key, const auto& value) {
    keys_.emplace_back(key);
    object_.emplace_back(key, value);
  }
  void derived(const char* key, const auto& make) { (*this)(key, make()); }
  /// Large data: not read where only metrics are wanted.
  void bulk(const char* key, const auto& value, const FieldRule& rule = {}) {
    (*this)(key, value, rule);
  }
  /// The keys of an object, among those of this one.
  void beside(const auto& make) { json_.update(make()); }
  /// Writes keys that are no fields. @throws std::logic_error  one is
  void extra(const Json& more);

  Json take() { return std::move(json_); }

 private:
  static bool absent(bool value, const FieldRule&) { return !value; }
  static bool absent(const Json& value, const FieldRule&) { return value.is_null(); }
  template <class Value>
  static bool absent(const Value& value, const FieldRule& rule) {
    if constexpr (requires { value.has_value(); })
      return !value.has_value();
    else if constexpr (IsArray<Value>)
      return value.empty() || value.size() > rule.max_size;
    else
      return false;
  }

  static Json to_json(bool value, const FieldRule&) { return value; }
  static Json to_json(double value, const FieldRule& rule) {
    return rule.short_form ? number_to_json(finite_or_zero(value)) : Json(finite_or_zero(value));
  }
  static Json to_json(const std::string& value, const FieldRule&) { return value; }
  static Json to_json(const Json& value, const FieldRule&) { return value; }
  Json to_json(const NamedCounts& counts, const FieldRule& rule) const;
  Json to_json(const std::unsigned_integral auto& value, const FieldRule&) const {
    return form_ == FieldForm::message ? Json(value) : count_to_json(value);
  }
  /// An enum, or a signed number that is not negative.
  template <class Value>
  requires std::is_enum_v<Value> || std::signed_integral<Value> Json to_json(const Value& value,
                                                                             const FieldRule& rule)
  const { return to_json(static_cast<std::uint64_t>(value), rule); }
  template <class Value>
  Json to_json(const std::optional<Value>& value, const FieldRule& rule) const {
    return value ? to_json(*value, rule) : Json();
  }
  template <class First, class Second>
  Json to_json(const std::pair<First, Second>& pair, const FieldRule& rule) const {
    return Json::array({to_json(pair.first, rule), to_json(pair.second, rule)});
  }
  template <std::ranges::range Values>
  Json to_json(const Values& values, const FieldRule& rule) const {
    Json json = Json::array();
    for (const auto& value : values) json.push_back(to_json(value, rule));
    return json;
  }
  Json to_json(const auto& data, const FieldRule&) const { return write_fields(data, form_); }

  const FieldForm form_;
  Json json_ = Json::object();
  Json::object_t& object_ = json_.get_ref<Json::object_t&>();  ///< a list has each key once
  std::vector<std::string_view> keys_;
};

class FieldReader {
 public:
  explicit FieldReader(const CheckedJson& json) : json_(json), object_(json.object()) {
    keys_.reserve(kRoomForKeys);
  }

  template <class Value>
  void operator()(const char* key, Value& value, const FieldRule& rule = {}) {
    keys_.emplace_back(key);
    if (quickly(key, value, rule)) return;
    if constexpr (requires { value.has_value(); })
      read(json_.at(key), value.emplace(), rule);
    else
      read(json_.at(key), value, rule);
  }
  void any_text(const char* key, std::string& value) {
    keys_.emplace_back(key);
    value = json_.at(key).text();
  }
  /// @param from  of a CheckedJson; or of a text, which gives an optional
  void coded(const char* key, auto& value, const auto&, const auto& from) {
    keys_.emplace_back(key);
    const CheckedJson json = json_.at(key);
    if constexpr (requires { from(json); }) {
      value = from(json);
    } else {
      const auto parsed = from(json.text());
      if (!parsed) json.fail("is not valid");
      value = *parsed;
    }
  }
  template <class Enum>
  void named(const char* key, Enum& value, const auto& names) {
    keys_.emplace_back(key);
    const auto found = object_.find(std::string_view(key));
    std::string_view text;
    if (found != object_.end() && found->is_string()) text = found->get_ref<const std::string&>();
    const auto name = std::ranges::find(names, text);
    if (name == names.end()) json_.at(key).not_one_of(names);
    value = static_cast<Enum>(name - names.begin());
  }
  void constant(const char* key, const auto& value) {
    keys_.emplace_back(key);
    if (const auto found = object_.find(std::string_view(key));
        found == object_.end() || *found != value)
      json_.at(key).require(value);
  }
  void derived(const char* key, const auto&) { keys_.emplace_back(key); }
  void bulk(const char* key, auto& value, const FieldRule& rule = {}) {
    if (json_.has_bulk()) return (*this)(key, value, rule);
    keys_.emplace_back(key);
  }
  void beside(const auto&) {}
  /// Adds the keys that are no fields. Of JSON without bulk, only those that hold no
  /// object or array.
  void extra(Json& more) const;

 private:
  /// The fast way for a correct value, which makes no path for an error.
  /// @return  false: it is not, or not of these types
  template <class Value>
  bool quickly(const char* key, Value& value, const FieldRule& rule) const {
    const auto found = object_.find(std::string_view(key));
    const bool there = found != object_.end();
    if constexpr (std::same_as<Value, std::uint64_t> || std::same_as<Value, double>) {
      if (!there || !found->is_number_unsigned()) return false;
      const auto number = found->template get<std::uint64_t>();
      if (number < rule.min || number > rule.max) return false;
      value = static_cast<Value>(number);
      return true;
    } else if constexpr (std::same_as<Value, std::string>) {
      if (json_.of_peer() || !there || !found->is_string()) return false;
      const auto& text = found->template get_ref<const std::string&>();
      if (text.size() < rule.min_size || text.size() > rule.max_size) return false;
      value = text;
      return true;
    } else {
      if (!json_.of_peer()) return !is_needed<Value> && !there;
      return is_optional<Value> && (!there || found->is_null());
    }
  }
  template <class Value>
  static constexpr bool is_optional = requires(Value value) {
    value.has_value();
  };
  template <class Value>
  static constexpr bool is_needed = !(is_optional<Value> || std::same_as<Value, bool> ||
                                      std::same_as<Value, Json> || IsArray<Value>);

  /// Sizes are the array's.
  static FieldRule of_element(const FieldRule& rule) { return {.min = rule.min, .max = rule.max}; }

  static void read(const CheckedJson& json, bool& value, const FieldRule&) { value = json.flag(); }
  static void read(const CheckedJson& json, double& value, const FieldRule& rule);
  static void read(const CheckedJson& json, std::string& value, const FieldRule& rule) {
    value = json.text_within(rule.min_size, rule.max_size);
  }
  static void read(const CheckedJson& json, Json& value, const FieldRule&) {
    value = json.object();
  }
  static void read(const CheckedJson& json, NamedCounts& counts, const FieldRule& rule);
  template <std::integral Value>
  static void read(const CheckedJson& json, Value& value, const FieldRule& rule) {
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<Value>::max());
    value = static_cast<Value>(json.count_within(rule.min, std::min(rule.max, kMax)));
  }
  /// @param rule  its `max` is the last value
  template <class Value>
  requires std::is_enum_v<Value>
  static void read(const CheckedJson& json, Value& value, const FieldRule& rule) {
    value = static_cast<Value>(json.count_within(rule.min, rule.max));
  }
  template <class Value>
  static void read(const CheckedJson& json, std::optional<Value>& value, const FieldRule& rule) {
    if (!json.null()) read(json, value.emplace(), rule);
  }
  template <class First, class Second>
  static void read(const CheckedJson& json, std::pair<First, Second>& pair, const FieldRule& rule) {
    if (json.array_size() != 2) json.fail("is not a pair");
    read(json.at(0), pair.first, rule);
    read(json.at(1), pair.second, rule);
  }
  template <class Value>
  static void read(const CheckedJson& json, std::vector<Value>& values, const FieldRule& rule) {
    const std::size_t size = json.array_size_within(rule.min_size, rule.max_size);
    values.clear();
    // One after the other: what is no element must not have made room for all.
    for (std::size_t i = 0; i < size; ++i)
      read(json.at(i), values.emplace_back(), of_element(rule));
  }
  template <class Value>
  static void read(const CheckedJson& json, std::set<Value>& values, const FieldRule& rule) {
    for (std::size_t i = 0; i < json.array_size(); ++i) {
      Value value;
      read(json.at(i), value, rule);
      values.insert(std::move(value));
    }
  }
  template <class Value, std::size_t N>
  static void read(const CheckedJson& json, std::array<Value, N>& values, const FieldRule& rule) {
    json.array_size_within(N, N);
    for (std::size_t i = 0; i < N; ++i) read(json.at(i), values[i], rule);
  }
  template <class Key, class Value>
  static void read(const CheckedJson& json, std::map<Key, Value>& values, const FieldRule& rule) {
    for (std::size_t i = 0; i < json.array_size(); ++i) {
      std::pair<Key, Value> pair;
      read(json.at(i), pair, rule);
      values.insert(std::move(pair));
    }
  }
  template <class Data>
  static void read(const CheckedJson& json, Data& data, const FieldRule&) {
    data = read_fields<Data>(json);
  }

  const CheckedJson& json_;
  const Json& object_;  ///< the same
  std::vector<std::string_view> keys_;
};

template <class Data>
Json write_fields(const Data& data, FieldForm form) {
  FieldWriter writer(form);
  list_fields(writer, data);
  return writer.take();
}

template <class Data>
Data read_fields(const CheckedJson& json) {
  Data data;
  FieldReader reader(json);
  list_fields(reader, data);
  if constexpr (requires { complete(data, json); }) complete(data, json);
  return data;
}

}  // namespace rdmameter
