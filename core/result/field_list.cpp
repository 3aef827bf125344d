// SPDX-License-Identifier: Apache-2.0
#include "core/result/field_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

namespace rdmameter {

void FieldWriter::extra(const Json& more) {
  if (more.is_null()) return;
  for (const auto& [key, value] : more.items()) {
    if (std::ranges::find(keys_, key) != keys_.end())
      throw std::logic_error("`extra` repeats the key " + key);
    json_[key] = value;
  }
}

Json FieldWriter::to_json(const NamedCounts& counts, const FieldRule& rule) const {
  Json json = Json::object();
  for (const auto& [name, count] : counts) json[name] = to_json(count, rule);
  return json;
}

void FieldReader::extra(Json& more) const {
  std::size_t next = 0;  // keys stand in the order of the list, mostly
  for (const auto& [key, value] : object_.items()) {
    if (next < keys_.size() && keys_[next] == key) {
      ++next;
      continue;
    }
    const auto found = std::ranges::find(keys_, key);
    if (found != keys_.end())
      next = static_cast<std::size_t>(found - keys_.begin()) + 1;
    else if (json_.has_bulk() || !value.is_structured())
      more[key] = value;
  }
}

/// Rounding may put a mean of equal numbers, or an index, a little beyond its maximum.
void FieldReader::read(const CheckedJson& json, double& value, const FieldRule& rule) {
  constexpr double kRounding = 1e-9;
  const auto max = static_cast<double>(rule.max);
  value = json.not_negative();
  if (rule.max == FieldRule().max) return;
  if (value > max * (1 + kRounding)) json.fail(fmt::format("is {}, greater than {}", value, max));
  value = std::min(value, max);
}

void FieldReader::read(const CheckedJson& json, NamedCounts& counts, const FieldRule& rule) {
  for (const auto& [name, value] : json.object().items())
    counts.emplace_back(name, json.at(name).count_within(rule.min, rule.max));
}

}  // namespace rdmameter
