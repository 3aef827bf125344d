// SPDX-License-Identifier: Apache-2.0
#include "core/result/row_parser.h"

#include <algorithm>
#include <utility>

#include "core/result/json_parts.h"
#include "core/result/plain_json.h"

namespace rdmameter {
namespace {

bool is_nested(std::string_view value) {
  return value.starts_with('{') || value.starts_with('[');
}

}  // namespace

void RowParser::parse_text(std::string_view text, Json& into) const {
  if (!parse_plain_json(text, into, left_out_))
    into = Json::parse(text.data(), text.data() + text.size());
}

const nlohmann::ordered_json& RowParser::parse(std::string_view row) {
  latest_ = 1 - latest_;
  texts_[latest_] = row;
  std::vector<Member> members = members_of(texts_[latest_]);
  const std::vector<Member> before = std::exchange(members_, {});  // none, if this throws
  const bool alike =
      !members.empty() && std::ranges::equal(members, before, {}, &Member::key, &Member::key);
  if (alike)
    update(members, before);
  else if (!members.empty())
    build(members);
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
  for (std::size_t i = 0; i < members.size(); ++i)
    if (members[i].value != before[i].value)
      parse_member(members[i], values[static_cast<std::ptrdiff_t>(i)].second);
}

void RowParser::build(const std::vector<Member>& members) {
  row_ = Json::object();
  Json key;
  for (const Member& member : members) {
    parse_text(member.key, key);
    parse_member(member, row_[key.get<std::string>()]);
  }
}

void RowParser::parse_member(const Member& member, Json& into) const {
  const std::string_view key = member.key.substr(1, member.key.size() - 2);
  if (is_nested(member.value) && std::ranges::find(left_out_, key) != left_out_.end())
    into = nullptr;
  else
    parse_text(member.value, into);
}

}  // namespace rdmameter
