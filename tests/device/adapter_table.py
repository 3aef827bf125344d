# SPDX-License-Identifier: Apache-2.0
"""Which tests each adapter measures, and which it skips, by which rule: written from the providers' sources.

A case is named by test and transport: `send_lat/rc`, `reg_mr`. It is skipped by the first line that matches its name, of
STANDARD or of its adapter in LACKS; else it is measured. Sources: rdma-core 65 (`providers/`, `libibverbs/`), and Linux
(`linux:`, below drivers/infiniband/).
"""
import re

# Rules: what the reason of a skipped row says.
UD_SENDS = r"UD carries sends only: "
UC_READS = r"UC has no (reads|atomics|atomic writes|FLUSH), since nothing answers on it: "
OPEN_LOOP = r"an open loop tells requests apart by the order of their answers"
ONE_PACKET = r"a UD message is one packet: 65536 bytes are more than the largest MTU of 4096; "
NO_QPS = r"soft[01]/1 has no QPs of (rc|uc|ud): use another --transport$"
NO_ATOMICS = r"soft[01]/1 has no atomic operations$"
NO_PLACEMENT = r"soft[01]/1 has no (atomic write|FLUSH)$"
OLD_HEADER = r"this program was built with libibverbs \d+, which has no ibv_wr_flush\(\) "
NO_MULTICAST = r"soft[01]/1 has no multicast$"
NO_WINDOWS = r"soft[01]/1 has no memory windows of type [12]$"
NO_ALLOC_MW = r"ibv_alloc_mw soft[01]/1: .*not supported\. Its provider makes no memory windows, .*: choose another device\.$"
NO_HANDLES = r"soft[01]/1 has no QPs of ud, and address handles are for them alone$"
NO_REMOTE_RIGHTS = r"soft[01]/1 opens no memory to peers in this way: use a test of sends$"
NO_ADDRESS = r"rdma_cm needs IP addresses here, and the GID .* is not one"
BY_IPOIB = r"soft[01]/1 joins multicast groups of InfiniBand by the IP address of its interface of IPoIB alone"
IWARP_RC = r"soft[01]/1 is an iWARP device, which has no (UC|UD): use --transport rc$"
IWARP_MULTICAST = r"soft[01]/1 is an iWARP device, which has no multicast: "
IWARP_ATOMICS = r"soft[01]/1 is an iWARP device, which has no atomic operations: "
IWARP_IMMEDIATE = r"soft[01]/1 is an iWARP device, which has no immediate data: "
IWARP_BY_CM = r"soft[01]/1 is an iWARP device, whose QPs rdma_cm alone can connect, and this test connects them without: "

# What a rule says that the adapter lacks, as docs/running.md names it. What a QP type or an address lacks, rules of its cases say.
WORDS = {NO_ATOMICS: "atomics", IWARP_ATOMICS: "atomics", NO_MULTICAST: "multicast", IWARP_MULTICAST: "multicast", BY_IPOIB: "multicast",
         NO_WINDOWS: "memory windows", NO_ALLOC_MW: "memory windows", IWARP_BY_CM: "connecting without rdma_cm",
         IWARP_IMMEDIATE: "immediate data", NO_REMOTE_RIGHTS: "memory for peers", NO_ADDRESS: "rdma_cm"}

# Cases
ATOMICS = r"(fetch_add|cmp_swap)_\w+/rc"
MULTICAST = r"mcast_\w+/ud"
WINDOWS = r"bind_mw_[12]|invalidate_mw"
HANDLES = r"(create|destroy)_ah"

# What no device measures: (cases, rule, where it is known from).
STANDARD = [
    (r"(write|read|fetch_add|cmp_swap|atomic_write|flush|mix)_\w+/ud", UD_SENDS, "ibv_post_send(3)"),
    (r"(read|fetch_add|cmp_swap|atomic_write|flush|mix)_\w+/uc", UC_READS, "ibv_post_send(3)"),
    (r"(send|write)_load/u[cd]", OPEN_LOOP, "this program: core/test_case/rules.cpp"),
    (r"send(_imm)?_bw/ud", ONE_PACKET, "ibv_post_send(3), of 64 KiB"),
]


def iwarp(windows, create_qp):
    """What every adapter of iWARP lacks."""
    return [
        (MULTICAST, IWARP_MULTICAST, "rdma_join_multicast(3)"),
        (r"((send|write|read)_\w+|connect|cm_\w+)/u[cd]", IWARP_RC, create_qp),
        (r"((create|destroy)_qp|modify_qp_init)/u[cd]", NO_QPS, create_qp),
        (r"modify_qp_rt[rs]/\w+", IWARP_BY_CM, "linux: core/iwcm.c, iw_cm_connect()"),
        (HANDLES, NO_HANDLES, create_qp),
        (WINDOWS, *windows),
    ]


