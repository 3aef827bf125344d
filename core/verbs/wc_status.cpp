// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/wc_status.h"

#include <fmt/format.h>

#include <iterator>

namespace rdmameter {

namespace {

constexpr std::string_view kNoRd = "RD is not in use: a driver's fault.";
constexpr std::string_view kNoTags = "Tag matching is not in use: a driver's fault.";

/// By status, whose numbers are those of an interface that does not change.
constexpr WcMeaning kMeanings[] = {
    {"IBV_WC_SUCCESS", "the request succeeded", ""},
    {"IBV_WC_LOC_LEN_ERR",
     "a message was longer than the receive posted for it, or than the port's maximum",
     "Do both ends use the same message size? On UD a receive needs 40 bytes more, for "
     "the GRH."},
    {"IBV_WC_LOC_QP_OP_ERR", "the local QP could not carry out the request",
     "An operation or size that this QP was not made for: too many SGEs or inline bytes, "
     "or too many reads at once. On rxe also reported when a packet could not be sent: is "
     "the link up, and is there a route?"},
    {"IBV_WC_LOC_EEC_OP_ERR", "the local end-to-end context (RD) failed", kNoRd},
    {"IBV_WC_LOC_PROT_ERR",
     "a local SGE names memory outside its MR, or with an lkey that is not valid",
     "Address, length and lkey of the posted SGEs; MR and QP must be of one PD."},
    {"IBV_WC_WR_FLUSH_ERR",
     "the QP was in the error state already, so this request was thrown away",
     "The first completion in error tells the cause; without one the peer or this program "
     "took the QP down."},
    {"IBV_WC_MW_BIND_ERR", "a memory window was not bound",
     "The MR needs IBV_ACCESS_MW_BIND and must cover the window; a window of type 2 must "
     "be unbound."},
    {"IBV_WC_BAD_RESP_ERR", "the responder answered with an opcode that does not belong here",
     "Do both ends agree on the QP's service type and starting PSN?"},
    {"IBV_WC_LOC_ACCESS_ERR", "incoming data had nowhere it was allowed to go",
     "The local MR lacks IBV_ACCESS_LOCAL_WRITE, or a write with immediate hit a "
     "protected place."},
    {"IBV_WC_REM_INV_REQ_ERR", "the responder found the request invalid",
     "Its QP does not allow this operation (access flags, max_dest_rd_atomic), or the "
     "message is longer than its receive."},
    {"IBV_WC_REM_ACCESS_ERR", "the responder's memory does not allow the access",
     "Remote address, length and rkey; its MR and QP need IBV_ACCESS_REMOTE_WRITE, _READ "
     "or _ATOMIC; an atomic's address is a multiple of 8."},
    {"IBV_WC_REM_OP_ERR", "the responder could not carry out the request",
     "Look for the responder's own completion in error and its kernel log."},
    {"IBV_WC_RETRY_EXC_ERR", "no acknowledgement came: the peer did not answer within all retries",
     "The peer died, its QP is not ready, or packets are lost on the way: wrong GID "
     "(compare `rdmameter devices` of both ends), an MTU that a switch does not pass, a "
     "firewall (RoCE v2: on UDP port 4791), PFC or ECN not set up."},
    {"IBV_WC_RNR_RETRY_EXC_ERR", "the receiver had no receive posted, in all retries (RNR)",
     "The receiver is slower than the sender or did not post: a greater --rx-depth, or "
     "--rnr-retry 7, which waits for ever."},
    {"IBV_WC_LOC_RDD_VIOL_ERR", "the RD domains of QP and end-to-end context differ", kNoRd},
    {"IBV_WC_REM_INV_RD_REQ_ERR", "the responder found the RD request invalid", kNoRd},
    {"IBV_WC_REM_ABORT_ERR", "the responder aborted the operation",
     "Its QP was reset or its device failed: look at its kernel log."},
    {"IBV_WC_INV_EECN_ERR", "the end-to-end context number (RD) is not valid", kNoRd},
    {"IBV_WC_INV_EEC_STATE_ERR", "the end-to-end context (RD) is in the wrong state", kNoRd},
    {"IBV_WC_FATAL_ERR", "the device failed and no longer works",
     "The kernel log (`dmesg`); the device may need a reset."},
    {"IBV_WC_RESP_TIMEOUT_ERR", "the peer acknowledged, but its response never came",
     "Look at the peer's state and kernel log."},
    {"IBV_WC_GENERAL_ERR", "the device reports a failure of no other kind",
     "The vendor's error code and the kernel log (`dmesg`) say more."},
    {"IBV_WC_TM_ERR", "tag matching failed", kNoTags},
    {"IBV_WC_TM_RNDV_INCOMPLETE", "a rendezvous message of tag matching is incomplete", kNoTags}};
static_assert(std::size(kMeanings) == IBV_WC_TM_RNDV_INCOMPLETE + 1);
static_assert(kMeanings[IBV_WC_GENERAL_ERR].name == "IBV_WC_GENERAL_ERR");

}  // namespace

WcMeaning wc_meaning(ibv_wc_status status) {
  if (static_cast<std::size_t>(status) < std::size(kMeanings)) return kMeanings[status];
  return {"an unknown completion status", "libibverbs is newer than this program", ""};
}

std::string wc_failure_text(ibv_wc_status status, std::string_view where,
                            std::uint32_t vendor_err) {
  const WcMeaning meaning = wc_meaning(status);
  std::string text = fmt::format("{} ({}) on {}: {}", meaning.name, static_cast<int>(status), where,
                                 meaning.cause);
  if (vendor_err != 0) text += fmt::format(" (vendor error {:#x})", vendor_err);
  text += ".";
  if (!meaning.hint.empty()) text += fmt::format(" {}", meaning.hint);
  return text;
}

}  // namespace rdmameter
