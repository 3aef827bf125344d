"""What guests tell by their ports: the output of the command, and how far each guest is."""
import os
import selectors
import time

SETUP_LIMIT_S = 120  # from the kernel to the command; emulated: some seconds on an idle machine


class Stream:
    """Copies one output of the command up to the token that the guest writes behind it.

    Nothing but the token tells that all has arrived: the guest's ports have no end of file,
    and no order between them.
    """

    def __init__(self, token, target):
        self.token, self.target, self.held = token, target, b""
        self.ended = self.closed = False  # the token has come; QEMU has ended

    def feed(self, data):
        text, found, _ = (self.held + data).partition(self.token)
        self.ended = bool(found)
        hold = 0 if found else next(  # keep back only what may be the token's beginning
            n for n in range(len(self.token) - 1, -1, -1) if text.endswith(self.token[:n]))
        self.held = text[len(text) - hold:]
        text = memoryview(text)[:len(text) - hold]
        while text:
            try:
                text = text[os.write(self.target, text):]
            except BlockingIOError:  # somebody made our stdout non-blocking
                time.sleep(0.01)


class Control:
    """A guest's progress, one word a line: up (kernel), run (all is set up), exit STATUS."""

    def __init__(self, announce):
        self.announce, self.held, self.stage, self.status = announce, b"", "off", None
        self.closed = False  # QEMU has ended

    def feed(self, data):
        *lines, self.held = (self.held + data).split(b"\n")
        for line in lines:
            self.stage, _, value = line.decode().partition(" ")
            self.announce(self.stage)
            if self.stage == "exit":
                self.status = int(value)

    def ready(self):
        return self.stage not in ("off", "up")


def follow(machines, boot_limit_s):
    """Feeds the machines' readers until the first one's command and its outputs have ended.

    Returns early if a machine ended, or its kernel is not up, or it is not set up, in time.
    """
    first, *others = machines
    readers = {fd: reader for machine in machines for fd, reader in machine.readers.items()}
    open_of_first = set(first.readers)
    booting, deadline = True, time.monotonic() + boot_limit_s
    with selectors.DefaultSelector() as selector:
        for fd, reader in readers.items():
            selector.register(fd, selectors.EVENT_READ, reader)
        while open_of_first and not any(other.control.closed for other in others) and not (
                first.control.status is not None and all(stream.ended for stream in first.streams)):
            if booting and all(machine.control.stage != "off" for machine in machines):
                booting, deadline = False, time.monotonic() + SETUP_LIMIT_S
            ready = all(machine.control.ready() for machine in machines)
            events = selector.select(None if ready else max(0, deadline - time.monotonic()))
            if not events:
                return
            for key, _ in events:
                data = os.read(key.fd, 1 << 16)
                if data:
                    key.data.feed(data)
                else:
                    selector.unregister(key.fd)
                    open_of_first.discard(key.fd)
                    key.data.closed = True
