# SPDX-License-Identifier: Apache-2.0
"""rxe devices that meet on a network, in tools/rxe-vm: more of them than the two that are there."""
import subprocess


def do(*commands, check=True):
    """`ip` for each."""
    subprocess.run(["ip", "-force", "-batch", "-"], input="\n".join(commands), text=True, check=check, timeout=60,
                   stdout=subprocess.DEVNULL, stderr=None if check else subprocess.DEVNULL)


class Switch:
    """Devices sw0, sw1... on interfaces s0, s1..., each the end of a pair whose other end is a bridge's port.

    As in tools/vm/guest, rules send what goes from one address to another out of its interface, though both
    are this machine's; neighbours are fixed, since any interface would answer for any address.
    """

    def __init__(self, count):
        self.count = count
        numbers = range(count)
        address, mac = (lambda n: f"10.10.0.{n + 1}"), (lambda n: f"02:00:00:0a:00:{n + 1:02x}")
        subprocess.run(["modprobe", "bridge"], check=True, timeout=30)
        do("link add switch mtu 4200 type bridge", "link set switch up")
        for n in numbers:
            others = [other for other in numbers if other != n]
            do(f"link add s{n} address {mac(n)} mtu 4200 type veth peer name port{n} mtu 4200",
               f"link set port{n} master switch up", f"address add {address(n)}/32 dev s{n}", f"link set s{n} up",
               f"rule add pref 10 iif s{n} lookup local", f"rule add pref 100 from {address(n)} lookup {1000 + n}",
               *(f"route add {address(other)} dev s{n} src {address(n)} table {1000 + n}" for other in others),
               *(f"neigh add {address(other)} lladdr {mac(other)} dev s{n} nud permanent" for other in others))
            subprocess.run(["rdma", "link", "add", f"sw{n}", "type", "rxe", "netdev", f"s{n}"], check=True, timeout=30)

    def remove(self):
        for n in range(self.count):
            subprocess.run(["rdma", "link", "delete", f"sw{n}"], check=True, timeout=30)
            do(f"rule del pref 10 iif s{n}", f"rule del pref 100 from 10.10.0.{n + 1} lookup {1000 + n}",
               f"link del s{n}")
        do("link del switch")
