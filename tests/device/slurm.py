# SPDX-License-Identifier: Apache-2.0
"""Slurm in tools/rxe-vm: a controller on this machine and a daemon on each node, of one partition.

Nobody proves who he is to it, so it is for a machine that nobody else reaches.
"""
import os
import shlex
import shutil
import socket
import subprocess
import time

DAEMONS, CLIENTS = ("slurmctld", "slurmd"), ("srun", "sbatch", "scancel", "sinfo")
WHY_NOT = "no Slurm here (tools/install-packages slurm)"
CPUS = 8  # of a node, to be given away; more than it has

CONFIG = """\
ClusterName=rdmameter
SlurmctldHost={nodes[0]}
AuthType=auth/none
CredType=cred/none
SlurmUser=root
MailProg=/bin/true
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdSpoolDir={folder}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
NodeName={names} CPUs={cpus}
PartitionName=all Nodes=ALL Default=YES
"""
# The plugin that is content where no control groups are mounted, as nothing here asks for any.
CGROUP_CONFIG = "CgroupPlugin=cgroup/v1"


def find(name):
    """A program's path, also where it is one for root alone; None: it is not installed here."""
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")


def missing():
    return any(find(name) is None for name in DAEMONS + CLIENTS)


class Slurm:
    def __init__(self, folder, nodes=None):
        """On the nodes named, of which this machine is the first one; each has the folder to itself."""
        self.folder, self.nodes = folder, nodes or [socket.gethostname()]
        self.environment = {"SLURM_CONF": f"{folder}/slurm.conf"}
        config = CONFIG.format(folder=folder, nodes=self.nodes, names=",".join(self.nodes), cpus=CPUS)
        prepare = f"mkdir -p {folder}/state {folder}/spool && cat >{folder}/slurm.conf && " \
                  f"echo {CGROUP_CONFIG} >{folder}/cgroup.conf"
        self.daemons = []
        for number, node in enumerate(self.nodes):
            subprocess.run(self.on(number, prepare), input=config, text=True, check=True, timeout=60)
        self.start(0, "slurmctld")
        for number in range(len(self.nodes)):
            self.start(number, "slurmd")
        self.await_idle()

    def on(self, number, command):
        """Words that run the shell's command on a node."""
        return ["sh", "-c", command] if number == 0 else ["ssh", self.nodes[number], command]

    def start(self, number, daemon):
        command = f"SLURM_CONF={shlex.quote(self.environment['SLURM_CONF'])} exec {find(daemon)} -D"
        with open(f"{self.folder}/{daemon}.{self.nodes[number]}", "wb") as log:
            self.daemons.append(subprocess.Popen(self.on(number, command), stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def call(self, *command):
        return subprocess.run(command, env=os.environ | self.environment, capture_output=True, text=True, timeout=60,
                              check=False)

    def await_idle(self, timeout=60):
        """Until every node is there and has nothing to do."""
        end = time.monotonic() + timeout
        while True:
            states = self.call("sinfo", "--noheader", "--Node", "--format=%T")
            if states.stdout.split() == ["idle"] * len(self.nodes):
                return
            if time.monotonic() > end:
                raise AssertionError(f"nodes not idle within {timeout} s: {states.stdout}{states.stderr}{self.logs()}")
            time.sleep(0.1)

    def logs(self):
        """The last lines of each daemon."""
        text = ""
        for name in sorted(os.listdir(self.folder)):
            if name.split(".")[0] in DAEMONS and not name.endswith(".pid"):
                with open(f"{self.folder}/{name}", encoding="utf-8", errors="replace") as file:
                    text += f"\n{name}:\n" + "".join(file.readlines()[-20:])
        return text

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
