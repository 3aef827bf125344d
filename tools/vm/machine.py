"""One guest: QEMU with its arguments, and what it said last."""
import os
import subprocess

import tsc


class Machine:
    """A running QEMU and the readers of its ports; both end with this object's context."""

    def __init__(self, name, control, streams, log, console):
        """@param streams  readers of the command's output, where it has a command"""
        self.name, self.control, self.streams, self.logs = name, control, streams, (log, console)
        self.readers, self.process = {}, None

    def start(self, command_for, *cables):
        """@param command_for  makes QEMU's command of the files that get what the guest tells
        @param cables  sockets for QEMU to inherit"""
        reads, writes = zip(*(os.pipe() for _ in (self.control, *self.streams)))
        self.readers = dict(zip(reads, (self.control, *self.streams)))
        try:
            ports = [f"/proc/self/fd/{fd}" for fd in writes]
            with open(self.logs[0], "wb") as log:
                self.process = subprocess.Popen(
                    command_for(ports + ["/dev/null"] * (3 - len(ports))), stdin=subprocess.DEVNULL,
                    stdout=log, stderr=log, start_new_session=True,
                    pass_fds=(*writes, *(cable.fileno() for cable in cables)))
        finally:
            for fd in writes:
                os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process is not None:
            self.process.kill()  # the guest has synced its files before it said "exit"
            self.process.wait()
        for fd in self.readers:
            os.close(fd)

    def failure(self):
        """What became of it, and the end of what it said."""
        what = {"off": "did not start", "up": "could not be set up"}.get(self.control.stage, "died")
        last_words = ""
        for path in self.logs:
            if os.path.exists(path):
                with open(path, errors="replace", encoding="utf-8") as file:
                    last_words += "".join(file.readlines()[-60:])  # a kernel's oops is this long
        return f"{self.name} {what}; the end of its console:\n{last_words}"


def kernel_parameters(kvm, image, job):
    """What the kernels of all nodes are told."""
    # tsc=reliable: otherwise Linux reads the HPET, 14 times slower than the TSC.
    # no_timer_check: on a busy host an emulated CPU may not see the timer's first ticks in time, and panics.
    # oops=panic, panic=-1: a fault in the driver ends the run at once, with its trace.
    parameters = ["console=ttyS0", "loglevel=5", "tsc=reliable", "no_timer_check", "oops=panic", "panic=-1",
                  "mitigations=off", f"rxe_vm_job={job}", f"rxe_vm_kernel={image.kernel}"]
    if not kvm and (khz := tsc.measure_khz()) is not None:
        parameters.append(f"tsc_early_khz={khz}")
    return parameters


def size_arguments(options):
    """CPUs and memory, of as many NUMA nodes as are asked for: each a socket with its share of both."""
    count = options.numa_nodes
    arguments = ["-smp", f"{options.cpus},sockets={count}", "-m", str(options.memory)]
    for node in range(count if count > 1 else 0):
        cpus = options.cpus // count
        arguments += ["-object", f"memory-backend-ram,id=memory{node},size={options.memory // count}M",
                      "-numa", f"node,nodeid={node},memdev=memory{node},cpus={node * cpus}-{node * cpus + cpus - 1}"]
    return arguments


def qemu_command(kvm, image, parameters, console, shares, network, options, ports):
    """@param parameters  the kernel's
    @param console     file that gets the kernel's messages
    @param shares      directories that the guest may write to
    @param network     QEMU's arguments for it
    @param ports       files that get what the guest writes to its ports
    """
    def escape(path):
        return path.replace(",", ",,")  # QEMU's own way to write a comma in an option

    accel = ["kvm", "-cpu", "host"] if kvm else ["tcg,thread=multi", "-cpu", "max"]
    command = [
        # QEMU must not outlive us, not even when we are killed.
        "setpriv", "--pdeathsig", "KILL",
        "qemu-system-x86_64", "-machine", "q35", "-nodefaults", "-no-user-config",
        "-display", "none", "-no-reboot", "-accel", *accel,
        *size_arguments(options),
        "-kernel", image.vmlinux, "-initrd", image.initramfs,
        "-append", " ".join(parameters),
        "-chardev", f"file,id=console,path={escape(console)}", "-serial", "chardev:console",
        "-device", "virtio-serial", *network]
    # virtserialport, not virtconsole: that one drops what the host does not take at once.
    for number, path in enumerate(ports, start=1):
        command += ["-chardev", f"file,id=port{number},path={path}",
                    "-device", f"virtserialport,chardev=port{number},nr={number}"]
    exports = [("root", "/", ",readonly=on"),
               *((f"share{i}", path, "") for i, path in enumerate(shares))]
    for name, path, mode in exports:
        # security_model=none: files that the guest makes are plain files of the calling user.
        command += ["-fsdev", f"local,id={name},path={escape(path)},security_model=none,"
                              f"multidevs=remap{mode}",
                    "-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}"]
    return command
