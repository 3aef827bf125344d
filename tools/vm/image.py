"""What a guest boots, and where it is kept between runs: a Debian kernel and an initramfs."""
import fcntl
import glob
import hashlib
import lzma
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from typing import NamedTuple

VM_DIR = os.path.dirname(os.path.realpath(__file__))
PROGRAMS = {  # program -> Debian package
    "qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "cpio": "cpio",
    "modprobe": "kmod", "rdma": "iproute2", "setpriv": "util-linux", "dpkg": "dpkg"}
NODES_PROGRAMS = {"dropbear": "dropbear-bin", "ssh-keygen": "openssh-client"}
# Only what the guest needs to reach the host's files; it loads the rest from there.
BOOT_MODULES = ["virtio_pci", "virtio_console", "9p", "9pnet_virtio"]


class Failure(Exception):
    """Ends the program with a sentence and a status."""

    def __init__(self, text, status=2):
        super().__init__(text)
        self.status = status


class Image(NamedTuple):
    cache: str      # directory
    kernel: str     # directory: the unpacked package, with its modules
    vmlinux: str    # file
    initramfs: str  # file


def say(text):
    print(f"rxe-vm: {text}", file=sys.stderr, flush=True)


def run_quietly(command, remedy, **options):
    """Runs a command and returns its output; its messages are shown only if it fails."""
    result = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if result.returncode != 0:
        raise Failure(f"{' '.join(command)} failed: {result.stderr.strip()}\n{remedy}")
    return result.stdout


def cache_dir():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    candidates = [f"{home}/rdmameter", os.path.abspath(f"{VM_DIR}/../../build/rxe-vm")]
    for path in candidates:
        try:
            os.makedirs(path, exist_ok=True)
        except OSError:
            continue
        if os.access(path, os.W_OK):
            return path
    raise Failure(f"none of {' '.join(candidates)} is writable: set XDG_CACHE_HOME.")


def fetch_kernel(cache):
    """Returns the directory of the newest unpacked kernel package, fetching one if there is none.

    Never looks for a newer one by itself: remove the directory to get it.
    """
    known = sorted(glob.glob(f"{cache}/kernel-*"), key=os.path.getmtime)
    if known:
        return known[-1]
    remedy = "This needs Debian's packages: `apt-get update` (as root), and a network."
    depends = run_quietly(["apt-cache", "depends", "linux-image-amd64"], remedy).split()
    package = next((word for word in depends if word.startswith("linux-image-")
                    and word != "linux-image-amd64"), None)
    if package is None:
        raise Failure(f"apt knows no kernel behind linux-image-amd64. {remedy}")
    say(f"fetching {package} (once, about 70 MB) into {cache}")
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        run_quietly(["apt-get", "download", package], remedy, cwd=scratch)
        [archive] = glob.glob(f"{scratch}/*.deb")
        run_quietly(["dpkg", "-x", archive, f"{scratch}/root"], "Is the disk full?")
        version = os.listdir(f"{scratch}/root/lib/modules")[0]
        # The package leaves modules.dep to its postinst script.
        run_quietly(["depmod", "-b", f"{scratch}/root", version], "Is the disk full?")
        os.rename(f"{scratch}/root", f"{cache}/kernel-{version}")
    return f"{cache}/kernel-{version}"


def unpack_vmlinux(kernel):
    """Returns the path of the kernel's bare image: emulated, unpacking takes 2 s of each start."""
    [packed] = glob.glob(f"{kernel}/boot/vmlinuz-*")
    bare = f"{kernel}/boot/vmlinux"
    if not os.path.exists(bare):
        with open(packed, "rb") as file:
            data = file.read()
        # Linux, Documentation/arch/x86/boot.rst: setup_sects, payload_offset, payload_length.
        offset, length = struct.unpack_from("<II", data, 0x248)
        start = (data[0x1f1] + 1) * 512 + offset
        try:
            data = lzma.LZMADecompressor().decompress(data[start:start + length])
        except lzma.LZMAError:  # packed some other way
            return packed
        with open(f"{bare}.new", "wb") as file:
            file.write(data)
        os.rename(f"{bare}.new", bare)
    return bare


def build_initramfs(cache, kernel):
    """Returns the path of the initramfs: busybox, BOOT_MODULES and vm/init."""
    version = kernel.rpartition("/kernel-")[2]
    with open(f"{VM_DIR}/init", "rb") as file:
        digest = hashlib.sha256(file.read() + " ".join(BOOT_MODULES).encode()).hexdigest()[:12]
    initramfs = f"{cache}/initramfs-{version}-{digest}"
    if os.path.exists(initramfs):
        return initramfs
    loads = run_quietly(["modprobe", "-d", kernel, "-S", version, "--show-depends", "-a",
                         *BOOT_MODULES], f"Remove {kernel} and try again.").splitlines()
    modules = dict.fromkeys(line.split()[1] for line in loads if line.startswith("insmod "))
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        tree = f"{scratch}/tree"
        for directory in ("bin", "dev", "proc", "sys", "job", "kernel", "modules", "root"):
            os.makedirs(f"{tree}/{directory}")
        shutil.copy(shutil.which("busybox"), f"{tree}/bin/busybox")
        shutil.copy(f"{VM_DIR}/init", f"{tree}/init")
        for order, module in enumerate(modules):  # the name keeps the order of loading
            shutil.copy(module, f"{tree}/modules/{order:02}-{os.path.basename(module)}")
        run_quietly(["sh", "-c", "find . | cpio --quiet -o -H newc -R 0:0 >../cpio"],
                    "Is the disk full?", cwd=tree)
        os.rename(f"{scratch}/cpio", initramfs)
    return initramfs


def prepare(programs):
    """Checks that they are installed; returns the Image, making what is not there yet.

    @param programs  {program: Debian package}
    """
    # Debian keeps modprobe and depmod out of users' PATH.
    os.environ["PATH"] = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
    missing = sorted({programs[name] for name in programs if not shutil.which(name)})
    if missing:
        raise Failure(f"not installed: {' '.join(missing)}. `tools/rxe-vm install` or "
                      f"`apt-get install {' '.join(missing)}` (as root) brings them.")
    cache = cache_dir()
    with open(f"{cache}/lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two first runs at once: one works, one waits
        kernel = fetch_kernel(cache)
        return Image(cache, kernel, unpack_vmlinux(kernel), build_initramfs(cache, kernel))


def install():
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends",
                                            *sorted({*PROGRAMS.values(), *NODES_PROGRAMS.values()})]):
        if subprocess.run(sudo + command, check=False).returncode != 0:
            raise Failure(f"{' '.join(sudo + command)} failed.")
    say(f"ready: {prepare(PROGRAMS).kernel}")
    return 0