# The adapter, as the software device plays it: what it lacks beyond STANDARD.
LACKS = {
    "generic": [],
    "rxe": [],  # rxe/rxe.c, rxe_ctx_ops; linux: sw/rxe/rxe_param.h
    "mlx5-ib": [],  # mlx5/mlx5.c, mlx5_ctx_common_ops
    "mlx5-ib-vf": [],
    "mlx5-xdr": [],
    "mlx5-roce": [],
    "pod": [],
    "mlx5-ib-bare": [(MULTICAST, BY_IPOIB, "linux: core/cma.c, cma_join_ib_multicast()")],
    "bnxt": [
        (r"\w+/uc", NO_QPS, "bnxt_re/verbs.c, bnxt_re_check_qp_limits()"),
        (ATOMICS, NO_ATOMICS, "linux: hw/bnxt_re/ib_verbs.c, bnxt_re_query_device(): is_atomic, which goes by the PCIe slot"),
        (MULTICAST, NO_MULTICAST, "linux: hw/bnxt_re/ib_verbs.c, bnxt_re_query_device()"),
        (WINDOWS, NO_ALLOC_MW, "bnxt_re/main.c, bnxt_re_cntx_ops; the driver tells windows all the same"),
    ],
    "irdma-roce": [  # with windows of type 2, whose key the provider sets; the driver tells them of GEN 3 alone
        (r"\w+/uc", NO_QPS, "irdma/uverbs.c, irdma_ucreate_qp()"),
        (ATOMICS, NO_ATOMICS, "linux: hw/irdma/verbs.c, irdma_query_device(): IRDMA_FEATURE_ATOMIC_OPS"),
    ],
    "hns": [
        (MULTICAST, NO_MULTICAST, "hns/hns_roce_u.c, hns_common_ops"),
        (r"\w+/u[cd]", NO_QPS, "hns/hns_roce_u_verbs.c, check_qp_create_mask()"),
        (HANDLES, NO_HANDLES, "hns/hns_roce_u_verbs.c, hns_roce_u_create_ah()"),
        (WINDOWS, NO_WINDOWS, "linux: hw/hns/hns_roce_main.c, hns_roce_query_device()"),
    ],
    "mana": [
        (MULTICAST, NO_MULTICAST, "mana/mana.c, mana_ctx_ops"),
        (r"\w+/u[cd]", NO_QPS, "mana/qp.c, mana_create_qp()"),
        (ATOMICS, NO_ATOMICS, "mana/wr.c, is_opcode_supported()"),
        (HANDLES, NO_HANDLES, "mana/mana.c, mana_ctx_ops"),
        (WINDOWS, NO_WINDOWS, "linux: hw/mana/main.c, mana_ib_query_device()"),
    ],
    "iwarp": [
        (ATOMICS, IWARP_ATOMICS, "linux: hw/irdma/verbs.c, irdma_query_device(): IRDMA_FEATURE_ATOMIC_OPS"),
        (r"(send|write)_imm_\w+/rc", IWARP_IMMEDIATE, "irdma/uverbs.c, irdma_upost_send()"),
        *iwarp((IWARP_BY_CM, "linux: core/iwcm.c, iw_cm_connect()"), "irdma/uverbs.c, irdma_ucreate_qp()"),
    ],
    "siw": [
        (ATOMICS, IWARP_ATOMICS, "siw/siw.c, map_send_opcode"),
        (r"(send|write)_imm_\w+/rc", IWARP_IMMEDIATE, "siw/siw.c, map_send_opcode"),
        *iwarp((NO_WINDOWS, "siw/siw.c, siw_context_ops"), "linux: sw/siw/siw_verbs.c, siw_create_qp()"),
    ],
    "erdma": iwarp((NO_WINDOWS, "linux: hw/erdma/erdma_verbs.c, erdma_query_device()"),
                   "linux: hw/erdma/erdma_verbs.c, erdma_qp_validate_attr()"),
    "cxgb4": [
        (ATOMICS, IWARP_ATOMICS, "cxgb4/qp.c, c4iw_post_send()"),
        (r"send_imm_\w+/rc", IWARP_IMMEDIATE, "cxgb4/qp.c, build_rdma_send()"),
        *iwarp((IWARP_BY_CM, "linux: core/iwcm.c, iw_cm_connect()"), "linux: hw/cxgb4/qp.c, c4iw_create_qp()"),
    ],
    "efa": [
        (ATOMICS, NO_ATOMICS, "linux: hw/efa/efa_verbs.c, efa_query_device()"),
        (r"(write|read|mix)(_imm|_cqe)?_(lat|load)/[ru]c", NO_REMOTE_RIGHTS, "linux: hw/efa/efa_verbs.c, efa_reg_mr(): no right of a device without RDMA"),
        (MULTICAST, NO_MULTICAST, "efa/efa.c, efa_ctx_ops"),
        (r"cm_\w+/\w+", NO_ADDRESS, "linux: hw/efa/efa_verbs.c, efa_get_port_immutable(): no rdma_cm"),
        (r"\w+/[ru]c", NO_QPS, "efa/verbs.c, efa_check_qp_attr()"),
        (WINDOWS, NO_WINDOWS, "efa/efa.c, efa_ctx_ops"),
    ],
    "tiny": [  # no adapter: the least of everything
        (ATOMICS, NO_ATOMICS, "this device"),
        (WINDOWS, NO_WINDOWS, "this device"),
    ],
}

