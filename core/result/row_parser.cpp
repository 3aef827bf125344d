// SPDX-License-Identifier: Apache-2.0
#include "core/result/row_parser.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

#include "core/result/json_text.h"

namespace rdmameter {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Every function goes past what it reads and returns false where the text is not plain. What a
/// value held before is overwritten, not freed: to free a number in an array takes the library
/// longer than to parse it takes this.
class PlainParser {
 public:
  PlainParser(std::string_view text, JsonKeys left_out)
      : at_(text.data()), end_(at_ + text.size()), left_out_(left_out) {}

  bool whole(Json& into) {
    if (!value(into, 0)) return false;
    skip_space();
    return at_ == end_;
  }

 private:
  void skip_space() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  bool take(char c) {
    skip_space();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  bool value(Json& into, std::size_t depth) {
    skip_space();
    if (at_ == end_ || depth > kMaxJsonDepth) return false;
    if (is_digit(*at_)) return number(into);
    switch (*at_) {
      case '{':
        return object(into, depth);
      case '[':
        return array(into, depth);
      case '"':
        if (!into.is_string()) into = std::string();
        return string(into.get_ref<std::string&>());
      case 't':
        return literal("true", true, into);
      case 'f':
        return literal("false", false, into);
      case 'n':
        return literal("null", nullptr, into);
      default:
        return false;
    }
  }

  /// Of several members of one key the last one counts, as the library has it.
  bool object(Json& into, std::size_t depth) {
    if (!into.is_object()) into = Json::object();
    auto& members = into.get_ref<Json::object_t&>();
    const auto end_with = [&members](std::size_t count) {
      while (members.size() > count) members.pop_back();
    };
    if (!take('{')) return false;
    if (take('}')) {
      end_with(0);
      return true;
    }
    std::size_t alike = 0;  // members whose keys were there before, in this order
    bool all_are = true;
    do {
      skip_space();
      if (at_ == end_ || *at_ != '"' || !string(key_) || !take(':')) return false;
      const bool is = all_are && alike < members.size() && at(members, alike).first == key_;
      if (all_are && !is) end_with(alike);
      all_are = is;
      Json& member = is ? at(members, alike++).second : into[key_];
      if (std::ranges::find(left_out_, key_) != left_out_.end() ? !passed(member, depth + 1)
                                                                : !value(member, depth + 1))
        return false;
    } while (take(','));
    if (all_are) end_with(alike);
    return take('}');
  }

  /// What is left out.
  bool passed(Json& into, std::size_t depth) {
    skip_space();
    if (at_ == end_ || (*at_ != '{' && *at_ != '[')) return value(into, depth);
    const std::size_t bytes = end_of_nested({at_, static_cast<std::size_t>(end_ - at_)}, 0);
    if (bytes == std::string_view::npos) return false;
    at_ += bytes;
    into = nullptr;
    return true;
  }

  static Json::object_t::value_type& at(Json::object_t& members, std::size_t i) {
    return members.begin()[static_cast<std::ptrdiff_t>(i)];
  }

  bool array(Json& into, std::size_t depth) {
    if (!into.is_array()) into = Json::array();
    auto& elements = into.get_ref<Json::array_t&>();
    if (!take('[')) return false;
    std::size_t count = 0;
    if (!take(']')) {
      do {
        if (count == elements.size()) elements.emplace_back();
        if (!value(elements[count++], depth + 1)) return false;
      } while (take(','));
      if (!take(']')) return false;
    }
    elements.resize(count);
    return true;
  }

  /// At its opening quote.
  bool string(std::string& into) {
    const char* const begin = ++at_;
    for (; at_ < end_ && *at_ != '"'; ++at_)
      if (const auto c = static_cast<unsigned char>(*at_); c < 0x20 || c > 0x7e || c == '\\')
        return false;
    if (at_ == end_) return false;
    into.assign(begin, at_++);
    return true;
  }

  bool number(Json& into) {
    constexpr std::ptrdiff_t kMaxDigits = 18;  // below 2^63
    const char* const begin = at_;
    std::uint64_t whole = 0;
    for (; at_ < end_ && is_digit(*at_) && at_ - begin < kMaxDigits; ++at_)
      whole = 10 * whole + static_cast<std::uint64_t>(*at_ - '0');
    if (at_ < end_ && is_digit(*at_)) return false;
    if (*begin == '0' && at_ - begin > 1) return false;
    if (at_ < end_ && (*at_ == '.' || *at_ == 'e' || *at_ == 'E')) return fraction(begin, into);
    if (into.is_number_unsigned())
      into.get_ref<std::uint64_t&>() = whole;
    else
      into = whole;
    return true;
  }

  bool fraction(const char* begin, Json& into) {
    const bool bare_point = *at_ == '.' && (at_ + 1 == end_ || !is_digit(at_[1]));
    double number = 0;
    const auto [rest, error] = std::from_chars(begin, end_, number);
    if (bare_point || error != std::errc()) return false;
    at_ = rest;
    into = number;
    return true;
  }

  bool literal(std::string_view text, const Json& value, Json& into) {
    if (!std::string_view(at_, end_).starts_with(text)) return false;
    at_ += text.size();
    into = value;
    return true;
  }

  const char* at_;
  const char* const end_;
  const JsonKeys left_out_;
  std::string key_;  ///< the latest
};

}  // namespace

bool parse_plain_json(std::string_view text, Json& into, JsonKeys left_out) {
  return PlainParser(text, left_out).whole(into);
}

void RowParser::parse_text(std::string_view text, Json& into) const {
  if (!parse_plain_json(text, into, left_out_))
    into = Json::parse(text.data(), text.data() + text.size());
}

const Json& RowParser::parse(std::string_view row) {
  latest_ = 1 - latest_;
  texts_[latest_] = row;
  std::vector<Member> members = members_of(texts_[latest_]);
  const std::vector<Member> before = std::exchange(members_, {});  // none, if this throws
  const bool alike =
      !members.empty() && std::ranges::equal(members, before, {}, &Member::key, &Member::key);
  if (alike)
    update(members, before);
  else
    parse_text(row, row_);
  if (row_.size() == members.size()) members_ = std::move(members);
  return row_;
}

/// None: it is no object, or does not end as one.
std::vector<RowParser::Member> RowParser::members_of(std::string_view row) const {
  std::vector<Member> members;
  members.reserve(members_.size());
  JsonParts parts(row);
  const bool whole = parts.each('{', '}', [&] {
    Member member{.key = parts.value(), .value = {}};
    if (!member.key.starts_with('"') || !parts.take(':')) return false;
    member.value = parts.value();
    members.push_back(member);
    return !member.value.empty();
  });
  return whole && parts.at_end() ? members : std::vector<Member>();
}

void RowParser::update(const std::vector<Member>& members, const std::vector<Member>& before) {
  const auto values = row_.get_ref<Json::object_t&>().begin();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto& [key, value] = members[i];
    if (value == before[i].value) continue;
    Json& into = values[static_cast<std::ptrdiff_t>(i)].second;
    const bool nested = value.starts_with('{') || value.starts_with('[');
    if (nested && std::ranges::find(left_out_, key.substr(1, key.size() - 2)) != left_out_.end())
      into = nullptr;
    else
      parse_text(value, into);
  }
}

}  // namespace rdmameter
