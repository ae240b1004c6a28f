# SPDX-License-Identifier: Apache-2.0
"""Slurm on this machine: munged, slurmctld and slurmd with all of their files in one folder. Needs root."""
import os
import secrets
import socket
import subprocess

from programs import wait_until


class SlurmCluster:
    """`environment` makes srun and its like find it."""

    def __init__(self, folder):
        self.folder, self.processes = folder, []
        try:
            self._start_all(folder)
        except BaseException:
            self.stop()
            raise

    def _start_all(self, folder):
        host = socket.gethostname().split(".")[0]
        key = folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        # munged insists on folders that nobody else may write to, up to the root: the temporary one is not such a folder.
        self._start(["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket", f"--pid-file={folder}/munged.pid",
                     f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed"])
        ports = []
        for _ in range(2):
            with socket.socket() as s:
                s.bind(("127.0.0.1", 0))
                ports.append(s.getsockname()[1])
        (folder / "state").mkdir()
        (folder / "spool").mkdir()
        conf = folder / "slurm.conf"
        conf.write_text(f"""
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
ReturnToService=2
SwitchType=switch/none
MpiDefault=none
KillWait=5
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""")
        self.environment = dict(os.environ, SLURM_CONF=str(conf))
        wait_until(lambda: (folder / "munge.socket").exists())
        self._start(["slurmctld", "-D", "-f", str(conf)])
        self._start(["slurmd", "-D", "-f", str(conf), "-N", host])
        wait_until(self._is_up, 60)

    def _start(self, command):
        log = open(self.folder / f"{command[0]}.out", "w", encoding="utf-8")
        self.processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=getattr(self, "environment", None)))

    def _is_up(self):
        assert all(p.poll() is None for p in self.processes), self.logs()
        done = subprocess.run(["sinfo", "-h", "-o", "%T"], env=self.environment, capture_output=True, text=True, check=False)
        return done.stdout.strip() == "idle"

    def logs(self):
        return "\n".join(f"== {path}\n{path.read_text(errors='replace')[-2000:]}" for path in sorted(self.folder.glob("*.*")) if path.suffix in (".out", ".log"))

    def run(self, *args, timeout=120):
        return subprocess.run(["srun", *args], env=self.environment, capture_output=True, text=True, timeout=timeout, check=False)

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(20)
