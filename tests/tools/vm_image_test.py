#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How tools/rxe-vm finds the kernel in the packages of each Debian release, and what it says where it does not. Boots nothing.

apt and dpkg are scripts here: a package is an empty file, and what "unpacking" it makes is what its release has.
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import lzma
import os
import struct
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
TOOL = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "tools", "rxe-vm")
loader = importlib.machinery.SourceFileLoader("rxe_vm", TOOL)
rxe_vm = importlib.util.module_from_spec(importlib.util.spec_from_loader("rxe_vm", loader))
loader.exec_module(rxe_vm)
image = sys.modules["image"]

# package -> what it depends on, and what is in it
BOOKWORM = {"linux-image-6.1-amd64": ("kmod", "boot/vmlinuz-6.1-amd64 lib/modules/6.1-amd64/kernel/rxe.ko")}
TRIXIE = {"linux-image-6.12-amd64": ("kmod", "boot/vmlinuz-6.12-amd64 usr/lib/modules/6.12-amd64/kernel/rxe.ko")}
TESTING = {
    "linux-image-7.2-amd64": ("linux-base linux-base-7.2-amd64 linux-binary-7.2-amd64 linux-modules-7.2-amd64", "usr/share/doc/image"),
    "linux-base-7.2-amd64": ("", "usr/lib/modules/7.2-amd64/modules.builtin"),
    "linux-binary-7.2-amd64": ("linux-base-7.2-amd64", "usr/lib/modules/7.2-amd64/vmlinuz"),
    "linux-modules-7.2-amd64": ("kmod", "usr/lib/modules/7.2-amd64/kernel/rxe.ko"),
}


