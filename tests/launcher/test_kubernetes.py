# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes manifests: each field is one that the published API has at that place (core/v1, apps/v1, 1.30)."""
import os
import unittest

try:
    import yaml
except ImportError:
    yaml = None

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "integration", "kubernetes")
TEXT, FLAG, MAP, TEXTS, ANY = str, bool, "map", "texts", "any"

VOLUME = {"name": TEXT, "hostPath": {"path": TEXT, "type": TEXT}}
CONTAINER = {
    "name": TEXT, "image": TEXT, "command": TEXTS, "args": TEXTS, "resources": {"requests": MAP, "limits": MAP},
    "securityContext": {"allowPrivilegeEscalation": FLAG, "readOnlyRootFilesystem": FLAG, "runAsUser": int,
                        "capabilities": {"drop": TEXTS, "add": TEXTS}},
    "volumeMounts": [{"name": TEXT, "mountPath": TEXT, "readOnly": FLAG}],
}
POD = {
    "hostPID": FLAG, "nodeSelector": MAP, "restartPolicy": TEXT, "volumes": [VOLUME], "containers": [CONTAINER],
    "initContainers": [CONTAINER], "tolerations": [{"key": TEXT, "operator": TEXT, "effect": TEXT}],
}
METADATA = {"name": TEXT, "namespace": TEXT, "labels": MAP, "annotations": MAP}
KINDS = {
    ("v1", "Namespace"): {"metadata": METADATA},
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
    for name in sorted(os.listdir(FOLDER)):
        if name.endswith(".yaml"):
            with open(os.path.join(FOLDER, name), encoding="utf-8") as f:
                for number, document in enumerate(yaml.safe_load_all(f)):
                    yield f"{name}[{number}]", document


@unittest.skipIf(yaml is None, "python3-yaml is not installed")
class Kubernetes(unittest.TestCase):
    def test_fields(self):
        seen = set()
        for where, document in documents():
            kind = document.pop("apiVersion"), document.pop("kind")
            self.assertIn(kind, KINDS, where)
            check(document, KINDS[kind], where)
            seen.add(kind[1])
        self.assertEqual(seen, {"Namespace", "Pod", "DaemonSet"})

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

    def test_a_wrong_field_is_seen(self):
        with self.assertRaises(AssertionError):
            check({"spec": {"hostPid": True}}, KINDS["v1", "Pod"], "wrong")
        with self.assertRaises(AssertionError):
            check({"spec": {"hostPID": "yes"}}, KINDS["v1", "Pod"], "wrong")


if __name__ == "__main__":
    unittest.main()
