// SPDX-License-Identifier: Apache-2.0
#include "core/result/row_parser.h"

#include <algorithm>
#include <utility>

#include "core/result/json_parts.h"
#include "core/result/plain_json.h"
#include "core/result/strip_values.h"

namespace rdmameter {
namespace {

bool is_nested(std::string_view value) {
  return value.starts_with('{') || value.starts_with('[');
}

nlohmann::ordered_json parse_text(std::string_view text) {
  if (auto plain = parse_plain_json(text)) return *std::move(plain);
  return nlohmann::ordered_json::parse(text.data(), text.data() + text.size());
}

}  // namespace

const nlohmann::ordered_json& RowParser::parse(std::string_view row) {
  latest_ = 1 - latest_;
  texts_[latest_] = row;
  std::vector<Member> members = members_of(texts_[latest_]);
  const bool alike =
      !members.empty() && std::ranges::equal(members, members_, {}, &Member::key, &Member::key);
  if (alike)
    update(members);
  else if (!members.empty())
    build(members);
  else
    row_ = parse_text(strip_values(row, left_out_));
  members_ = row_.size() == members.size() ? std::move(members) : std::vector<Member>();
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

void RowParser::update(const std::vector<Member>& members) {
  const auto values = row_.get_ref<Json::object_t&>().begin();
  for (std::size_t i = 0; i < members.size(); ++i)
    if (members[i].value != members_[i].value)
      values[static_cast<std::ptrdiff_t>(i)].second = parsed(members[i]);
}

void RowParser::build(const std::vector<Member>& members) {
  row_ = Json::object();
  for (const Member& member : members)
    row_[parse_text(member.key).get<std::string>()] = parsed(member);
}

nlohmann::ordered_json RowParser::parsed(const Member& member) const {
  if (left_out_.empty() || !is_nested(member.value)) return parse_text(member.value);
  const std::string_view key = member.key.substr(1, member.key.size() - 2);
  if (std::ranges::find(left_out_, key) != left_out_.end()) return nullptr;
  return parse_text(strip_values(member.value, left_out_));
}

}  // namespace rdmameter
