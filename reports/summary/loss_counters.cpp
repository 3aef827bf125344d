// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/loss_counters.h"

#include <algorithm>
#include <iterator>

namespace rdmameter {
namespace {

/// Names of Linux' drivers: mlx5 and mlx4 (`local_ack_timeout_err`...), bnxt_re, EFA, rxe.
constexpr LossCounterInfo kLossCounters[] = {
    {"local_ack_timeout_err", LossEvent::timeout, "no acknowledgement within --qp-timeout"},
    {"to_retransmits", LossEvent::timeout, "sent again after a timeout"},
    {"retrans_timeout_events", LossEvent::timeout, "timeouts of the device's own transport"},
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

}  // namespace

const LossCounterInfo* find_loss_counter(std::string_view name) {
  const auto* found = std::ranges::find(kLossCounters, name, &LossCounterInfo::name);
  return found == std::end(kLossCounters) ? nullptr : found;
}

}  // namespace rdmameter
