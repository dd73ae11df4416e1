import { existsSync, readdirSync } from 'node:fs';
import type { InferenceSession } from 'onnxruntime-node';

/** Devices by the names of their onnxruntime execution providers. */
export const DEVICES = ['cpu', 'webgpu', 'cuda'] as const;
export type Device = (typeof DEVICES)[number];

/**
 * Location where an engine process computes: a device of this machine, or another machine
 * (src/engine/server).
 */
export type Backend = Device | 'inference-server';

/** A device, or the first of them that works. */
export const DEVICE_CHOICES = [...DEVICES, 'auto'] as const;
export type DeviceChoice = (typeof DEVICE_CHOICES)[number];

/**
 * The devices to try, in order. `auto` leaves out what cannot be there: starting a process to find out takes time. And
 * it takes WebGPU only where there is a GPU: a software adapter (lavapipe, SwiftShader) is many times slower than the
 * CPU itself.
 */
export function candidates(choice: DeviceChoice, { gpu, nvidia } = hardware()): Device[] {
  if (choice !== 'auto') return [choice];
  return [...(nvidia ? (['cuda'] as const) : []), ...(gpu ? (['webgpu'] as const) : []), 'cpu'];
}

/**
 * Detects GPUs by their device files: onnxruntime-node does not say which adapter it took. Direct3D and Metal
 * have no file to look for: a GPU is assumed there, and Windows may in the worst case take its software
 * adapter, WARP. onnxruntime-node has CUDA for Linux only.
 */
function hardware(): { readonly gpu: boolean; readonly nvidia: boolean } {
  if (process.platform !== 'linux') return { gpu: true, nvidia: false };
  const nvidia = existsSync('/dev/nvidiactl');
  const renderNode =
    existsSync('/dev/dri') && readdirSync('/dev/dri').some((name) => name.startsWith('renderD'));
  return { gpu: nvidia || renderNode, nvidia: nvidia || existsSync('/dev/dxg') };
}

export function executionProviders(device: Device): InferenceSession.ExecutionProviderConfig[] {
  // Throws if the providers' libraries are missing; a node that a provider does not have runs on the CPU.
  return device === 'cpu' ? ['cpu'] : [device, 'cpu'];
}

/**
 * Variables that the environment of an engine process needs before it starts.
 * @param asked whether the device was asked for by name: then a software adapter will do
 */
export function environmentOf(device: Backend, asked: boolean): Readonly<Record<string, string>> {
  // TF32 has 10 bits of mantissa: less than the perturbation needs.
  if (device === 'cuda') return { NVIDIA_TF32_OVERRIDE: '0' };
  // Vulkan's loader hides them from 1.3.234 on; an older one may offer one beside a GPU that has no driver.
  if (device === 'webgpu' && !asked) return { VK_LOADER_DRIVERS_DISABLE: SOFTWARE_ADAPTERS };
  return {};
}

const SOFTWARE_ADAPTERS = '*lvp*,*swrast*,*swiftshader*';

/** Advice for a device that does not open, to follow the reason. */
export function adviceFor(device: Backend): string {
  if (device === 'cuda')
    return `\nCUDA needs Linux x64, CUDA 12, cuDNN 9, and its libraries for onnxruntime: ${CUDA_SETUP}`;
  if (device === 'webgpu') return '\nWebGPU needs a GPU with a driver for Vulkan, Metal or Direct3D 12.';
  return '';
}

const CUDA_SETUP = 'ONNXRUNTIME_NODE_INSTALL=cuda12 node node_modules/onnxruntime-node/script/install.js';

/**
 * Precisions in which a model writes, and in which derivatives of Adv. Pert. are computed. All else that scores computes in
 * fp32 with the weights as they are stored, in any of them.
 *
 * - `fp32`: as they do
 * - `int8`: activations are rounded to 8 bits in blocks, as llama.cpp does. Weights in integers of 4 or 8 bits stay as
 *   they are, others are rounded to 8 bits in blocks of 32, as Q8_0. On a CPU, a model whose weights are in integers
 *   writes so unless it is told otherwise. Derivatives are of rounded products (`src/graphs/rounded-products.ts`).
 * - `bf16`: products but that of the logits are in bf16, summed up in fp32 (`src/graphs/half-products.ts`), on CUDA.
 */
export const PRECISIONS = ['fp32', 'int8', 'bf16'] as const;
export type Precision = (typeof PRECISIONS)[number];

/** The device that has a precision, where only one has. */
export const DEVICE_OF: Partial<Record<Precision, Device>> = { int8: 'cpu', bf16: 'cuda' };

/** Whether a device has a precision; `auto` takes one that has. */
export const hasPrecision = (device: Backend | 'auto', precision: Precision = 'fp32'): boolean =>
  device === 'auto' || (DEVICE_OF[precision] ?? device) === device;
