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

VOLUME = {"name": TEXT, "hostPath": {"path": TEXT, "type": TEXT}, "configMap": {"name": TEXT}, "emptyDir": MAP}
CONTAINER = {
    "env": [{"name": TEXT, "value": TEXT, "valueFrom": {"fieldRef": {"fieldPath": TEXT}}}],
    "name": TEXT, "image": TEXT, "command": TEXTS, "args": TEXTS, "resources": {"requests": MAP, "limits": MAP},
    "securityContext": {"allowPrivilegeEscalation": FLAG, "readOnlyRootFilesystem": FLAG, "runAsUser": int,
                        "capabilities": {"drop": TEXTS, "add": TEXTS}},
    "ports": [{"name": TEXT, "containerPort": int}],
    "volumeMounts": [{"name": TEXT, "mountPath": TEXT, "readOnly": FLAG}],
}
POD = {
    "hostPID": FLAG, "nodeSelector": MAP, "restartPolicy": TEXT, "volumes": [VOLUME], "containers": [CONTAINER],
    "serviceAccountName": TEXT, "schedulerName": TEXT, "priorityClassName": TEXT, "tolerations": [{"key": TEXT, "operator": TEXT, "effect": TEXT}],
}
METADATA = {"name": TEXT, "namespace": TEXT, "labels": MAP, "annotations": MAP}
KINDS = {
    ("v1", "Namespace"): {"metadata": METADATA},
    ("v1", "ServiceAccount"): {"metadata": METADATA},
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): {"metadata": METADATA, "rules": [
        {"apiGroups": TEXTS, "resources": TEXTS, "verbs": TEXTS}]},
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): {
        "metadata": METADATA, "roleRef": {"apiGroup": TEXT, "kind": TEXT, "name": TEXT},
        "subjects": [{"kind": TEXT, "name": TEXT, "namespace": TEXT}]},
    ("kustomize.config.k8s.io/v1beta1", "Kustomization"): {
        "namespace": TEXT, "resources": TEXTS, "images": [{"name": TEXT, "newName": TEXT, "newTag": TEXT}],
        "configMapGenerator": [{"name": TEXT, "files": TEXTS}], "generatorOptions": {"disableNameSuffixHash": FLAG}},
    ("monitoring.coreos.com/v1", "PodMonitor"): {"metadata": METADATA, "spec": {
        "selector": {"matchLabels": MAP}, "podMetricsEndpoints": [
            {"port": TEXT, "interval": TEXT, "honorLabels": FLAG, "relabelings": [
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
    paths = sorted(os.path.join(top, name) for top, _, names in os.walk(FOLDER) for name in names if name.endswith(".yaml"))
    for path in [*paths, os.path.join(FOLDER, "..", "prometheus", "kubernetes.yaml")]:
        with open(path, encoding="utf-8") as f:
            for number, document in enumerate(yaml.safe_load_all(f)):
                yield f"{os.path.basename(path)}[{number}]", document


@unittest.skipIf(yaml is None, "python3-yaml is not installed")
class Kubernetes(unittest.TestCase):
    def test_the_versions_of_the_image_agree(self):
        images = {c["image"] for _, d in documents() if d["kind"] == "DaemonSet" for c in d["spec"]["template"]["spec"]["containers"]}
        named = {f"{i['name']}:{i['newTag']}" for _, d in documents() if d["kind"] == "Kustomization" for i in d["images"]}
        self.assertEqual(images, named)

    def test_fields(self):
        seen = set()
        for where, document in documents():
            kind = document.pop("apiVersion"), document.pop("kind")
            self.assertIn(kind, KINDS, where)
            check(document, KINDS[kind], where)
            seen.add(kind[1])
        self.assertEqual(seen, {"Namespace", "Pod", "DaemonSet", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Kustomization",
                                "PodMonitor"})

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
