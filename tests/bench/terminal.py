# SPDX-License-Identifier: Apache-2.0
"""A terminal of a given width, for what a program prints there."""
import fcntl
import os
import pty
import struct
import subprocess
import termios


def at_terminal(columns, command, environment, cwd=None):
    """What the command writes to it, and its status. Without color, and with the width from the terminal alone."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {key: value for key, value in environment.items() if key != "COLUMNS"}
    with os.fdopen(ours, "rb", buffering=0) as terminal, subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, cwd=cwd,
            env={**environment, "TERM": "xterm", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}) as child:
        os.close(theirs)
        text = b""
        try:
            while chunk := terminal.read(4096):
                text += chunk
        except OSError:  # Linux's end of a pty
            pass
        status = child.wait(60)
    return text.decode().replace("\r\n", "\n"), status
