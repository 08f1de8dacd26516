# SPDX-License-Identifier: Apache-2.0
"""The agent of a Kubernetes node: it gives pods XSched and their priorities (xsched-kube(8))."""
