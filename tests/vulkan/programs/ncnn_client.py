#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small convolutional network in ncnn, on its Vulkan device: prints a hash of what comes out."""
import hashlib

import ncnn
import numpy as np

CHANNELS = 8
PARAM = f"""7767517
5 5
Input input 0 1 data 0=32 1=32 2=3
Convolution conv 1 1 data conv 0={CHANNELS} 1=3 4=1 5=1 6={CHANNELS * 27}
ReLU relu 1 1 conv relu
Pooling pool 1 1 relu pool 0=0 1=2 2=2
Softmax prob 1 1 pool prob 0=0 1=1
"""
values = np.random.RandomState(1)   # pylint: disable=no-member
weights = b"\0\0\0\0" + values.uniform(-1, 1, CHANNELS * 27 + CHANNELS).astype(np.float32).tobytes()   # ncnn keeps no copy

net = ncnn.Net()
net.opt.use_vulkan_compute = True
assert ncnn.get_gpu_count() > 0
assert net.load_param_mem(PARAM) == 0
net.load_model_mem(weights)
seen = hashlib.sha256()
for _ in range(30):
    extractor = net.create_extractor()
    picture = values.uniform(-1, 1, (3, 32, 32)).astype(np.float32)   # nor of this
    extractor.input("data", ncnn.Mat(picture))
    status, out = extractor.extract("prob")
    assert status == 0
    seen.update(np.array(out).copy().tobytes())
    del extractor, out                 # before the device
print(seen.hexdigest())
net.clear()
ncnn.destroy_gpu_instance()