# No adapter's provider posts them; rxe's does, on Linux 6.2 and later, and its personality is of 6.1.
for each in set(LACKS) - {"generic", "pod"}:
    LACKS[each].insert(0, (r"(atomic_write|flush)_\w+/rc", NO_PLACEMENT, "rxe/rxe.c, rxe_create_qp_ex() alone; linux: sw/rxe/rxe_param.h"))


# Verbs that a provider may lack, by the names in its verbs_context_ops, and what is typed to have them used.
OPTIONAL_VERBS = {"create_qp_ex": ("--api", "extended"), "create_cq_ex": ("--cq", "extended"), "alloc_td": ("--thread-domain", "on"),
                  "create_srq": ("--recv", "srq"), "reg_dmabuf_mr": ("--memory", "dmabuf:software")}
ALL_OF_THEM = " ".join(OPTIONAL_VERBS)

# The adapter: those that it has.
HAS_VERBS = {
    "generic": ALL_OF_THEM, "pod": ALL_OF_THEM,
    "mlx5-ib": ALL_OF_THEM, "mlx5-ib-vf": ALL_OF_THEM, "mlx5-xdr": ALL_OF_THEM, "mlx5-ib-bare": ALL_OF_THEM, "mlx5-roce": ALL_OF_THEM,  # mlx5/mlx5.c
    "rxe": "create_qp_ex create_cq_ex create_srq",  # rxe/rxe.c
    "bnxt": "create_qp_ex create_srq reg_dmabuf_mr",  # bnxt_re/main.c
    # irdma/umain.c; linux: hw/irdma/verbs.c, irdma_query_device() tells SRQs of GEN 3 alone
    "irdma-roce": "create_cq_ex reg_dmabuf_mr", "iwarp": "create_cq_ex reg_dmabuf_mr",
    "hns": "create_qp_ex create_cq_ex alloc_td create_srq",  # hns/hns_roce_u.c
    "mana": "reg_dmabuf_mr",  # mana/mana.c, whose create_qp_ex is for raw packets alone
    "siw": "create_srq",  # siw/siw.c
    "erdma": "",  # erdma/erdma.c
    "cxgb4": "create_srq",  # cxgb4/dev.c
    "efa": "create_qp_ex create_cq_ex alloc_td reg_dmabuf_mr",  # efa/efa.c
    "tiny": "create_srq reg_dmabuf_mr",  # no adapter
}


def lacking(lacks):
    """What the adapter lacks, in words."""
    words = {WORDS[rule] for _, rule, _ in lacks if rule in WORDS}
    return words | {transport.upper() for cases, rule, _ in lacks if rule == NO_QPS for transport in ("rc", "uc", "ud")
                    if re.fullmatch(cases, f"create_qp/{transport}")}


def case_of(row):
    """test/transport, or the test alone where it has none."""
    return row["case"]["test"] + (f"/{row['case']['transport']}" if "transport" in row["case"] else "")


def reason_of(row):
    return row["skip_message"].removeprefix("the responder: ")


def line_of(row, lacks):
    """The line by which a row is to be skipped; None: it is to be measured."""
    return next((line for line in [*STANDARD, *lacks] if re.fullmatch(line[0], case_of(row))), None)


def wrong_rows(rows, lacks):
    """What differs from the table: a text for each of these rows."""
    wrong = []
    for row in rows:
        if re.match(OLD_HEADER, row.get("skip_message", "")):  # says nothing about the adapter
            continue
        line = line_of(row, lacks)
        if row.get("error_occurred") and not row.get("skipped"):
            wrong.append(f"{case_of(row)}: error: {row['error_message']}")
        elif row.get("skipped") and line is None:
            wrong.append(f"{case_of(row)}: unexpected skip: {reason_of(row)}")
        elif row.get("skipped") and not re.match(line[1], reason_of(row)):
            wrong.append(f"{case_of(row)}: skipped by another rule: {reason_of(row)} (expected: {line[1]}; {line[2]})")
        elif line is not None and not row.get("skipped"):
            wrong.append(f"{case_of(row)}: unexpected measurement (expected: {line[1]}; {line[2]})")
    return wrong


def idle_lines(rows, lacks):
    """Lines of the adapter that skip none of these rows."""
    return [line for line in lacks if line not in [line_of(row, lacks) for row in rows]]


def may_be_skipped(row, lacks):
    """Does any line give the reason of a skipped row? For ends of two kinds, of which either may be the first to refuse."""
    return any(re.fullmatch(cases, case_of(row)) and re.match(rule, reason_of(row)) for cases, rule, _ in [*STANDARD, *lacks])
