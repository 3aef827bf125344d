"""Several guests on one network: what they are called, what joins them, how ssh gets around."""
import contextlib
import os
import shlex
import socket

from image import run_quietly

MAX_NODES = 16  # they share one wire, so each frame goes to all of them
SSH_CONFIG = """\
BatchMode yes
ConnectTimeout 30
ServerAliveInterval 30
"""


def name_of(number):
    return f"node{number}"


def address_of(number):
    return f"10.9.0.{number + 1}"


def open_cables(count, stack):
    """Returns, for each node, its sockets: node 0 has one to each other node. `stack` closes them.

    Pairs of sockets, so that nobody else on this machine can plug in.
    """
    held = [[] for _ in range(count)]
    for node in held[1:]:
        for holder, end in zip((held[0], node), socket.socketpair()):
            holder.append(stack.enter_context(contextlib.closing(end)))
    return held


def network_arguments(number, cables):
    """QEMU's arguments for a network card, and a hub that it and all cables hang on."""
    # The MAC address makes the link-local one, and so GID 0. The speed [Mb/s] is that of a veth
    # pair: rxe asks for one, time and again. No romfile: nobody boots from it.
    arguments = ["-netdev", "hubport,id=card,hubid=0", "-device",
                 f"virtio-net-pci,netdev=card,mac=02:00:00:09:00:{number + 1:02x},"
                 "speed=10000,duplex=full,romfile="]
    for i, cable in enumerate(cables):
        arguments += ["-netdev", f"socket,id=cable{i},fd={cable.fileno()}",
                      "-netdev", f"hubport,id=plug{i},hubid=0,netdev=cable{i}"]
    return arguments


def write_ssh_files(job, count, environment):
    """Writes into the directory `job` what vm/network-nodes reads, with keys for this run alone.

    What ssh starts on a node starts as COMMAND does: in this directory, with its environment.
    """
    remedy = f"Is there room in {job}?"
    run_quietly(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "rxe-vm",
                 "-f", f"{job}/user_key"], remedy)
    made = run_quietly(["dropbearkey", "-t", "ed25519", "-f", f"{job}/host_key"], remedy)
    host_key = next(line for line in made.splitlines() if line.startswith("ssh-ed25519 "))
    known = [name for i in range(count) for name in (name_of(i), address_of(i))]
    files = {"nodes": "".join(f"{address_of(i)} {name_of(i)}\n" for i in range(count)),
             "ssh_config": SSH_CONFIG,
             "known_hosts": f"{','.join(known)} {host_key}\n",
             "session": f"cd {shlex.quote(os.getcwd())} && exec {shlex.join(environment)} "
                        'sh -c "${SSH_ORIGINAL_COMMAND:-exec sh}"\n'}
    for name, text in files.items():
        with open(f"{job}/{name}", "wb") as file:
            file.write(os.fsencode(text))
