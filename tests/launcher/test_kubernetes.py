# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes manifests: each field is one that the published API has at that place (core/v1, apps/v1, 1.30)."""
import os
import subprocess
import tempfile
import unittest

try:
    import yaml
except ImportError:
    yaml = None

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "integration", "kubernetes")
TEXT, FLAG, MAP, TEXTS, ANY = str, bool, "map", "texts", "any"

VOLUME = {"name": TEXT, "hostPath": {"path": TEXT, "type": TEXT}, "configMap": {"name": TEXT}}
CONTAINER = {
    "env": [{"name": TEXT, "valueFrom": {"secretKeyRef": {"name": TEXT, "key": TEXT}}}],
    "name": TEXT, "image": TEXT, "command": TEXTS, "args": TEXTS, "resources": {"requests": MAP, "limits": MAP},
    "securityContext": {"allowPrivilegeEscalation": FLAG, "readOnlyRootFilesystem": FLAG, "runAsUser": int,
                        "capabilities": {"drop": TEXTS, "add": TEXTS}},
    "ports": [{"name": TEXT, "containerPort": int}],
    "volumeMounts": [{"name": TEXT, "mountPath": TEXT, "readOnly": FLAG}],
}
POD = {
    "hostPID": FLAG, "nodeSelector": MAP, "restartPolicy": TEXT, "volumes": [VOLUME], "containers": [CONTAINER],
    "initContainers": [CONTAINER], "tolerations": [{"key": TEXT, "operator": TEXT, "effect": TEXT}],
}
METADATA = {"name": TEXT, "namespace": TEXT, "labels": MAP, "annotations": MAP}
KINDS = {
    ("v1", "Namespace"): {"metadata": METADATA},
    ("v1", "ConfigMap"): {"metadata": METADATA, "data": MAP},
    ("v1", "Service"): {"metadata": METADATA, "spec": {
        "clusterIP": TEXT, "selector": MAP, "ports": [{"name": TEXT, "port": int, "targetPort": TEXT}]}},
    ("monitoring.coreos.com/v1", "ServiceMonitor"): {"metadata": METADATA, "spec": {
        "selector": {"matchLabels": MAP}, "endpoints": [{"port": TEXT, "interval": TEXT, "honorLabels": FLAG, "relabelings": [
            {"action": TEXT, "sourceLabels": TEXTS, "targetLabel": TEXT, "regex": TEXT}]}]}},
    ("v1", "Pod"): {"metadata": METADATA, "spec": POD},
    ("apps/v1", "DaemonSet"): {"metadata": METADATA, "spec": {
        "selector": {"matchLabels": MAP}, "updateStrategy": {"type": TEXT},
        "template": {"metadata": METADATA, "spec": POD}}},
}


def check(value, schema, where):
    if isinstance(schema, dict):
        assert isinstance(value, dict), where
        for key, inner in value.items():
            assert key in schema, f"{where}.{key}: no such field"
            check(inner, schema[key], f"{where}.{key}")
    elif isinstance(schema, list):
        assert isinstance(value, list) and value, where
        for i, inner in enumerate(value):
            check(inner, schema[0], f"{where}[{i}]")
    elif schema == TEXTS:
        assert isinstance(value, list) and all(isinstance(x, str) for x in value), where
    elif schema == MAP:
        assert isinstance(value, dict) and all(isinstance(k, str) and isinstance(v, (str, int)) for k, v in value.items()), where
    else:
        assert type(value) is schema, f"{where}: {value!r}"


def documents():
    paths = [os.path.join(FOLDER, name) for name in sorted(os.listdir(FOLDER)) if name.endswith(".yaml")]
    for path in [*paths, os.path.join(FOLDER, "..", "prometheus", "kubernetes.yaml")]:
        with open(path, encoding="utf-8") as f:
            for number, document in enumerate(yaml.safe_load_all(f)):
                yield f"{os.path.basename(path)}[{number}]", document


