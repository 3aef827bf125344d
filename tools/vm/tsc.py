"""The frequency of this machine's TSC, which is what an emulated guest reads as its own.

On a busy machine the guest's kernel cannot measure it: 923 MHz were seen for 2596, and all
its clocks ran 2.8 times too fast.
"""
import ctypes
import mmap
import platform
import time

RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")  # rdtsc; shl rdx,32; or rax,rdx; ret


def measure_khz(window_s=0.05):
    """Returns the TSC's frequency [kHz], good to about 10 ppm; None if this is no x86-64."""
    if platform.machine() != "x86_64":
        return None
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(RDTSC)
    rdtsc = ctypes.CFUNCTYPE(ctypes.c_uint64)(
        ctypes.addressof(ctypes.c_char.from_buffer(page)))

    def sample():
        before, ticks, after = time.monotonic_ns(), rdtsc(), time.monotonic_ns()
        return after - before, (before + after) / 2, ticks

    # The quickest of many: a task switch between the two clocks spoils a sample.
    _, start_ns, start_ticks = min(sample() for _ in range(100))
    time.sleep(window_s)
    _, end_ns, end_ticks = min(sample() for _ in range(100))
    return round((end_ticks - start_ticks) * 1e6 / (end_ns - start_ns))
