# SPDX-License-Identifier: Apache-2.0
"""Hosts of a test: network namespaces joined by a bridge, with packet filters of their own. Needs root, `ip` and `iptables`.

Where those are missing all tasks run on this host, and faults of the network are left out.
"""
import os
import shutil
import subprocess


def _run(*command):
    subprocess.run(command, check=True, capture_output=True, text=True)


def namespaces_work():
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("iptables"):
        return False
    name = f"mst{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
        return False
    filters = subprocess.run(["ip", "netns", "exec", name, "iptables", "-A", "INPUT", "-s", "10.0.0.1", "-j", "DROP"], capture_output=True, check=False)
    _run("ip", "netns", "del", name)
    return filters.returncode == 0


class LocalHosts:
    """One host only: this one."""
    has_network = False

    def __init__(self, count):
        self.count = count

    def address(self, host):
        return "127.0.0.1"

    def command(self, host, command):
        return list(command)

    def heal(self):
        pass

    def close(self):
        pass


class NamespaceHosts:
    """Host i has the address 10.78.0.(i+1). What one sends to another can be dropped, lost at random or answered by resets."""
    has_network = True

    def __init__(self, count):
        self.count = count
        self._prefix = f"mc{os.getpid() % 100000}"
        self._made = []
        self._add(self._name("hub"))
        self._ip("hub", "link", "add", "br0", "type", "bridge")
        self._ip("hub", "link", "set", "br0", "up")
        for host in range(count):
            self._add(self._name(host))
            _run("ip", "link", "add", "eth0", "netns", self._name(host), "type", "veth", "peer", "name", f"v{host}", "netns", self._name("hub"))
            self._ip("hub", "link", "set", f"v{host}", "master", "br0", "up")
            self._ip(host, "addr", "add", f"{self.address(host)}/24", "dev", "eth0")
            self._ip(host, "link", "set", "eth0", "up")
            self._ip(host, "link", "set", "lo", "up")

    def _name(self, host):
        return f"{self._prefix}{host}"

    def _add(self, name):
        _run("ip", "netns", "add", name)
        self._made.append(name)

    def _ip(self, host, *arguments):
        _run("ip", "-n", self._name(host), *arguments)

    def _filter(self, host, *rule):
        _run(*self.command(host, ["iptables", "-w", *rule]))

    def address(self, host):
        return f"10.78.0.{host + 1}"

    def command(self, host, command):
        return ["ip", "netns", "exec", self._name(host), *command]

    def drop(self, sender, receiver):
        """Packets from one host to another are lost; the other direction works."""
        self._filter(receiver, "-A", "INPUT", "-s", self.address(sender), "-j", "DROP")

    def lose(self, receiver, probability):
        """Packets that arrive at a host are lost now and then."""
        self._filter(receiver, "-A", "INPUT", "-i", "eth0", "-m", "statistic", "--mode", "random", "--probability", str(probability), "-j", "DROP")

    def reset(self, sender, receiver):
        """Connections from one host to another break: each packet is answered by a reset."""
        self._filter(receiver, "-A", "INPUT", "-p", "tcp", "-s", self.address(sender), "-j", "REJECT", "--reject-with", "tcp-reset")

    def heal(self):
        for host in range(self.count):
            self._filter(host, "-F", "INPUT")

    def close(self):
        for name in reversed(self._made):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def make_hosts(count):
    return NamespaceHosts(count) if namespaces_work() else LocalHosts(count)
