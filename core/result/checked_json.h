// SPDX-License-Identifier: Apache-2.0
// JSON from outside, read with every type and range checked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result/json_text.h"

namespace rdmameter {

/// Who wrote it, and what is wanted of it.
enum class Reading : std::uint8_t {
  file,     ///< a user's file
  metrics,  ///< the same, without what is large (FieldReader::bulk())
  message,  ///< of a peer: whole, and with texts that are printable
};

/// A value and the way to it, for the text of errors. Borrows the value.
/// Every function throws UsageError where the value is not what is asked for; of a peer's message
/// MeasurementError, whose text repeats no text of the peer's.
class CheckedJson {
 public:
  /// @param where  begins the text of errors; of a message empty
  CheckedJson(const Json& value, std::string where, Reading reading = Reading::file)
      : value_(&value), where_(std::move(where)), reading_(reading) {}

  CheckedJson at(std::string_view key) const;
  std::optional<CheckedJson> find(std::string_view key) const;  ///< nothing: not there
  CheckedJson at(std::size_t element) const;

  const Json& object() const;
  std::size_t array_size() const;
  std::size_t array_size_within(std::size_t min, std::size_t max) const;
  const std::string& text() const;
  /// A text of so many bytes, of a peer one line that is_printable().
  const std::string& text_within(std::size_t min, std::size_t max) const;
  bool flag() const;
  bool null() const { return value_->is_null(); }
  bool has_bulk() const { return reading_ != Reading::metrics; }
  bool of_peer() const { return reading_ == Reading::message; }
  double not_negative() const;  ///< finite, too

  /// A whole number of 0 or more, or (in a file, from 2^53 on) its digits in a string.
  std::uint64_t count() const;
  std::uint64_t count_within(std::uint64_t min, std::uint64_t max) const;
  /// Does the work of at(element).count_within() faster: it makes the element's path only
  /// for an error.
  std::uint64_t count_at(std::size_t element, std::uint64_t min, std::uint64_t max) const;

  /// Refuses what is none of these texts, of which there are two or more.
  [[noreturn]] void not_one_of(std::span<const std::string_view> names) const;

  void require(std::string_view text) const;
  void require(std::uint64_t number) const;

  [[noreturn]] void fail(std::string_view reason) const;
  /// @param why  begins with ": ", or is empty
  [[noreturn]] void lacks(std::string_view key, std::string_view why = "") const;

 private:
  [[noreturn]] void refuse(const std::string& what) const;

  const Json* value_;
  std::string where_;
  Reading reading_;  ///< also of what is within
};

}  // namespace rdmameter
