// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/defaults.h"

#include <fmt/core.h>

#include <map>

namespace rdmameter {
namespace {

/// As Defaults::Kind has them; the first one states all axes, the others what differs.
constexpr std::array kKinds{"latency", "bandwidth", "load", "ranks"};

/// Of results that do not state them. A new axis has no place here: results that have it state it.
constexpr const char* kOlder = R"(
{"latency": {
"transport": "rc", "size_bytes": 64, "qps": 1, "threads": 1, "sharers": 1,
"bidirectional": false, "peers": 1, "group": "auto", "rate": 10000, "slo_ns": "5x",
"arrivals": "poisson", "mix": "read:70+write:30", "depth": 1, "rx_depth": 512,
"recv_post_list": "auto", "post_list": 1, "signal_every": 1, "inline_bytes": "auto",
"sge": 1, "recv_sge": 1, "sge_layout": "even", "outstanding_reads": "auto", "api": "classic",
"cq": "classic", "cq_sharing": "shared", "cq_depth": "auto", "timestamps": false,
"thread_domain": "auto", "recv": "rq", "connect": "tcp", "mtu_bytes": "auto",
"iterations": 10000, "duration_ns": null, "warmup": 100, "objects": 0, "wait": "auto",
"comp_vector": 0, "verify": false, "loss_timeout_ns": 100000000, "payload": "random",
"interval_ns": "auto", "peak": false, "blame": false, "late_ns": "auto", "service_level": 0,
"traffic_class": 0, "flow_label": 0, "pkey": "auto", "pkey_index": 0, "qp_timeout": 14,
"retry_count": 7, "rnr_retry": 7, "min_rnr_timer": 12, "memory": "host",
"peer_memory": "host", "mr_per_qp": false, "relaxed_ordering": "auto", "odp": false,
"device": "auto", "port_num": "auto", "gid_index": "auto", "core": "auto",
"peer_device": "auto", "peer_port_num": "auto", "peer_gid_index": "auto",
"peer_core": "auto"},
"bandwidth": {
"size_bytes": 65536, "depth": 128, "signal_every": 32, "inline_bytes": 0, "warmup": 256,
"interval_ns": 1000000000},
"load": {
"depth": 128},
"ranks": {
"graph": "mesh", "traffic": "pairs", "pairs": "all", "schedule": "simultaneous", "ranks": 2,
"inflate": 0, "active": "max", "qps_per_edge": 1, "opcode": "send", "seed": 1, "depth": 16,
"iterations": 1000, "warmup": 10}})";

/// Queues of calls, exchanges and collectives are those of bandwidths.
bool has_defaults_of_bandwidth(const Row& row) {
  if (row.bandwidth) return true;
  return row.latency && (row.latency->definition == LatencyData::Definition::call ||
                         row.latency->definition == LatencyData::Definition::exchange ||
                         row.latency->definition == LatencyData::Definition::collective);
}

}  // namespace

Defaults::Defaults(const Json& context) {
  const Json& stated = fact_at(context, "/rdmameter/defaults");
  stated_ = stated.is_null() ? Json::parse(kOlder) : stated;
  index();
}

void Defaults::index() {
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
    of_[kind] = stated_.at(kKinds[0]);
    of_[kind].update(nlohmann::json(stated_.at(kKinds[kind])));
  }
}

const nlohmann::json* Defaults::find(Kind kind, const std::string& key) const {
  const auto found = of(kind).find(key);
  return found == of(kind).end() ? nullptr : &*found;
}

void Defaults::complete(const Defaults& others) {
  for (std::size_t kind = kKinds.size(); kind-- > 0;)  // latency last: it counts for all
    for (const auto& [key, value] : others.stated_.at(kKinds[kind]).items())
      if (!of_[kind].contains(key)) stated_.at(kKinds[kind])[key] = value;
  index();
}

std::vector<std::string> Defaults::differences(const Defaults& here) const {
  std::vector<std::string> texts;
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
    Json keys = stated_.at(kKinds[kind]);
    keys.update(here.stated_.at(kKinds[kind]));
    for (const auto& [key, ignored] : keys.items()) {
      const nlohmann::json *there = find(Kind{kind}, key), *other = here.find(Kind{kind}, key);
      if (there != nullptr && other != nullptr && *there != *other)
        texts.push_back(fmt::format("{} of {} is {} there and {} here", key, kKinds[kind],
                                    there->dump(), other->dump()));
    }
  }
  return texts;
}

/// Of relaxed ordering what it came to when it was off by default: stored results stay as quiet as
/// they were, and new ones tell that it is on.
bool Defaults::has(Kind kind, const std::string& key, const Json& value) const {
  static const std::map<std::string, Json, std::less<>> kUsual{{"pkey", "0xffff"},
                                                               {"recv_post_list", 16},
                                                               {"relaxed_ordering", false},
                                                               {"thread_domain", "off"}};
  if (const auto usual = kUsual.find(key); usual != kUsual.end()) return usual->second == value;
  const nlohmann::json* const known = find(kind, key);
  return known != nullptr && *known == nlohmann::json(value);
}

bool Defaults::has(const Row& row, const std::string& key, const Json& value) const {
  return has(row.topology                     ? Kind::ranks
             : row.load                       ? Kind::load
             : has_defaults_of_bandwidth(row) ? Kind::bandwidth
                                              : Kind::latency,
             key, value);
}

std::string Defaults::identity(const std::string& test, const nlohmann::json& case_object,
                               const Defaults* own) const {
  const Kind kind = case_object.contains("graph") ? Kind::ranks : Kind::latency;
  nlohmann::json named = nlohmann::json::object();  // sorted: the order of keys says nothing
  for (const auto& [key, value] : case_object.items()) {
    if (key == "test") continue;  // older versions do not say it here, nor do topologies
    // What older versions had, and do not say.
    if (key == "thread_domain" && value == "off") continue;
    if (key == "relaxed_ordering" && value == false) continue;
    const bool always = kind != Kind::ranks && stated_.at(kKinds[1]).contains(key);
    const nlohmann::json* const known = find(kind, key);
    if (always || known == nullptr || *known != value) named[key] = value;
  }
  if (own != nullptr)
    for (const auto& [key, value] : own->of(kind).items())
      if (const nlohmann::json* const here = find(kind, key);
          here != nullptr && *here != value && !case_object.contains(key))
        named[key] = value;
  return test + " " + named.dump();
}

}  // namespace rdmameter