class WithPackages(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.scratch = directory.name
        os.makedirs(f"{self.scratch}/cache")
        path = mock.patch.dict(os.environ, {"PATH": f"{self.scratch}/bin:/usr/bin:/bin", "XDG_CACHE_HOME": f"{self.scratch}/cache"})
        path.start()
        self.addCleanup(path.stop)

    def release(self, packages):
        """Makes apt and dpkg those of a release with these packages."""
        os.makedirs(f"{self.scratch}/bin", exist_ok=True)
        depends = "".join(f"{name}) words='{words}' ;; " for name, (words, _) in packages.items())
        files = "".join(f"{name}.deb) words='{words}' ;; " for name, (_, words) in packages.items())
        for name, text in {
                "apt-cache": f"case $2 in linux-image-amd64) words='{next(iter(packages), '')}' ;; {depends} esac; echo $2\n"
                             "for word in $words; do echo \"  Depends: $word\"; done; echo ' |Depends: dracut'",
                "apt-get": 'shift; for name in "$@"; do touch "$name.deb"; done',
                "dpkg": f"case ${{2##*/}} in {files} esac\n"
                        'for file in $words; do mkdir -p "$3/${file%/*}"; echo "$file" >"$3/$file"; done',
                "depmod": 'touch "$2/lib/modules/$3/modules.dep"'}.items():
            with open(f"{self.scratch}/bin/{name}", "w", encoding="ascii") as file:
                file.write(f"#!/bin/sh\n{text}\n")
            os.chmod(file.name, 0o755)


class Kernel(WithPackages):
    def fetched(self):
        with contextlib.redirect_stderr(io.StringIO()):
            return image.fetch_kernel(f"{self.scratch}/cache", None)

    def test_of_debian_12_is_one_package(self):
        self.release(BOOKWORM)
        kernel = self.fetched()
        self.assertTrue(os.path.exists(f"{kernel}/lib/modules/6.1-amd64/modules.dep"))

    def test_of_debian_13_has_its_modules_in_usr(self):
        self.release(TRIXIE)
        kernel = self.fetched()
        self.assertTrue(os.path.exists(f"{kernel}/lib/modules/6.12-amd64/modules.dep"))
        self.assertTrue(os.path.exists(f"{kernel}/usr/lib/modules/6.12-amd64/modules.dep"))

    def test_of_testing_is_all_packages_of_its_version(self):
        self.release(TESTING)
        kernel = self.fetched()
        for file in ("kernel/rxe.ko", "modules.dep", "modules.builtin", "vmlinuz"):
            self.assertTrue(os.path.exists(f"{kernel}/lib/modules/7.2-amd64/{file}"), file)

    def test_lies_in_boot_or_beside_its_modules_and_is_unpacked(self):
        packed = bytearray(0x300)  # its payload begins at (setup_sects + 1) * 512 + payload_offset
        payload = lzma.compress(b"bare kernel")
        struct.pack_into("<II", packed, 0x248, 0x100, len(payload))
        for place in ("boot/vmlinuz-6.1-amd64", "lib/modules/7.2-amd64/vmlinuz"):
            kernel = f"{self.scratch}/{os.path.basename(place)}-kernel"
            os.makedirs(os.path.dirname(f"{kernel}/{place}"))
            with open(f"{kernel}/{place}", "wb") as file:
                file.write(packed + payload)
            with open(image.unpack_vmlinux(kernel), "rb") as file:
                self.assertEqual(file.read(), b"bare kernel", place)
        with self.assertRaisesRegex(image.Failure, "has no vmlinuz in boot or lib/modules"):
            image.unpack_vmlinux(f"{self.scratch}/none")

    def test_that_is_nowhere_is_a_sentence(self):
        self.release({"linux-image-9-amd64": ("", "opt/vmlinuz")})
        with self.assertRaisesRegex(image.Failure, "one folder is expected in lib/modules .* --kernel bookworm"):
            self.fetched()
        self.release({})
        with self.assertRaisesRegex(image.Failure, "apt knows no kernel .* `apt-get update`"):
            self.fetched()


class Siw(WithPackages):
    HEADERS = {"linux-headers-6.1-amd64": ("linux-headers-6.1-common linux-kbuild-6.1 linux-compiler-gcc-12-x86", "usr/src/linux-headers-6.1-amd64/Makefile"),
               "linux-source-6.1": ("", "usr/src/linux-source-6.1.tar.xz")}

    def built(self, tools):
        """What comes of a kernel that is there, with these tools: {name: text of a script}."""
        self.release(self.HEADERS)
        for name, text in tools.items():
            with open(f"{self.scratch}/bin/{name}", "w", encoding="ascii") as file:
                file.write(f"#!/bin/sh\n{text}\n")
            os.chmod(file.name, 0o755)
        kernel = f"{self.scratch}/cache/kernel-6.1-amd64"
        os.makedirs(kernel, exist_ok=True)
        with contextlib.redirect_stderr(io.StringIO()):
            return image.build_siw(f"{self.scratch}/cache", kernel, None)

    def test_is_built_once(self):
        module = self.built({"tar": 'mkdir -p "$4/$5"', "make": 'touch "${3#M=}/siw.ko"'})
        self.assertTrue(os.path.exists(module))
        self.assertEqual(self.built({"tar": "exit 1"}), module)

    def test_that_cannot_be_built_is_a_sentence_with_the_remedy(self):
        with self.assertRaisesRegex(image.Failure, r"make .* failed: no gcc-12[\s\S]*needs the compiler of that kernel"):
            self.built({"tar": 'mkdir -p "$4/$5"', "make": "echo no gcc-12 >&2; exit 2"})


class Errors(unittest.TestCase):
    """No mistake ends with a traceback."""

    def said(self, mistake):
        text = io.StringIO()
        with mock.patch.object(rxe_vm, "run", side_effect=mistake), contextlib.redirect_stderr(text), \
                mock.patch.object(sys, "argv", ["rxe-vm", "run", "--", "true"]), mock.patch("signal.signal"):
            self.assertEqual(rxe_vm.main(), 2)
        return text.getvalue()

    def test_of_the_system_name_file_and_reason(self):
        self.assertRegex(self.said(OSError(28, "No space left on device", "/cache/x")), "^rxe-vm: /cache/x: No space left on device. .*df")

    def test_of_ours_name_their_place(self):
        self.assertRegex(self.said(IndexError("list index out of range")), "^rxe-vm: IndexError at [a-z_.]+:[0-9]+: list index out of range. .*report")


if __name__ == "__main__":
    unittest.main()
