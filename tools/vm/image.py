"""What a guest boots, and where it is kept between runs: a Debian kernel and an initramfs."""
import fcntl
import glob
import hashlib
import lzma
import os
import re
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
SIW_PROGRAMS = {"make": "make", "gcc": "gcc", "tar": "tar", "xz": "xz-utils"}
NODES_PROGRAMS = {"dropbear": "dropbear-bin", "ssh-keygen": "openssh-client"}
APT_REMEDY = "This needs Debian's packages: `apt-get update` (as root), and a network."
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
    siw: str        # file: the module, where it is asked for; else None


def say(text):
    print(f"rxe-vm: {text}", file=sys.stderr, flush=True)


def run_quietly(command, remedy, **options):
    """Runs a command and returns its output; its messages are shown only if it fails."""
    result = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if result.returncode != 0:
        raise Failure(f"{' '.join(command)} failed: {result.stderr.strip()}\n{remedy}")
    return result.stdout


def cache_dir(release):
    """@param release  None: this machine's own; else a release of Debian, which has a folder of its own there"""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    candidates = [f"{home}/rdmameter", os.path.abspath(f"{VM_DIR}/../../build/rxe-vm")]
    for path in candidates:
        path += f"/debian-{release}" if release else ""
        try:
            os.makedirs(path, exist_ok=True)
        except OSError:
            continue
        if os.access(path, os.W_OK):
            return path
    raise Failure(f"none of {' '.join(candidates)} is writable: set XDG_CACHE_HOME.")


