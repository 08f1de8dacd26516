# SPDX-License-Identifier: Apache-2.0
"""A kernel of wgpu, again and again on one buffer. Prints what came out."""
import numpy as np
import wgpu

CODE = """
@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) i: vec3<u32>) {
    var x = a[i.x];
    for (var k = 0u; k < 50u; k++) { x = x * 1.0001 + 0.5; }
    a[i.x] = x;
}
"""
N = 4096
adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
device = adapter.request_device_sync()
buffer = device.create_buffer_with_data(data=np.arange(N, dtype=np.float32),
                                        usage=wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC)
pipeline = device.create_compute_pipeline(layout="auto", compute={"module": device.create_shader_module(code=CODE),
                                                                  "entry_point": "main"})
group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0),
                                 entries=[{"binding": 0, "resource": {"buffer": buffer, "offset": 0, "size": buffer.size}}])
for _ in range(20):
    encoder = device.create_command_encoder()
    compute = encoder.begin_compute_pass()
    compute.set_pipeline(pipeline)
    compute.set_bind_group(0, group)
    compute.dispatch_workgroups(N // 64)
    compute.end()
    device.queue.submit([encoder.finish()])
out = np.frombuffer(device.queue.read_buffer(buffer), np.float32)
print(adapter.info["device"], out[:4], float(out.sum()))
