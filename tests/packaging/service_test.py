#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The systemd unit, started by a systemd of its own in tools/rxe-vm: a client measures, and the service has no more than it needs."""
import errno
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "device"))
import rdmameter  # pylint: disable=wrong-import-position

SYSTEMD = "/usr/lib/systemd/systemd"
UNITS, TOKEN, PROGRAM, LOG = "/run/systemd/system", "/run/rdmameter-token", "/run/rdmameter", "/run/rdmameter.log"
PORT = 18620
BOOT = 120  # [s], emulated
# This systemd starts the service and nothing else of the machine.
DROP_IN = f"""[Unit]
DefaultDependencies=no
[Service]
LoadCredential=
LoadCredential=token:{TOKEN}
StandardOutput=null
StandardError=file:{LOG}
"""


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="ascii") as file:
        file.write(text)


def answers():
    try:
        socket.create_connection(("127.0.0.1", PORT), 1).close()
        return True
    except OSError:
        return False


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return dict(re.findall(r"(\w+):\s*(\S+)", file.read()))


def servers():
    """[pid] of this machine's `rdmameter serve`, sessions not among them."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                if file.read().split(b"\0")[:2] == [PROGRAM.encode(), b"serve"]:
                    found.append(int(path.split("/")[2]))
        except OSError:  # it has ended
            pass
    return found


class Service(rdmameter.Test):
    @classmethod
    def setUpClass(cls):
        shutil.copy(rdmameter.program, PROGRAM)  # the unit sees neither /home nor /tmp, where the build may be
        os.chmod(PROGRAM, 0o755)
        with open(os.path.join(os.path.dirname(rdmameter.program), "packaging/rdmameter.service"), encoding="ascii") as file:
            unit = re.sub(r"(?m)^ExecStart=\S+", f"ExecStart={PROGRAM}", file.read())
        write(f"{UNITS}/rdmameter.service", unit)
        write(f"{UNITS}/rdmameter.service.d/test.conf", DROP_IN)
        write(f"{UNITS}/test.target", "[Unit]\nDefaultDependencies=no\nWants=rdmameter.service\n")
        for name in ("network-online.target", "rdma-hw.target"):
            os.symlink("/dev/null", f"{UNITS}/{name}")
        cls.token = "a-token-of-more-than-16-characters"
        write(TOKEN, cls.token + "\n", 0o600)
        if not os.path.ismount("/sys/fs/cgroup"):
            subprocess.run(["mount", "-t", "cgroup2", "none", "/sys/fs/cgroup"], check=True)
        # It is process 1 of a namespace of its own, in which services see mounts that it makes later, of credentials say.
        cls.systemd = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "--cgroup",
             "sh", "-c", 'mount --make-rshared / && exec "$@"', "sh", "env", "container=rxe-vm",
             SYSTEMD, "--system", "--unit=test.target", "--log-target=console", "--show-status=no"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if not rdmameter.wait_until(answers, BOOT, 0.5):
            cls.tearDownClass()
            with open(LOG, encoding="utf-8") if os.path.exists(LOG) else open(os.devnull, encoding="utf-8") as log:
                raise AssertionError(f"the service does not answer: {cls.systemd.stdout.read()[-4000:]}\n{log.read()}")
        [cls.pid] = servers()

    @classmethod
    def tearDownClass(cls):
        cls.systemd.send_signal(signal.SIGKILL)
        cls.systemd.wait()

    def log(self):
        with open(LOG, encoding="utf-8") as file:
            return file.read()

    def test_a_client_with_the_token_measures_and_one_without_does_not(self):
        at = f"127.0.0.1:{PORT}"
        done = self.run_program(at, "write_lat", "--iterations", "20", "--warmup", "0", token=self.token)
        self.assertIn("latency", done.rows[0])
        self.assertNotIn(self.token, self.log())
        self.run_program(at, "write_lat", token="another-token-of-some-length", status=rdmameter.FAILED)

    def test_its_sessions_are_shut_in_by_landlock_as_well(self):
        self.assertNotIn("no Landlock", self.log())
        run = self.start(f"127.0.0.1:{PORT}", "write_lat", "--duration", "60", "--wait", "yield", token=self.token)
        sessions = rdmameter.wait_until(lambda: rdmameter.children_of(self.pid), 60)
        self.assertTrue(rdmameter.wait_until(lambda: "write latency" in self.log(), 60), self.log())
        self.assertEqual(len(sessions), 1)
        self.assertEqual(status_of(sessions[0])["NoNewPrivs"], "1")
        run.process.kill()

    def test_it_has_no_root_no_capabilities_few_calls_and_limits(self):
        status = status_of(self.pid)
        self.assertNotEqual(status["Uid"], "0")
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
        for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertEqual(int(status[name], 16), 0, name)
        with open(f"/proc/{self.pid}/cgroup", encoding="ascii") as file:
            group = file.read().partition("::")[2].strip()
        group = next(each for each in (f"/sys/fs/cgroup{group}", "/sys/fs/cgroup/system.slice/rdmameter.service") if os.path.isdir(each))
        for name in ("memory.max", "pids.max"):
            with open(f"{group}/{name}", encoding="ascii") as file:
                self.assertNotEqual(file.read().strip(), "max", name)

    def test_what_is_no_temporary_file_it_cannot_write_not_even_as_root(self):
        for folder in ("usr", "etc"):
            with self.subTest(folder), self.assertRaises(OSError) as caught:
                with open(f"/proc/{self.pid}/root/{folder}/new", "w", encoding="ascii"):
                    pass
            self.assertEqual(caught.exception.errno, errno.EROFS)


if __name__ == "__main__":
    if not os.path.exists(SYSTEMD):
        print(f"1..0 # SKIP there is no {SYSTEMD}")
    else:
        rdmameter.main(devices=1, in_vm=True)
