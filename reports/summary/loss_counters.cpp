// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/loss_counters.h"

#include <algorithm>
#include <iterator>

namespace rdmameter {
namespace {

/// Names of Linux' drivers: mlx5 and mlx4 (`local_ack_timeout_err`...), bnxt_re, EFA, rxe, mana
/// (`requester_timeout`...), irdma (`tcpRetransSegs`...), hns, erdma, cxgb4 (`ip4RetransSegs`).
/// TCP retransmits by timers of its own: these of iWARP tell of no --qp-timeout.
constexpr LossCounterInfo kLossCounters[] = {
    {"local_ack_timeout_err", LossEvent::timeout, "no acknowledgement within --qp-timeout"},
    {"to_retransmits", LossEvent::timeout, "sent again after a timeout"},
    {"retrans_timeout_events", LossEvent::timeout, "timeouts of the device's own transport"},
    {"requester_timeout", LossEvent::timeout, "no acknowledgement within --qp-timeout"},
    {"requester_oos_nak", LossEvent::sequence_nak, "NAKs: a packet before this one is missing"},
    {"requester_implicit_nak", LossEvent::sequence_nak, "a response is missing"},
    {"requester_rnr_nak", LossEvent::rnr_nak, "RNR NAKs: the peer had no receive"},
    {"responder_rnr_nak", LossEvent::other, "RNR NAKs sent: no receive was here"},
    {"responder_oos", LossEvent::other, "requests that came out of order"},
    {"responder_dup_request", LossEvent::other,
     "requests that came twice: an answer was lost or late"},
    {"requester_retries_exceeded", LossEvent::other, "requests given up after all retries"},
    {"requester_rnr_nak_retries_exceeded", LossEvent::other,
     "requests given up after all RNR retries"},
    {"received_ecns", LossEvent::other, "packets that a switch marked: congestion (ECN)"},
    {"sent_cnps", LossEvent::other, "CNPs sent: the peer is told of congestion"},
    {"received_cnps", LossEvent::other, "CNPs received: this end slowed down"},
    {"tcpRetransSegs", LossEvent::other, "TCP segments sent again"},
    {"ip4RetransSegs", LossEvent::other, "TCP segments sent again, over IPv4"},
    {"ip6RetransSegs", LossEvent::other, "TCP segments sent again, over IPv6"},
    {"ip4InDiscards", LossEvent::other, "packets of IPv4 that came and were dropped"},
    {"ip6InDiscards", LossEvent::other, "packets of IPv6 that came and were dropped"},
    {"RxECNMrkd", LossEvent::other, "packets that a switch marked: congestion (ECN)"},
    {"cnpSent", LossEvent::other, "CNPs sent: the peer is told of congestion"},
    {"cnpHandled", LossEvent::other, "CNPs received: this end slowed down"},
    {"cnpIgnored", LossEvent::other, "CNPs received and ignored"},
    {"rx_err_pkt", LossEvent::other, "packets with errors"},
    {"rx_cnp_pkt", LossEvent::other, "CNPs received: this end slowed down"},
    {"tx_cnp_pkt", LossEvent::other, "CNPs sent: the peer is told of congestion"},
    {"tx_bps_limit_drop_cnt", LossEvent::other, "packets dropped by the instance's limit of bits"},
    {"rx_bps_limit_drop_cnt", LossEvent::other, "packets dropped by the instance's limit of bits"},
    {"tx_pps_limit_drop_cnt", LossEvent::other,
     "packets dropped by the instance's limit of packets"},
    {"rx_pps_limit_drop_cnt", LossEvent::other,
     "packets dropped by the instance's limit of packets"},
    {"tx_disable_drop_cnt", LossEvent::other, "packets dropped, as sending was disabled"},
    {"rx_disable_drop_cnt", LossEvent::other, "packets dropped, as receiving was disabled"},
    {"completer_retry_err", LossEvent::retry, "sent again after a timeout or a sequence NAK"},
    {"packet_seq_err", LossEvent::sequence_nak, "NAKs: a packet before this one is missing"},
    {"implied_nak_seq_err", LossEvent::sequence_nak, "a response is missing"},
    {"rcvd_seq_err", LossEvent::sequence_nak, "NAKs: a packet before this one is missing"},
    {"seq_err_naks_rcvd", LossEvent::sequence_nak, "NAKs: a packet before this one is missing"},
    {"rnr_nak_retry_err", LossEvent::rnr_nak, "RNR NAKs: the peer had no receive"},
    {"rcvd_rnr_err", LossEvent::rnr_nak, "RNR NAKs: the peer had no receive"},
    {"rnr_naks_rcvd", LossEvent::rnr_nak, "RNR NAKs: the peer had no receive"},
    {"send_rnr_err", LossEvent::other, "RNR NAKs sent: no receive was here"},
    {"out_of_buffer", LossEvent::other, "messages that found no receive here"},
    {"out_of_sequence", LossEvent::other, "packets that came out of order"},
    {"out_of_seq_request", LossEvent::other, "requests that came out of order"},
    {"oos_drop_count", LossEvent::other, "packets that came out of order"},
    {"duplicate_request", LossEvent::other, "requests that came twice: an answer was lost or late"},
    {"dup_req", LossEvent::other, "requests that came twice: an answer was lost or late"},
    {"missing_resp", LossEvent::other, "a response is missing"},
    {"retry_exceeded_err", LossEvent::other, "requests given up after all retries"},
    {"max_retry_exceeded", LossEvent::other, "requests given up after all retries"},
    {"np_ecn_marked_roce_packets", LossEvent::other,
     "packets that a switch marked: congestion (ECN)"},
    {"rx_ecn_marked_pkts", LossEvent::other, "packets that a switch marked: congestion (ECN)"},
    {"np_cnp_sent", LossEvent::other, "CNPs sent: the peer is told of congestion"},
    {"tx_cnp_pkts", LossEvent::other, "CNPs sent: the peer is told of congestion"},
    {"rp_cnp_handled", LossEvent::other, "CNPs received: this end slowed down"},
    {"rx_cnp_pkts", LossEvent::other, "CNPs received: this end slowed down"},
    {"rp_cnp_ignored", LossEvent::other, "CNPs received and ignored"},
    {"roce_adp_retrans", LossEvent::other, "adaptive retransmissions"},
    {"roce_adp_retrans_to", LossEvent::other, "timeouts of adaptive retransmission"},
    {"roce_slow_restart", LossEvent::other, "slow restarts after loss"},
    {"retrans_pkts", LossEvent::other, "packets sent again"},
    {"port_xmit_wait", LossEvent::other, "ticks with data to send and no credit"},
    {"port_xmit_discards", LossEvent::other, "packets dropped before they were sent"},
    {"port_rcv_errors", LossEvent::other, "packets with errors"},
    {"symbol_error", LossEvent::other, "symbol errors of the link"},
    {"link_downed", LossEvent::other, "the link went down"},
};

/// As sysfs names the drivers of which the table has counters: a PCI device's, so irdma is ice,
/// idpf or i40e, bnxt_re bnxt_en, hns hns3.
constexpr std::string_view kDrivers[] = {"mlx5_core", "mlx4_core", "bnxt_en", "efa",
                                         "rdma_rxe",  "mana",      "ice",     "idpf",
                                         "i40e",      "hns3",      "erdma",   "cxgb4"};

}  // namespace

std::vector<UncountedEnd> ends_without_loss_counters(const nlohmann::ordered_json& context) {
  using Json = nlohmann::ordered_json;
  std::vector<UncountedEnd> ends;
  const auto part = [](const Json& object, const char* key) {
    return object.is_object() ? object.value(key, Json()) : Json();
  };
  for (const char* const end : {"initiator", "responder"}) {
    const Json device = part(part(part(context, "rdmameter"), end), "device");
    const Json driver = part(device, "driver"), name = part(device, "name");
    std::string told;
    if (driver.is_string())
      told = driver.get<std::string>();
    else if (name.is_string())
      told = "the driver of " + name.get<std::string>();
    const bool known = told.empty() || std::ranges::find(kDrivers, told) != std::end(kDrivers);
    if (!known) ends.push_back({end, told});
  }
  return ends;
}

const LossCounterInfo* find_loss_counter(std::string_view name) {
  const auto* found = std::ranges::find(kLossCounters, name, &LossCounterInfo::name);
  return found == std::end(kLossCounters) ? nullptr : found;
}

}  // namespace rdmameter
