// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/defaults.h"

#include <fmt/core.h>

#include <map>

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kOfLatencies = "latency";
constexpr const char* kOtherKinds[] = {"bandwidth", "load", "ranks"};

/// Of results that do not state them.
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

/// What the axis of this kind is; null: it is not known.
Json default_of(const Json& stated, const char* kind, const std::string& key) {
  for (const char* each : {kind, kOfLatencies})
    if (const auto found = stated.at(each).find(key); found != stated.at(each).end()) return *found;
  return Json();
}

/// Queues of calls, exchanges and collectives are those of bandwidths.
bool has_defaults_of_bandwidth(const Row& row) {
  if (row.bandwidth) return true;
  return row.latency && (row.latency->definition == LatencyData::Definition::call ||
                         row.latency->definition == LatencyData::Definition::exchange ||
                         row.latency->definition == LatencyData::Definition::collective);
}

}  // namespace

Defaults::Defaults(const Json& context) {
  const Json::json_pointer stated("/rdmameter/defaults");
  stated_ = context.contains(stated) ? context.at(stated) : Json::parse(kOlder);
}

void Defaults::complete(const Defaults& others) {
  Json& latency = stated_.at(kOfLatencies);
  const auto add = [&](const char* kind) {
    for (const auto& [key, value] : others.stated_.at(kind).items())
      if (!latency.contains(key)) stated_.at(kind)[key] = value;
  };
  for (const char* kind : kOtherKinds) add(kind);
  add(kOfLatencies);
}

std::vector<std::string> Defaults::differences(const Defaults& here) const {
  std::vector<std::string> texts;
  const auto compare = [&](const char* kind, const Json& keys) {
    for (const auto& [key, ignored] : keys.items()) {
      const Json one = default_of(stated_, kind, key), other = default_of(here.stated_, kind, key);
      if (one.is_null() || other.is_null() || one == other) continue;
      texts.push_back(
          fmt::format("{} of {} is {} there and {} here", key, kind, one.dump(), other.dump()));
    }
  };
  compare(kOfLatencies, stated_.at(kOfLatencies));
  for (const char* kind : kOtherKinds) {
    Json keys = stated_.at(kind);
    keys.update(here.stated_.at(kind));
    compare(kind, keys);
  }
  return texts;
}

/// Of relaxed ordering what it came to when it was off by default: stored results stay as quiet as
/// they were, and new ones tell that it is on.
bool Defaults::has_of(const char* kind, const std::string& key, const Json& value) const {
  static const std::map<std::string, Json, std::less<>> kUsual{{"pkey", "0xffff"},
                                                               {"recv_post_list", 16},
                                                               {"relaxed_ordering", false},
                                                               {"thread_domain", "off"}};
  if (const auto usual = kUsual.find(key); usual != kUsual.end()) return usual->second == value;
  return !value.is_null() && default_of(stated_, kind, key) == value;
}

bool Defaults::has(const Row& row, const std::string& key, const Json& value) const {
  return has_of(row.topology                     ? "ranks"
                : row.load                       ? "load"
                : has_defaults_of_bandwidth(row) ? "bandwidth"
                                                 : kOfLatencies,
                key, value);
}

bool Defaults::has_among_ranks(const std::string& key, const Json& value) const {
  return has_of("ranks", key, value);
}

std::string Defaults::identity(const std::string& test, const Json& case_object) const {
  const bool ranks = case_object.contains("graph");
  nlohmann::json named = nlohmann::json::object();  // sorted: the order of keys says nothing
  for (const auto& [key, value] : case_object.items()) {
    if (key == "test") continue;  // older versions do not say it here, nor do topologies
    // What older versions had, and do not say.
    if (key == "thread_domain" && value == "off") continue;
    if (key == "relaxed_ordering" && value == false) continue;
    const bool always = !ranks && stated_.at("bandwidth").contains(key);
    if (always || default_of(stated_, ranks ? "ranks" : kOfLatencies, key) != value)
      named[key] = value;
  }
  return test + " " + named.dump();
}

}  // namespace rdmameter
