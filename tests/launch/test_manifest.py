# SPDX-License-Identifier: Apache-2.0
"""millstream manifest: YAML that parses, with what a job in Kubernetes needs."""
import json
import subprocess

import kubernetes_validate
import pytest
import yaml

FLAGS = ["--image=registry.example.com/train:1", "--name=mnist", "--ps=1", "--workers=2"]


@pytest.fixture
def manifest(program):
    def run(*args):
        return subprocess.run([program, "manifest", *args], capture_output=True, text=True, timeout=30, check=False)

    return run


def _documents(done):
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def test_jobs(manifest):
    documents = _documents(manifest(*FLAGS, "--max_restarts=3", "--grace=30", "--memory=4Gi", "--volume=disk:/data", "--",
                                    "python", "train.py", "--note=it's \"quoted\": yes", "--logdir=/data/log"))
    assert [d["kind"] for d in documents] == ["Secret", "Service", "Job", "Job", "Job"]
    secret, service, *jobs = documents
    assert len(secret["stringData"]["token"]) == 64
    assert service["spec"]["clusterIP"] == "None" and service["spec"]["publishNotReadyAddresses"] is True
    assert [j["metadata"]["name"] for j in jobs] == ["mnist-ps-0", "mnist-worker-0", "mnist-worker-1"]
    hosts = {"ps": ["mnist-ps-0.mnist:2222"], "worker": ["mnist-worker-0.mnist:2222", "mnist-worker-1.mnist:2222"]}
    for job in jobs:
        assert job["spec"]["backoffLimit"] == 3
        template = job["spec"]["template"]
        # The service finds the pod, whose name is the one that the cluster has.
        assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
        pod = template["spec"]
        assert pod["hostname"] == job["metadata"]["name"] and pod["subdomain"] == service["metadata"]["name"]
        assert pod["terminationGracePeriodSeconds"] == 30 and pod["restartPolicy"] == "OnFailure"
        assert pod["securityContext"]["runAsNonRoot"] is True
        container = pod["containers"][0]
        env = {e["name"]: e["value"] for e in container["env"]}
        config = json.loads(env["TF_CONFIG"])
        assert config["cluster"] == hosts and f"mnist-{config['task']['type']}-{config['task']['index']}" == pod["hostname"]
        mounts = {m["name"]: m["mountPath"] for m in container["volumeMounts"]}
        assert env["MILLSTREAM_TOKEN_FILE"] == mounts["token"] + "/token" and env["MILLSTREAM_FILE_ROOT"] == mounts["data"] == "/data"
        volumes = {v["name"]: v for v in pod["volumes"]}
        assert volumes["token"]["secret"]["secretName"] == secret["metadata"]["name"]
        assert volumes["data"]["persistentVolumeClaim"]["claimName"] == "disk"
        assert container["command"] == ["python", "train.py", "--note=it's \"quoted\": yes", "--logdir=/data/log", f"--ps_hosts={','.join(hosts['ps'])}",
                                        f"--worker_hosts={','.join(hosts['worker'])}", f"--job_name={config['task']['type']}",
                                        f"--task_index={config['task']['index']}"]
        assert secret["stringData"]["token"] not in json.dumps(job)
        assert container["readinessProbe"]["tcpSocket"]["port"] == 2222
        assert ("livenessProbe" in container) == (config["task"]["type"] == "ps")


@pytest.mark.parametrize("version", ["1.25", "1.32"])
@pytest.mark.parametrize("args", [["--ps=1", "--volume=disk:/data", "--memory=4Gi", "--grace=30"], ["--chief", "--insecure", "--max_restarts=2", "--namespace=ml"]])
def test_kubernetes_takes_them(manifest, args, version):
    """Every document fits Kubernetes' own schema, without a field that it does not know."""
    documents = _documents(manifest("--image=registry.example.com/train:1", "--workers=2", *args, "--", "python", "train.py"))
    for document in documents:
        kubernetes_validate.validate(document, version, strict=True)
    broken = documents[-1]
    broken["spec"]["template"]["spec"]["containers"][0]["imagee"] = "x"  # so that we know that it looks
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, version, strict=True)


def test_tfjob(manifest):
    secret, job = _documents(manifest("--kind=tfjob", *FLAGS, "--chief", "--namespace=research", "--", "python", "train.py"))
    assert (job["apiVersion"], job["kind"]) == ("kubeflow.org/v1", "TFJob")
    assert job["metadata"]["namespace"] == secret["metadata"]["namespace"] == "research"
    specs = job["spec"]["tfReplicaSpecs"]
    assert {kind: s["replicas"] for kind, s in specs.items()} == {"Chief": 1, "PS": 1, "Worker": 2}
    for spec in specs.values():
        container = spec["template"]["spec"]["containers"][0]
        assert container["name"] == "tensorflow" and container["ports"][0]["name"] == "tfjob-port"
        assert container["command"] == ["millstream", "launch", "--in", "tf_config", "--", "python", "train.py"]
    assert job["spec"]["runPolicy"]["cleanPodPolicy"] == "Running"


def test_without_token_and_flags(manifest):
    documents = _documents(manifest(*FLAGS, "--insecure", "--no_flags", "--", "train"))
    assert [d["kind"] for d in documents] == ["Service", "Job", "Job", "Job"]
    container = documents[1]["spec"]["template"]["spec"]["containers"][0]
    assert container["command"] == ["train"] and {"name": "MILLSTREAM_INSECURE", "value": "1"} in container["env"]


@pytest.mark.parametrize("args,says", [
    (["--ps=1", "--", "train"], "which image?"),
    (["--image=x"], "which program?"),
    (["--image=x", "--name=Bad_Name", "--", "train"], "lower-case"),
    (["--image=x", "--volume=claim", "--", "train"], "claim:/data"),
    (["--image=x", "--kind=pods", "--", "train"], "--kind"),
])
def test_wrong_flags(manifest, args, says):
    done = manifest(*args)
    assert done.returncode == 2 and says in done.stderr
