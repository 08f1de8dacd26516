# SPDX-License-Identifier: Apache-2.0
"""What OpenVINO finds: its devices, and what its plugin for NPUs says."""
import openvino

core = openvino.Core()
print(core.available_devices)
try:
    print(core.get_property("NPU", "FULL_DEVICE_NAME"))
except RuntimeError as e:
    print(str(e).strip())
