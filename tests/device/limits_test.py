#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the machine withholds: locked memory, the device itself."""
import subprocess

import rdmameter

# root passes over the limit unless it loses this capability.
LITTLE_MEMLOCK = ("setpriv", "--bounding-set", "-ipc_lock", "--inh-caps", "-ipc_lock", "prlimit", "--memlock=65536")


class Memlock(rdmameter.Test):
    @rdmameter.everyday
    def test_too_little_is_named_with_the_remedy(self):
        done = self.run_program("--loopback", "write_bw", "--size", "1M", prefix=LITTLE_MEMLOCK, status=rdmameter.FAILED)
        self.assertRegex(done.stderr, "ibv_reg_mr .*RLIMIT_MEMLOCK is 65536 bytes: .*ulimit -l unlimited.*memlock")
        self.assertIn("RLIMIT_MEMLOCK", done.rows[0]["error_message"])
        self.assertEqual(done.result["context"]["rdmameter"]["initiator"]["memlock_limit_bytes"], 65536)

    def test_too_little_at_the_server_is_told_to_the_client(self):
        command = [*LITTLE_MEMLOCK, rdmameter.program, "serve", "--port", "0"]
        server = rdmameter.Started(command, rdmameter.environment())
        self.addCleanup(server.end, 0)
        port = server.await_text("stderr", r"listening on \S+:(\d+)")[1]
        done = self.run_program(f"localhost:{port}", "write_bw", "--size", "1M,64", "--depth", "4", "--signal-every", "1",
                                "--iterations", "20", status=rdmameter.FAILED)
        self.assertRegex(done.stderr, "the responder: ibv_reg_mr .*RLIMIT_MEMLOCK is 65536 bytes")
        self.assertIn("bandwidth", done.rows[1])  # what fits is measured all the same

    def test_what_fits_is_measured(self):
        self.measure("write_lat", "--iterations", "20", prefix=LITTLE_MEMLOCK)


class NoDevice(rdmameter.Test):
    """In a network namespace of its own a process sees none of the devices."""

    def setUp(self):
        super().setUp()
        subprocess.run(["rdma", "system", "set", "netns", "exclusive"], check=True)
        self.addCleanup(subprocess.run, ["rdma", "system", "set", "netns", "shared"], check=True)
        elsewhere = 'mount -t sysfs none /sys; ip link set lo up'
        self.prefix = ("unshare", "--net", "--mount", "sh", "-c", f'{elsewhere}; mount -t tmpfs none /dev/infiniband; exec "$@"', "sh")
        self.with_nodes = ("unshare", "--net", "--mount", "sh", "-c", f'{elsewhere}; exec "$@"', "sh")

    @rdmameter.everyday
    def test_those_whose_nodes_are_there_are_in_another_namespace(self):
        done = self.run_program("--loopback", "write_lat", prefix=self.with_nodes, status=rdmameter.FAILED)
        self.assertRegex(done.stderr, "/dev/infiniband has nodes of verbs devices, but the kernel shows none here: they are in another network namespace")

    @rdmameter.everyday
    def test_a_run_ends_with_77_and_says_what_to_do(self):
        for target in (("--loopback",), ("localhost:9",)):
            done = self.run_program(*target, "write_lat", prefix=self.prefix, status=rdmameter.NO_DEVICE)
            self.assertRegex(done.stderr, "no verbs device on this machine.*rdma link add.*--device null")
            self.assertIn("no verbs device", done.rows[0]["error_message"])

    def test_devices_and_check_say_so_too(self):
        for words in (("devices",), ("check", "--loopback")):
            done = rdmameter.Started([*self.prefix, rdmameter.program, *words], rdmameter.environment()).end(30)
            self.assertEqual(done.status, rdmameter.NO_DEVICE, done)

    def test_the_null_device_works_all_the_same(self):
        done = self.run_program("write_lat", "--device", "null", "--iterations", "1000", prefix=self.prefix)
        self.assertEqual(done.rows[0]["path"], "null")


@rdmameter.everyday
class Sandbox(rdmameter.Test):
    def test_calls_that_no_session_needs_are_refused_within_one_that_measures(self):
        self.assert_calls_refused("write_lat")


if __name__ == "__main__":
    rdmameter.main(in_vm=True)
