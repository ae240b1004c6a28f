# SPDX-License-Identifier: Apache-2.0
"""ssh servers of this user, with keys of their own and a client configuration that knows them by names."""
import getpass
import os
import shutil
import socket
import subprocess

from programs import wait_until


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class SshServers:
    """`ssh -F config NAME` reaches the server of `hosts[NAME]`, an address and a command prefix (to start sshd elsewhere). Besides, `lost` is a host
    where nobody answers and `closed` one that refuses."""

    def __init__(self, folder, hosts):
        self.processes = []
        self.config = folder / "config"
        port = _free_port()
        for key in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)], check=True)
        shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
        entries = [f"Host {name}\n  HostName {address}\n  Port {port}\n" for name, (address, _) in hosts.items()]
        self.config.write_text("".join(entries) + f"""
Host closed
  HostName 127.0.0.1
  Port 1
Host lost
  HostName 203.0.113.1
Host *
  User {getpass.getuser()}
  IdentityFile {folder}/user_key
  IdentitiesOnly yes
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking no
  LogLevel ERROR
""")
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        for address, prefix in {address: prefix for address, prefix in hosts.values()}.items():
            settings = folder / f"sshd_config-{address}"
            settings.write_text(f"ListenAddress {address}:{port}\nHostKey {folder}/host_key\nAuthorizedKeysFile {folder}/authorized_keys\n"
                                f"StrictModes no\nUsePAM no\nPasswordAuthentication no\nMaxStartups 100\nPidFile {folder}/sshd-{address}.pid\n")
            self.processes.append(subprocess.Popen([*prefix, "/usr/sbin/sshd", "-D", "-e", "-f", str(settings)], stderr=subprocess.DEVNULL))
        for name, (_, prefix) in hosts.items():
            command = [*prefix, "ssh", "-F", str(self.config), name, "true"]
            wait_until(lambda command=command: subprocess.run(command, capture_output=True, check=False).returncode == 0)

    def stop(self):
        for process in self.processes:
            process.terminate()
            process.wait()
