// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/port_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <set>
#include <tuple>

#include "core/base/error.h"
#include "core/verbs/device.h"
#include "core/verbs/probe.h"

namespace rdmameter {

namespace {

constexpr Transport kTransports[] = {Transport::rc, Transport::uc, Transport::ud};

/// A device and its ports.
struct Listed {
  Context context;  ///< null: it cannot be opened
  std::tuple<std::uint32_t, std::uint32_t, ibv_transport_type> model;
  std::vector<PortFacts> ports;

  bool usable() const { return std::ranges::any_of(ports, &PortFacts::usable); }
};

PortFacts facts_of(ibv_context& context, const PortInfo& port, std::uint64_t gid_index) {
  return {.device = port.device,
          .number = port.number,
          .state = port.state,
          .link_layer = port.link_layer,
          .iwarp = is_iwarp(context),
          .gids = gids_to_offer(query_gids(context, port.number), gid_index)};
}

Listed list_device(const std::string& name, std::uint64_t gid_index) {
  Listed listed{.context = open_device(name)};
  const DeviceLimits limits = query_limits(*listed.context);
  listed.model = {limits.vendor_id, limits.vendor_part_id, listed.context->device->transport_type};
  for (unsigned number = 1; number <= limits.phys_port_cnt; ++number)
    listed.ports.push_back(
        facts_of(*listed.context, query_port(*listed.context, number), gid_index));
  return listed;
}

/// Tries the transports of each model, where there is more than one.
void find_lacks(std::vector<Listed>& devices) {
  std::vector<const Listed*> models;
  for (const Listed& device : devices)
    if (device.usable() && std::ranges::none_of(models, [&](const Listed* known) {
          return known->model == device.model;
        }))
      models.push_back(&device);
  if (models.size() < 2) return;
  for (const Listed* const model : models) {
    std::vector<Transport> lacks;
    for (const Transport transport : kTransports)
      if (lacks_transport(*model->context, transport)) lacks.push_back(transport);
    for (Listed& device : devices)
      if (device.context && device.model == model->model)
        for (PortFacts& port : device.ports) port.lacks = lacks;
  }
}

}  // namespace

bool PortFacts::has(Transport transport) const {
  return std::ranges::find(lacks, transport) == lacks.end();
}

std::string PortFacts::where() const {
  return opens() ? fmt::format("{}/{}", device, number) : device;
}

std::string_view kind_name(const PortFacts& port) {
  if (port.iwarp) return "iWARP";
  if (port.link_layer == IBV_LINK_LAYER_ETHERNET) return "RoCE";
  if (port.link_layer == IBV_LINK_LAYER_INFINIBAND) return "InfiniBand";
  return "of no known link layer";
}

std::vector<PortFacts> list_ports(std::string_view device, std::uint64_t gid_index) {
  std::vector<Listed> listed;
  for (const std::string& name : list_devices()) {
    if (!names_device(device, name)) continue;
    if (listed.size() == kMostDevicesLookedAt) break;
    try {
      listed.push_back(list_device(name, gid_index));
    } catch (const std::exception&) {  // reported when it is opened
      listed.emplace_back().ports.push_back({.device = name});
    }
  }
  try {
    find_lacks(listed);
  } catch (const VerbsError&) {  // no PD or CQ: reported when it is measured
  }
  std::vector<PortFacts> ports;
  for (Listed& each : listed) std::ranges::move(each.ports, std::back_inserter(ports));
  return ports;
}

std::vector<PortFacts> ports_to_tell(std::vector<PortFacts> ports) {
  std::stable_partition(ports.begin(), ports.end(),
                        [](const PortFacts& port) { return port.state == IBV_PORT_ACTIVE; });
  if (ports.size() > kMostPortsTold) ports.resize(kMostPortsTold);
  return ports;
}

namespace {

constexpr std::size_t kMostPassedOver = 8;  ///< that a line names

/// The lesser, the better. For a port whose peer is not known.
auto alone_rank(const PortFacts& port, Transport transport) {
  const Gid& best = port.gids.front();
  return std::tuple{!port.has(transport), rank_of({best, best})};
}

/// A pair that can be joined, and how good it is.
struct RankedPair {
  PortPair ports;
  int lacks;  ///< ends without the transport
  GidPairRank rank;

