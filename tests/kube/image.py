# SPDX-License-Identifier: Apache-2.0
"""An image for containerd, made without a registry: folders, links and files, as an OCI image in a tar archive."""
import hashlib
import io
import json
import os
import tarfile


def _blob(files, content):
    digest = hashlib.sha256(content).hexdigest()
    files[f"blobs/sha256/{digest}"] = content
    return {"digest": f"sha256:{digest}", "size": len(content)}


def write(path, name, entry, files=(), links=(), env=(), folders=("proc", "sys", "dev", "tmp", "run", "etc", "usr", "var")):
    """@param files  (name in the image, path here)"""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as t:
        for folder in folders:
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            t.addfile(info)
        for link, target in links:
            info = tarfile.TarInfo(link)
            info.type, info.linkname = tarfile.SYMTYPE, target
            t.addfile(info)
        for there, here in files:
            info = tarfile.TarInfo(there)
            info.mode, info.size = 0o755, os.path.getsize(here)
            with open(here, "rb") as f:
                t.addfile(info, f)
    blobs = {}
    of_layer = _blob(blobs, layer.getvalue())
    config = _blob(blobs, json.dumps({
        "architecture": "amd64", "os": "linux", "config": {"Env": list(env), "Entrypoint": list(entry)},
        "rootfs": {"type": "layers", "diff_ids": [of_layer["digest"]]}}).encode())
    oci = "application/vnd.oci.image."
    manifest = _blob(blobs, json.dumps({
        "schemaVersion": 2, "mediaType": oci + "manifest.v1+json", "config": {"mediaType": oci + "config.v1+json", **config},
        "layers": [{"mediaType": oci + "layer.v1.tar", **of_layer}]}).encode())
    blobs["oci-layout"] = json.dumps({"imageLayoutVersion": "1.0.0"}).encode()
    blobs["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [{
        "mediaType": oci + "manifest.v1+json", **manifest, "platform": {"architecture": "amd64", "os": "linux"},
        "annotations": {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.split(":")[-1]}}]}).encode()
    with tarfile.open(path, "w") as t:
        for there, content in blobs.items():
            info = tarfile.TarInfo(there)
            info.size = len(content)
            t.addfile(info, io.BytesIO(content))
