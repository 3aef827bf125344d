// SPDX-License-Identifier: Apache-2.0
// Which ports two ends take, over tables of what they have. A port is written as
// "DEVICE KIND [ADDRESS/BITS] [WORD...]"; bits 0 are an address of another network namespace.
#include "core/verbs/port_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "core/session/messages.h"

namespace rdmameter {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

GidType gid_type_of(const std::string& kind) {
  if (kind == "ib") return GidType::ib;
  if (kind == "iwarp") return GidType::iwarp;
  return kind == "v1" ? GidType::roce_v1 : GidType::roce_v2;
}

/// "mlx5_0/1 roce 10.0.0.1/24", "mlx5_0/1 ib", "mlx5_0/1 roce", "mlx5_0/1 v1 10.0.0.1/24 DOWN".
PortFacts port_of(const std::string& text) {
  std::istringstream words(text);
  std::string where, kind, word;
  words >> where >> kind;
  const auto slash = where.find('/');
  PortFacts port{.device = where.substr(0, slash), .gids = {}, .lacks = {}};
  if (kind == "closed") return port;
  port.number = static_cast<std::uint8_t>(parse_count(where.substr(slash + 1)).value());
  port.state = IBV_PORT_ACTIVE;
  port.link_layer = kind == "ib" ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
  port.iwarp = kind == "iwarp";
  if (kind == "ib")
    port.gids = {{.index = 0, .value = gid_from_text("fe80::1").value(), .netdev = {}}};
  while (words >> word) {
    if (word == "DOWN") port.state = IBV_PORT_DOWN;
    if (word == "no-rc") port.lacks = {Transport::rc, Transport::uc};
    const auto bits = word.find('/');
    if (bits == std::string::npos) continue;
    const std::string address = word.substr(0, bits);
    port.gids.push_back(
        {.index = static_cast<std::uint32_t>(port.gids.size()),
         .value = gid_from_text((address.find(':') == std::string::npos ? "::ffff:" : "") + address)
                      .value(),
         .type = gid_type_of(kind),
         .netdev = {},
         .subnet_bits = static_cast<std::uint8_t>(parse_count(word.substr(bits + 1)).value())});
  }
  return port;
}

std::vector<PortFacts> ports_of(const std::vector<std::string>& texts) {
  std::vector<PortFacts> ports;
  for (const std::string& text : texts) ports.push_back(port_of(text));
  return ports;
}

EndSettings fixed(const std::string& device = "", std::uint64_t port_num = kAuto) {
  return {.device = device, .port_num = port_num, .gid_index = kAuto, .core = {}, .memory = {}};
}

std::string taken_alone(const std::vector<std::string>& texts, const EndSettings& end = fixed()) {
  const auto ports = ports_of(texts);
  const PortFacts* const taken = choose_port({ports, end}, Transport::rc);
  return taken == nullptr ? "none" : taken->where();
}

/// "mlx5_0/1 mlx5_1/1", then the line that is told.
std::string taken(const std::vector<std::string>& mine, const std::vector<std::string>& theirs,
                  const EndSettings& my_end = fixed(), const EndSettings& their_end = fixed()) {
  const auto here = ports_of(mine), there = ports_of(theirs);
  const EndPorts a{here, my_end}, b{there, their_end};
  const auto pair = choose_port_pair(a, b, Transport::rc);
  if (!pair) return "none";
  return pair->mine->where() + " " + pair->theirs->where() + "\n" +
         choice_text(a, b, *pair, Transport::rc);
}

TEST(PortAlone, IsTheFirstThatIsActiveAndHasAGidOfThisNamespace) {
  EXPECT_EQ(taken_alone({"a/1 roce 10.0.0.1/24", "b/1 roce 10.0.0.2/24"}), "a/1");
  EXPECT_EQ(taken_alone({"a/1 roce 10.0.0.1/24 DOWN", "b/1 roce 10.0.0.2/24"}), "b/1");
  EXPECT_EQ(taken_alone({"a/1 roce", "b/1 roce 10.0.0.2/24"}), "b/1");
  EXPECT_EQ(taken_alone({"a/1 roce 10.0.0.1/0", "b/1 roce 10.0.0.2/24"}), "b/1");
  EXPECT_EQ(taken_alone({"a/1 closed", "b/1 ib"}), "b/1");
  EXPECT_EQ(taken_alone({"a/1 roce fe80::1/64", "b/1 roce 10.0.0.2/24"}), "b/1");
  EXPECT_EQ(taken_alone({"a/1 v1 10.0.0.1/24", "b/1 roce 10.0.0.2/24"}), "b/1");
  EXPECT_EQ(taken_alone({"a/1 roce 10.0.0.1/24 no-rc", "b/1 roce 10.0.0.2/0"}), "b/1");
  EXPECT_EQ(taken_alone({"a/1 roce 10.0.0.1/0"}), "a/1");  // rather than none
}

TEST(PortAlone, IsNoneWhereNoneCanBeUsed) {
  EXPECT_EQ(taken_alone({}), "none");
  EXPECT_EQ(taken_alone({"a/1 roce", "b/1 closed", "c/1 ib DOWN"}), "none");
}

TEST(PortAlone, KeepsToWhatIsFixed) {
  const std::vector<std::string> ports{"a/1 roce 10.0.0.1/24", "b/1 roce", "b/2 roce 10.0.0.2/24"};
  EXPECT_EQ(taken_alone(ports, fixed("b")), "b/2");
  EXPECT_EQ(taken_alone(ports, fixed("b", 1)), "none");
  EXPECT_EQ(taken_alone(ports, fixed("", 2)), "b/2");
  EXPECT_EQ(taken_alone(ports, fixed("c")), "none");
}

TEST(PortPair, IsTheFirstOfEachEndWhereAllAreAsGoodAndNothingIsSaid) {
  const std::vector<std::string> ports{"a/1 roce 10.0.0.1/24", "b/1 roce 10.0.0.2/24"};
  EXPECT_EQ(taken(ports, ports), "a/1 a/1\n");
  EXPECT_EQ(taken(ports, ports, fixed("b")), "b/1 a/1\n");
  EXPECT_EQ(taken({"a/1 ib DOWN", "b/1 ib"}, {"a/1 ib"}), "b/1 a/1\n");
}

TEST(PortPair, IsOfOneKind) {
  EXPECT_THAT(taken({"a/1 roce 10.0.0.1/24", "b/1 ib"}, {"a/1 ib"}),
              "b/1 a/1\ndevice: b/1 is taken, and a/1 at the responder; passed over: a/1 (RoCE)");
  EXPECT_THAT(taken({"a/1 iwarp 10.0.0.1/24", "b/1 roce 10.0.0.2/24"}, {"a/1 roce 10.0.0.3/24"}),
              HasSubstr("passed over: a/1 (iWARP)"));
  // Of a virtual machine whose devices come in another order at the other end.
  EXPECT_THAT(taken({"a/1 roce 10.0.0.1/24", "b/1 ib"}, {"a/1 ib", "b/1 roce 10.0.0.2/24"}),
              HasSubstr("a/1 b/1\n"));
}

TEST(PortPair, IsOfOneSubnet) {
  EXPECT_EQ(taken({"a/1 roce 10.0.0.1/24", "b/1 roce 10.0.1.1/24"},
                  {"a/1 roce 10.0.2.2/24", "b/1 roce 10.0.1.2/24"}),
            "b/1 b/1\ndevice: b/1 is taken, and b/1 at the responder; passed over: a/1 (another "
            "subnet); at the responder a/1 (another subnet)");
  EXPECT_THAT(taken({"a/1 roce fd00::1/64", "b/1 roce fd00:1::1/64"}, {"a/1 roce fd00:1::2/64"}),
              HasSubstr("b/1 a/1\n"));
  // Of none that share one, the first: a router may join them.
  EXPECT_THAT(taken({"a/1 roce 10.0.0.1/24"}, {"a/1 roce 10.0.2.2/24", "b/1 roce 10.0.1.2/24"}),
              HasSubstr("a/1 a/1\n"));
}

TEST(PortPair, PassesOverWhatHasNoGidOfAnInterfaceHere) {
  EXPECT_EQ(
      taken({"a/1 roce", "b/1 roce 10.0.0.1/24"}, {"a/1 roce 10.0.0.9/0", "b/1 roce 10.0.0.2/24"}),
      "b/1 b/1\ndevice: b/1 is taken, and b/1 at the responder; passed over: a/1 (no GID); at "
      "the responder a/1 (no GID of an interface here)");
}

TEST(PortPair, HasTheTransportOfTheCase) {
  EXPECT_THAT(
      taken({"a/1 roce 10.0.0.1/24 no-rc", "b/1 roce 10.0.0.2/24"}, {"a/1 roce 10.0.0.3/24"}),
      "b/1 a/1\ndevice: b/1 is taken, and a/1 at the responder; passed over: a/1 (no QPs of rc)");
}

TEST(PortPair, KeepsToWhatIsFixedAtEitherEnd) {
  const std::vector<std::string> mine{"a/1 roce 10.0.0.1/24", "b/1 ib"};
  EXPECT_THAT(taken(mine, mine, fixed("b")), HasSubstr("b/1 b/1\n"));
  EXPECT_THAT(taken(mine, mine, fixed(), fixed("b")), HasSubstr("b/1 b/1\n"));
  EXPECT_EQ(taken(mine, mine, fixed("a"), fixed("b")), "none");
  EXPECT_EQ(taken(mine, {}), "none");
}

TEST(PortPair, NamesAFewOfManyThatWerePassedOver) {
  std::vector<std::string> mine;
  for (int i = 0; i < 20; ++i) mine.push_back("a" + std::to_string(i) + "/1 roce");
  mine.emplace_back("b/1 ib");
  const std::string told = taken(mine, {"a/1 ib"});
  EXPECT_THAT(told, HasSubstr("a7/1 (no GID) and 12 more"));
  EXPECT_THAT(told, Not(HasSubstr("a8/1")));
}

/// "mlx5_0/1 mlx5_2/1, mlx5_1/1 mlx5_3/1". @param left_out  the line that is told
std::string pairs_of(const std::vector<std::string>& mine, const std::vector<std::string>& theirs,
                     const EndSettings& my_end, const EndSettings& their_end = fixed(),
                     std::string* left_out = nullptr) {
  const auto here = ports_of(mine), there = ports_of(theirs);
  std::string text;
  const auto pairs = choose_port_pairs({here, my_end}, {there, their_end}, Transport::rc);
  if (left_out != nullptr) *left_out = left_out_text({here, my_end}, pairs, Transport::rc);
  for (const PortPair& pair : pairs)
    text += (text.empty() ? "" : ", ") + pair.mine->where() + " " + pair.theirs->where();
  return text;
}

TEST(PortPairs, OfAllAreThoseThatHaveASubnetInCommon) {
  const std::vector<std::string> mine{"a/1 roce 10.0.9.1/24", "b/1 roce 10.0.0.1/24", "c/1 ib",
                                      "d/1 roce 10.0.1.1/24", "e/1 iwarp 10.0.2.1/24"};
  EXPECT_EQ(pairs_of(mine,
                     {"a/1 roce 10.0.1.2/24", "b/1 roce 10.0.0.2/24", "c/1 roce 10.0.3.2/24",
                      "d/1 ib", "e/1 iwarp 10.0.4.2/24"},
                     fixed("all")),
            "b/1 b/1, c/1 d/1, d/1 a/1, e/1 e/1");
  EXPECT_EQ(pairs_of(mine, {"a/1 roce 10.0.0.2/24", "a/2 roce 10.0.1.2/24"}, fixed("all")),
            "b/1 a/1");
  EXPECT_EQ(pairs_of(mine, {}, fixed("all")), "");
}

TEST(PortPairs, OfAllMayBeJoinedByARouterWhereNoneHasASubnetInCommon) {
  EXPECT_EQ(pairs_of({"a/1 roce 10.0.0.1/31", "b/1 roce 10.0.1.1/31", "c/1 roce 10.0.2.1/31 DOWN"},
                     {"a/1 roce 10.0.3.1/31", "b/1 roce 10.0.4.1/31", "c/1 roce 10.0.5.1/31"},
                     fixed("all")),
            "a/1 a/1, b/1 b/1");
}

TEST(PortPairs, OfAllTellWhatTheyLeaveOut) {
  std::string told;
  EXPECT_EQ(
      pairs_of({"a/1 roce 10.0.1.1/31", "a/2 roce 10.0.2.1/31", "b/1 roce 10.0.3.1/31",
                "c/1 roce 10.0.0.1/24", "c/2 roce 10.0.5.1/24", "d/1 roce", "e/1 roce DOWN"},
               {"a/1 roce 10.1.1.1/31", "b/1 roce 10.0.0.2/24"}, fixed("all"), fixed(), &told),
      "c/1 b/1");
  EXPECT_EQ(told,
            "device: all leaves out a, b: no device of the responder is left that shares a subnet; "
            "name them (--device A+B) if a router joins them");
  pairs_of({"a/1 ib"}, {"a/1 ib"}, fixed("all"), fixed(), &told);
  EXPECT_EQ(told, "");
}

TEST(PortPairs, OfLinkLocalAddressesShareNoSubnet) {
  EXPECT_EQ(pairs_of({"a/1 roce fe80::1/64", "b/1 roce 10.0.0.1/24"},
                     {"a/1 roce fe80::2/64", "b/1 roce 10.0.0.2/24"}, fixed("all")),
            "b/1 b/1");
}

TEST(PortPairs, KeepToTheDevicesThatAreNamedInTheirOrder) {
  const std::vector<std::string> ports{"a/1 roce 10.0.0.1/24", "b/1 roce 10.0.1.1/24",
                                       "c/1 roce 10.0.2.1/24"};
  EXPECT_EQ(pairs_of(ports, ports, fixed("c+a")), "c/1 c/1, a/1 a/1");
  EXPECT_EQ(pairs_of(ports, ports, fixed("c+a"), fixed("a+b")), "c/1 a/1, a/1 b/1");
  EXPECT_EQ(pairs_of(ports, ports, fixed(), fixed("c+a")), "c/1 c/1, a/1 a/1");
  // The one whose subnet the peer lacks takes what the other leaves.
  EXPECT_EQ(pairs_of(ports, {"x/1 roce 10.0.1.2/24", "y/1 roce 10.0.7.2/24"}, fixed("a+b")),
            "a/1 y/1, b/1 x/1");
}

std::string not_joined(const std::string& mine, const std::string& theirs,
                       const std::vector<std::string>& all_mine,
                       const std::vector<std::string>& all_theirs) {
  const PortFacts here = port_of(mine), there = port_of(theirs);
  return not_joined_text({&here, &there}, ports_of(all_mine), ports_of(all_theirs), Transport::rc);
}

TEST(NotJoined, NamesThePairThatCould) {
  const std::vector<std::string> both{"a/1 iwarp 10.0.0.1/24", "b/2 roce 10.0.0.2/24"};
  EXPECT_EQ(not_joined(both[0], both[1], both, both),
            "a/1 is iWARP and b/2 of the responder RoCE: they cannot be connected; a/1 and a/1 of "
            "the responder can: use --device a --port-num 1 --peer-device a --peer-port-num 1");
  EXPECT_THAT(
      not_joined("a/1 roce 10.0.0.1/24", "a/1 roce fd00::1/64", {"a/1 roce 10.0.0.1/24"},
                 {"a/1 roce fd00::1/64", "b/1 roce 10.0.0.9/24"}),
      HasSubstr(
          "no GIDs of one type and address family: they cannot be connected; a/1 and b/1 of"));
}

TEST(NotJoined, SaysSoWhereNoPairCould) {
  EXPECT_THAT(
      not_joined("a/1 ib", "b/1 roce 10.0.0.1/24", {"a/1 ib"}, {"b/1 roce 10.0.0.1/24"}),
      HasSubstr(
          "a/1 is InfiniBand and b/1 of the responder RoCE: they cannot be connected; no two"));
}

TEST(PortsOnTheWire, AreWhatTheyWere) {
  const auto ports = ports_of({"a/1 roce 10.0.0.1/24 no-rc", "b/1 closed", "c/2 ib DOWN"});
  const auto got = read_message<Ports>(make_message("ports", Ports{ports_to_tell(ports)})).value;
  ASSERT_EQ(got.size(), ports.size());
  for (std::size_t i = 0; i < ports.size(); ++i) {
    EXPECT_EQ(got[i].where(), ports[i].where());
    EXPECT_EQ(got[i].state, ports[i].state);
    EXPECT_EQ(kind_name(got[i]), kind_name(ports[i]));
    EXPECT_EQ(got[i].lacks, ports[i].lacks);
    EXPECT_EQ(got[i].gids.size(), ports[i].gids.size());
    EXPECT_EQ(got[i].usable(), ports[i].usable());
  }
}

TEST(PortsOnTheWire, OfAnotherShapeAreRefused) {
  const nlohmann::ordered_json good =
      make_message("", Ports{ports_of({"a/1 roce 10.0.0.1/24 no-rc"})});
  read_message<Ports>(good);
  for (const auto& [pointer, value] : std::vector<std::pair<std::string, nlohmann::ordered_json>>{
           {"/ports", nullptr},
           {"/ports/0", 1},
           {"/ports/0/device", "two\nlines"},
           {"/ports/0/device", ""},
           {"/ports/0/device", std::string(65, 'x')},
           {"/ports/0/port_num", 256},
           {"/ports/0/port_num", "1"},
           {"/ports/0/state", 8},
           {"/ports/0/state", nullptr},
           {"/ports/0/link_layer", -1},
           {"/ports/0/iwarp", 1},
           {"/ports/0/gids", nullptr},
           {"/ports/0/gids/0/subnet_bits", 129},
           {"/ports/0/lacks", "rc"},
           {"/ports/0/lacks", {0, 1, 2, 3}},
           {"/ports/0/lacks", {3}}}) {
    SCOPED_TRACE(pointer);
    nlohmann::ordered_json bad = good;
    bad[nlohmann::ordered_json::json_pointer(pointer)] = value;
    EXPECT_THROW(read_message<Ports>(bad), MeasurementError);
  }
  nlohmann::ordered_json many = good;
  for (std::size_t i = 0; i < kMostPortsTold; ++i) many["ports"].push_back(many["ports"][0]);
  EXPECT_THROW(read_message<Ports>(many), MeasurementError);
}

}  // namespace
}  // namespace rdmameter