  /// Without a router, by GIDs of these network namespaces.
  bool joins_directly() const {
    const auto [away, first_roce, link_local, apart] = rank;
    return lacks == 0 && !away && !link_local && !apart;
  }
};

std::optional<RankedPair> ranked(const PortFacts& mine, const PortFacts& theirs,
                                 Transport transport) {
  if (kind_name(mine) != kind_name(theirs)) return std::nullopt;
  const auto gids = choose_gid_pair(mine.gids, theirs.gids);
  if (!gids) return std::nullopt;
  const int lacks = (mine.has(transport) ? 0 : 1) + (theirs.has(transport) ? 0 : 1);
  return RankedPair{{&mine, &theirs}, lacks, rank_of(*gids)};
}

/// All that can be joined, the best first.
std::vector<RankedPair> ranked_pairs(const EndPorts& mine, const EndPorts& theirs,
                                     Transport transport) {
  std::vector<RankedPair> pairs;
  for (const PortFacts& here : mine.ports)
    for (const PortFacts& there : theirs.ports)
      if (mine.fits(here) && theirs.fits(there))
        if (const auto pair = ranked(here, there, transport)) pairs.push_back(*pair);
  std::ranges::stable_sort(
      pairs, {}, [](const RankedPair& pair) { return std::tuple(pair.lacks, pair.rank); });
  return pairs;
}

/// Where ports of a kind are joined directly, its other pairs are left out.
void keep_direct(std::vector<RankedPair>& pairs) {
  std::set<std::string_view> kinds;
  for (const RankedPair& pair : pairs)
    if (pair.joins_directly()) kinds.insert(kind_name(*pair.ports.mine));
  std::erase_if(pairs, [&](const RankedPair& pair) {
    return !pair.joins_directly() && kinds.contains(kind_name(*pair.ports.mine));
  });
}

/// Where a port's device stands among those of its end.
std::size_t place_of(const PortFacts& port, const EndPorts& end) {
  if (!end.names_devices()) return static_cast<std::size_t>(&port - end.ports.data());
  const std::vector<std::string> names = split_devices(end.fixed.device);
  return static_cast<std::size_t>(std::ranges::find(names, port.device) - names.begin());
}

/// Why a port was passed over, and whether the user should hear of it.
struct Reason {
  std::string text;
  bool told = true;
};

/// @param peer  the port that is to be reached from it; null: it is not known
Reason reason_of(const PortFacts& port, const PortFacts& taken, const PortFacts* peer,
                 Transport transport) {
  // By what it is alone.
  if (!port.opens()) return {"cannot be opened"};
  if (port.state != IBV_PORT_ACTIVE) return {"not ACTIVE", false};
  if (port.gids.empty()) return {"no GID"};
  if (!port.has(transport)) return {fmt::format("no QPs of {}", transport_name(transport))};
  if (peer != nullptr) {
    if (kind_name(port) != kind_name(*peer)) return {std::string(kind_name(port))};
    const auto pair = choose_gid_pair(port.gids, peer->gids);
    if (!pair) return {"GIDs of another type"};
    const auto taken_pair = choose_gid_pair(taken.gids, peer->gids);
    if (of_two_subnets(*pair) && taken_pair && !of_two_subnets(*taken_pair))
      return {"another subnet"};
  }
  // Beside the one that was taken.
  const Gid &best = port.gids.front(), &other = taken.gids.front();
  const auto [away, first_roce, link_local, apart] = rank_of({best, best});
  const auto [taken_away, taken_first_roce, taken_link_local, taken_apart] =
      rank_of({other, other});
  if (away && !taken_away) return {"no GID of an interface here"};
  if (first_roce && !taken_first_roce) return {"no GID of RoCE v2"};
  if (link_local && !taken_link_local) return {"link-local addresses alone"};
  return {"as good", false};
}

/// "soft0/1 (no GID), soft2/1 (as good)"; empty: nothing that need be told.
std::string passed_over(const EndPorts& end, const PortFacts& taken, const PortFacts* peer,
                        Transport transport) {
  if (!end.open()) return {};
  std::vector<std::string> names;
  std::size_t more = 0;
  bool told = false;
  for (const PortFacts& port : end.ports) {
    const bool of_device = end.fixed.device.empty() || end.fixed.device == port.device;
    if (&port == &taken || !of_device) continue;
    const Reason reason = reason_of(port, taken, peer, transport);
    told = told || reason.told;
    if (names.size() == kMostPassedOver)
      ++more;
    else
      names.push_back(fmt::format("{} ({})", port.where(), reason.text));
  }
  if (!told) return {};
  return fmt::format("{}{}", fmt::join(names, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

/// "--device soft1 --peer-device soft1"
std::string options_of(const PortPair& pair) {
  return fmt::format("--device {} --port-num {} --peer-device {} --peer-port-num {}",
                     pair.mine->device, pair.mine->number, pair.theirs->device,
                     pair.theirs->number);
}

}  // namespace

bool EndPorts::fits(const PortFacts& port) const {
  return names_device(fixed.device, port.device) &&
         (fixed.port_num == kAuto || fixed.port_num == port.number) && port.usable();
}

const PortFacts* choose_port(const EndPorts& end, Transport transport) {
  const PortFacts* best = nullptr;
  for (const PortFacts& port : end.ports)
    if (end.fits(port) &&
        (best == nullptr || alone_rank(port, transport) < alone_rank(*best, transport)))
      best = &port;
  return best;
}

std::optional<PortPair> choose_port_pair(const EndPorts& mine, const EndPorts& theirs,
                                         Transport transport) {
  const std::vector<RankedPair> pairs = ranked_pairs(mine, theirs, transport);
  return pairs.empty() ? std::nullopt : std::optional(pairs.front().ports);
}

std::vector<PortPair> choose_port_pairs(const EndPorts& mine, const EndPorts& theirs,
                                        Transport transport) {
  const bool in_order = mine.names_devices() && theirs.names_devices();
  std::vector<RankedPair> pairs = ranked_pairs(mine, theirs, transport);
  if (!mine.names_devices() && !theirs.names_devices()) keep_direct(pairs);
  std::vector<PortPair> chosen;
  // The best first, which may take what another device needs: then name both ends' devices.
  for (const RankedPair& pair : pairs) {
    const auto& [here, there] = pair.ports;
    const auto shares_device = [&](const PortPair& one) {
      return one.mine->device == pair.ports.mine->device ||
             one.theirs->device == pair.ports.theirs->device;
    };
    const bool matches = !in_order || place_of(*here, mine) == place_of(*there, theirs);
    if (matches && std::ranges::none_of(chosen, shares_device)) chosen.push_back(pair.ports);
  }
  const bool by_theirs = theirs.names_devices() && !mine.names_devices();
  std::ranges::sort(chosen, {}, [&](const PortPair& pair) {
    return by_theirs ? place_of(*pair.theirs, theirs) : place_of(*pair.mine, mine);
  });
  return chosen;
}

std::string left_out_text(const EndPorts& mine, std::span<const PortPair> pairs,
                          Transport transport) {
  std::vector<std::string_view> names;
  for (const PortFacts& port : mine.ports) {
    const auto is_of_it = [&](const PortPair& pair) { return pair.mine->device == port.device; };
    const bool is_new = names.empty() || names.back() != port.device;
    if (is_new && mine.fits(port) && port.has(transport) && std::ranges::none_of(pairs, is_of_it))
      names.push_back(port.device);
  }
  if (names.empty()) return {};
  return fmt::format(
      "device: all leaves out {}: no device of the responder is left that shares a subnet; name "
      "them (--device A+B) if a router joins them",
      fmt::join(names, ", "));
}

std::string choice_text(const EndPorts& mine, const EndPorts& theirs, const PortPair& taken,
                        Transport transport) {
  const std::string here = passed_over(mine, *taken.mine, taken.theirs, transport),
                    there = passed_over(theirs, *taken.theirs, taken.mine, transport);
  if (here.empty() && there.empty()) return {};
  return fmt::format("device: {} is taken, and {} at the responder; passed over: {}{}{}{}",
                     taken.mine->where(), taken.theirs->where(), here,
                     here.empty() || there.empty() ? "" : "; ",
                     there.empty() ? "" : "at the responder ", there);
}

std::string choice_text(const EndPorts& end, const PortFacts& taken, Transport transport) {
  const std::string over = passed_over(end, taken, nullptr, transport);
  if (over.empty()) return {};
  return fmt::format("device: {} is taken; passed over: {}", taken.where(), over);
}

std::string not_joined_text(const PortPair& fixed, std::span<const PortFacts> all_mine,
                            std::span<const PortFacts> all_theirs, Transport transport) {
  const EndSettings open{.port_num = kAuto, .gid_index = kAuto};
  EndSettings mine = open;  // best with the port that this end has already
  mine.device = fixed.mine->device;
  mine.port_num = fixed.mine->number;
  auto could = choose_port_pair({all_mine, mine}, {all_theirs, open}, transport);
  if (!could) could = choose_port_pair({all_mine, open}, {all_theirs, open}, transport);
  const bool two_kinds = kind_name(*fixed.mine) != kind_name(*fixed.theirs);
  // Where no other pair could, the error when connecting says which option mends the two GIDs.
  if (!two_kinds && !could) return {};
  const std::string why =
      two_kinds ? fmt::format("{} is {} and {} of the responder {}: they cannot be connected",
                              fixed.mine->where(), kind_name(*fixed.mine), fixed.theirs->where(),
                              kind_name(*fixed.theirs))
                : fmt::format(
                      "{} and {} of the responder have no GIDs of one type and address "
                      "family: they cannot be connected",
                      fixed.mine->where(), fixed.theirs->where());
  if (!could)
    return why +
           "; no two ports of the two ends can: choose --device or --peer-device of one kind, or "
           "other machines";
  return fmt::format("{}; {} and {} of the responder can: use {}", why, could->mine->where(),
                     could->theirs->where(), options_of(*could));
}

const EndSettings& LoneChoice::settled(const EndSettings& end, Transport transport) {
  const auto [made, is_new] =
      made_.try_emplace({end.device, end.port_num, end.gid_index, transport}, end);
  EndSettings& settings = made->second;
  settings.core = end.core;
  settings.memory = end.memory;
  if (!is_new || !end.device.empty()) return settings;
  const std::vector<PortFacts> ports = list_ports(end.device, end.gid_index);
  const EndPorts known{ports, end};
  const PortFacts* const taken = choose_port(known, transport);
  if (taken == nullptr) return settings;
  settings.device = taken->device;
  settings.port_num = taken->number;
  if (const std::string line = choice_text(known, *taken, transport); listener_ && !line.empty())
    listener_(line);
  return settings;
}

}  // namespace rdmameter