def options_for_apt(cache, release):
    """Options by which apt sees that release and nothing else, with lists of its own. Fetches the lists."""
    mirror = run_quietly([f"{VM_DIR}/../debian-mirror", release], "Is apt in order here?").strip()
    if not mirror:
        raise Failure(f"--kernel {release}: this machine's apt has no mirror of Debian.")
    state = f"{cache}/apt"
    os.makedirs(f"{state}/lists/partial", exist_ok=True)
    with open(f"{state}/sources.list", "w", encoding="ascii") as file:
        file.write(f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {mirror} {release} main\n")
    options = ["-o", f"Dir::Etc::SourceList={state}/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null",
               "-o", f"Dir::State::Lists={state}/lists", "-o", f"Dir::Cache={state}",
               "-o", "Acquire::Languages=none"]
    run_quietly(["apt-get", *options, "update"], f"Has Debian's mirror the release {release}?")
    return options


def depends(options, package):
    """The packages that it needs. @param options  of apt"""
    said = run_quietly(["env", "LC_ALL=C", "apt-cache", *options, "depends", package], APT_REMEDY)  # apt translates "Depends"
    return re.findall(r"^[ |]*(?:Pre)?Depends: (\S+)$", said, re.M)


def kernel_packages(options):
    """The names of the packages of the newest kernel: one, or in newer releases one for each part.

    @param options  of apt
    """
    if os.uname().machine != "x86_64":
        raise Failure(f"the guest is an x86-64 machine that runs this machine's programs, and here is {os.uname().machine}.")
    if not shutil.which("apt-get"):
        raise Failure("the guest boots the kernel of Debian's packages, and there is no apt here to fetch it.")
    image = next((name for name in depends(options, "linux-image-amd64") if name.startswith("linux-image-")), None)
    if image is None:
        raise Failure(f"apt knows no kernel behind linux-image-amd64. {APT_REMEDY}")
    # linux-binary-V, linux-modules-V, linux-base-V
    return [image, *(name for name in depends(options, image) if name.endswith(image.removeprefix("linux-image")))]


def download(options, packages, scratch):
    """Unpacks packages into scratch/root, which it returns. @param options  of apt"""
    run_quietly(["apt-get", *options, "download", *packages],
                "Is there a network? Are apt's lists old (`apt-get update`, as root)?", cwd=scratch)
    for archive in glob.glob(f"{scratch}/*.deb"):
        run_quietly(["dpkg", "-x", archive, f"{scratch}/root"], "Is the disk full?")
    return f"{scratch}/root"


def fetch_kernel(cache, release):
    """Returns the directory of the newest unpacked kernel, fetching one if there is none.

    Never looks for a newer one by itself: remove the directory to get it.
    """
    known = sorted(glob.glob(f"{cache}/kernel-*"), key=os.path.getmtime)
    if known:
        return known[-1]
    options = options_for_apt(cache, release) if release else []
    packages = kernel_packages(options)
    say(f"fetching {packages[0]} (once, about 100 MB) into {cache}")
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        root = download(options, packages, scratch)
        # Debian 13 and later have them in usr/lib; modprobe -d and depmod -b look in lib, as a whole system has it.
        if not os.path.exists(f"{root}/lib") and os.path.exists(f"{root}/usr/lib"):
            os.symlink("usr/lib", f"{root}/lib")
        versions = os.listdir(f"{root}/lib/modules") if os.path.isdir(f"{root}/lib/modules") else []
        if len(versions) != 1:
            raise Failure(f"{' '.join(packages)}: one folder is expected in lib/modules or usr/lib/modules, and there "
                          f"are {len(versions)}. Boot the kernel of another release: --kernel bookworm.")
        # The package leaves modules.dep to its postinst script.
        run_quietly(["depmod", "-b", root, versions[0]], "Is the disk full?")
        os.rename(root, f"{cache}/kernel-{versions[0]}")
    return f"{cache}/kernel-{versions[0]}"


def unpack_vmlinux(kernel):
    """Returns the path of the kernel's bare image: emulated, unpacking takes 2 s of each start."""
    packed = next(iter(glob.glob(f"{kernel}/boot/vmlinuz-*") + glob.glob(f"{kernel}/lib/modules/*/vmlinuz")), None)
    if packed is None:
        raise Failure(f"{kernel} has no vmlinuz in boot or lib/modules. Remove it and try again.")
    bare = f"{kernel}/vmlinux"
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


def build_siw(cache, kernel, release):
    """Returns the path of siw.ko for that kernel, the software iWARP that Debian's kernels leave out. It is built once.

    Of Debian's source of the kernel, by its headers, neither of which is installed.
    """
    module = f"{kernel}/siw.ko"
    if os.path.exists(module):
        return module
    version = kernel.rpartition("/kernel-")[2]
    source = f"linux-source-{re.match(r'[0-9]+[.][0-9]+', version).group()}"
    options = options_for_apt(cache, release) if release else []
    headers = [f"linux-headers-{version}"]
    headers += [name for name in depends(options, headers[0]) if re.match("linux-(headers|kbuild)-", name)]
    say(f"building siw for {version} (once, from {source}, 150 MB)")
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        try:
            root = download(options, [*headers, source], scratch)
        except Failure as failure:
            raise Failure(f"{failure}\nDebian keeps the headers of its newest kernel alone: remove {kernel} to boot that.") from failure
        sources, folder = f"{root}/usr/src", f"{source}/drivers/infiniband/sw/siw"
        run_quietly(["tar", "-xf", f"{sources}/{source}.tar.xz", "-C", scratch, folder], "Is the disk full?")
        makefile = f"{sources}/{headers[0]}/Makefile"
        with open(makefile, encoding="ascii") as file:
            text = file.read().replace("/usr/src/", f"{sources}/")
        with open(makefile, "w", encoding="ascii") as file:
            file.write(text)
        # Without BTF, which Debian 13's would make by pahole.
        run_quietly(["make", "-C", f"{sources}/{headers[0]}", f"M={scratch}/{folder}", "CONFIG_RDMA_SIW=m",
                     "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"],
                    "It needs the compiler of that kernel: Debian 12's has gcc-12.")
        os.rename(f"{scratch}/{folder}/siw.ko", module)
    return module


def prepare(programs, release=None, siw=False):
    """Checks that they are installed; returns the Image, making what is not there yet.

    @param programs  {program: Debian package}
    @param release   the kernel's release of Debian; None: this machine's own
    @param siw       with the module of siw
    """
    # Debian keeps modprobe and depmod out of users' PATH.
    os.environ["PATH"] = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
    missing = sorted({programs[name] for name in programs if not shutil.which(name)})
    if missing:
        raise Failure(f"not installed: {' '.join(missing)}. `tools/rxe-vm install` or "
                      f"`apt-get install {' '.join(missing)}` (as root) brings them.")
    cache = cache_dir(release)
    with open(f"{cache}/lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two first runs at once: one works, one waits
        kernel = fetch_kernel(cache, release)
        return Image(cache, kernel, unpack_vmlinux(kernel), build_initramfs(cache, kernel),
                     build_siw(cache, kernel, release) if siw else None)


def install():
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends",
                                            *sorted({*PROGRAMS.values(), *NODES_PROGRAMS.values()})]):
        if subprocess.run(sudo + command, check=False).returncode != 0:
            raise Failure(f"{' '.join(sudo + command)} failed.")
    say(f"ready: {prepare(PROGRAMS).kernel}")
    return 0