@unittest.skipIf(yaml is None, "python3-yaml is not installed")
class Kubernetes(unittest.TestCase):
    def test_fields(self):
        seen = set()
        for where, document in documents():
            kind = document.pop("apiVersion"), document.pop("kind")
            self.assertIn(kind, KINDS, where)
            check(document, KINDS[kind], where)
            seen.add(kind[1])
        self.assertEqual(seen, {"Namespace", "Pod", "DaemonSet", "ConfigMap", "Service", "ServiceMonitor"})

    def test_names_meet(self):
        for where, document in documents():
            spec = document.get("spec", {})
            if document["kind"] == "DaemonSet":
                self.assertEqual(spec["selector"]["matchLabels"].items() - spec["template"]["metadata"]["labels"].items(), set())
                spec = spec["template"]["spec"]
            volumes = {v["name"] for v in spec.get("volumes", [])}
            for container in spec.get("containers", []) + spec.get("initContainers", []):
                for mount in container.get("volumeMounts", []):
                    self.assertIn(mount["name"], volumes, where)

    def put_on_the_host(self, folder, xsched):
        """The init container's script, with its folders below this one and a program for `xsched`."""
        script = next(c["args"][0] for _, d in documents() if d["kind"] == "DaemonSet"
                      for c in d["spec"]["template"]["spec"]["initContainers"])
        self.assertIn(" /usr/lib/*/", script)
        for old, new in (("/usr/lib/*/", "lib/*/"), ("/host/", "host/"), ("/tmp/", "")):
            script = script.replace(old, new)
        with open(os.path.join(folder, "bin", "xsched"), "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n{xsched}\n")
        os.chmod(f.name, 0o755)
        env = dict(os.environ, PATH=os.path.join(folder, "bin") + ":" + os.environ["PATH"])
        return subprocess.run(["/bin/sh", "-c", script], cwd=folder, env=env, check=False, timeout=20).returncode

    def test_what_is_put_on_the_host(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("bin", "lib/x86_64-linux-gnu/xsched", "host/opt", "host/cdi"):
                os.makedirs(os.path.join(folder, name))
            names = ["xsched/libshimcuda.so", "libpreempt.so.1", "libhalcuda.so.1"]
            for name in names:
                with open(os.path.join(folder, "lib/x86_64-linux-gnu", name), "w", encoding="utf-8") as f:
                    f.write("old")
            says = """printf '{"hostPath": "/usr/lib/x86_64-linux-gnu/libpreempt.so.1"}'"""
            self.assertEqual(self.put_on_the_host(folder, says), 0)
            with open(os.path.join(folder, "host/cdi/xsched.json"), encoding="utf-8") as f:
                self.assertEqual(f.read(), '{"hostPath": "/opt/xsched/lib/libpreempt.so.1"}')
            mapped = [open(os.path.join(folder, "host/opt/xsched/lib", name), encoding="utf-8") for name in names]
            for name in names:
                with open(os.path.join(folder, "lib/x86_64-linux-gnu", name), "w", encoding="utf-8") as f:
                    f.write("new")
            # a node's second start: what failed leaves the list of devices alone, and mapped files keep their contents
            self.assertNotEqual(self.put_on_the_host(folder, "exit 1"), 0)
            self.assertGreater(os.path.getsize(os.path.join(folder, "host/cdi/xsched.json")), 0)
            for name, before in zip(names, mapped):
                with before, open(os.path.join(folder, "host/opt/xsched/lib", name), encoding="utf-8") as after:
                    self.assertEqual((before.read(), after.read()), ("old", "new"), name)

    def test_a_wrong_field_is_seen(self):
        with self.assertRaises(AssertionError):
            check({"spec": {"hostPid": True}}, KINDS["v1", "Pod"], "wrong")
        with self.assertRaises(AssertionError):
            check({"spec": {"hostPID": "yes"}}, KINDS["v1", "Pod"], "wrong")


if __name__ == "__main__":
    unittest.main()
