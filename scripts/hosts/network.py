"""Hosts on one machine: network namespaces, each with an address, joined by a bridge.

They exist in a network and a mount namespace of this process (`enter`), so they are invisible outside
and do not outlive it.
"""

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys

PREFIX = "10.77.0."
# The last part of the first host's address.
FIRST = 10
ENTERED = "TOPICMILL_HOSTS_ENTERED"


def command(*words: str) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def permitted() -> str:
    """Returns an empty text if hosts can be created on this machine, else the reason why not."""
    for tool in ("unshare", "nsenter", "ip", "tc", "mount"):
        if not any(os.access(f"{d}/{tool}", os.X_OK) for d in os.environ["PATH"].split(":")):
            return f"{tool} is not there (on Debian: iproute2, util-linux, mount)"
    probe = "mount -t tmpfs none /run && mkdir /run/netns && ip netns add a && ip link add bridge0 type bridge"
    tried = subprocess.run([*_unshare(), "sh", "-c", probe], capture_output=True, text=True)
    return tried.stderr.strip() if tried.returncode else ""


def _unshare() -> list[str]:
    root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *root, "--net", "--mount"]


def enter() -> None:
    """Restarts this program in its own namespaces, unless it is there already."""
    if not os.environ.get(ENTERED):
        os.environ[ENTERED] = "1"
        os.execvp("unshare", [*_unshare(), sys.executable, *sys.argv])
    command("mount", "-t", "tmpfs", "none", "/run")
    os.mkdir("/run/netns")
    command("ip", "link", "set", "lo", "up")
    command("ip", "link", "add", "bridge0", "type", "bridge")
    command("ip", "addr", "add", f"{PREFIX}1/24", "dev", "bridge0")
    command("ip", "link", "set", "bridge0", "up")


class Host:
    """A host with an address, a link to the others, and a loopback of its own."""

    def __init__(self, number: int):
        self.number, self.address = number, f"{PREFIX}{FIRST + number}"
        self.name, self.outer, inner = f"host{number}", f"port{number}", f"link{number}"
        command("ip", "netns", "add", self.name)
        command("ip", "link", "add", self.outer, "type", "veth", "peer", "name", inner)
        command("ip", "link", "set", inner, "netns", self.name)
        command("ip", "link", "set", self.outer, "master", "bridge0")
        self.inner = inner
        for words in (("link", "set", "lo", "up"), ("link", "set", inner, "up"),
                      ("addr", "add", f"{self.address}/24", "dev", inner)):
            command("ip", "-n", self.name, *words)
        self.up()

    def inside(self, *words: str) -> list[str]:
        """Returns the command that runs `words` on this host."""
        return ["nsenter", f"--net=/run/netns/{self.name}", *words]

    def kill(self) -> None:
        """Kills all processes on the host with SIGKILL."""
        shown = subprocess.run(["ip", "netns", "pids", self.name], check=True, capture_output=True, text=True)
        for pid in shown.stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)

    def down(self) -> None:
        command("ip", "link", "set", self.outer, "down")

    def up(self) -> None:
        command("ip", "link", "set", self.outer, "up")

    def limit(self, rate: str) -> None:
        """Limits the rates at which the host sends and receives, for example to 100mbit."""
        shape = ("root", "tbf", "rate", rate, "burst", "128kb", "latency", "100ms")
        command("tc", "qdisc", "replace", "dev", self.outer, *shape)
        command("tc", "-n", self.name, "qdisc", "replace", "dev", self.inner, *shape)

    def unlimit(self) -> None:
        command("tc", "qdisc", "del", "dev", self.outer, "root")
        command("tc", "-n", self.name, "qdisc", "del", "dev", self.inner, "root")

    def bytes_sent(self) -> int:
        """Returns the bytes that have left the host, with all headers."""
        shown = subprocess.run(["ip", "-s", "-j", "link", "show", self.outer], check=True, capture_output=True)
        return json.loads(shown.stdout)[0]["stats64"]["rx"]["bytes"]

    def socket(self) -> socket.socket:
        """Returns a TCP socket of this host."""
        libc = ctypes.CDLL(None, use_errno=True)
        here = os.open("/proc/self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        try:
            if libc.setns(there, 0):
                raise OSError(ctypes.get_errno(), "setns")
            made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            libc.setns(here, 0)
        finally:
            os.close(here)
            os.close(there)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.settimeout(20)
        return made


class SmallDisk:
    """A small file system in a folder, with a ballast file that can be removed to make room."""

    def __init__(self, folder: str, size: int, ballast: int):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        command("mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder)
        with open(os.path.join(folder, ".ballast"), "wb") as file:
            file.write(b"x" * ballast)

    def make_room(self) -> None:
        os.remove(os.path.join(self.folder, ".ballast"))

    def close(self) -> None:
        command("umount", self.folder)
