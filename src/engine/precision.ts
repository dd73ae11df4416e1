import type { Checkpoint, OpenCheckpointOptions } from '../checkpoint/checkpoint.js';
import { fingerprint } from '../checkpoint/fingerprint.js';
import { inFloat8 } from '../checkpoint/weights.js';
import { cacheFolder } from '../files/cache-folder.js';
import { UsageError } from '../files/file-errors.js';
import type { ModelSource } from '../graphs/decoder.js';
import {
  type Backend,
  candidates,
  DEVICE_OF,
  type DeviceChoice,
  hasPrecision,
  type Precision,
} from './device.js';
import type { OpenMessage } from './engine-messages.js';
import { openHalfWeights } from './half-weights.js';

interface Asked {
  readonly precision?: Precision;
  readonly device?: DeviceChoice;
}

/** By default weights in integers are multiplied as such on a CPU. */
export function precisionOf({ tensors }: Checkpoint, { precision, device = 'cpu' }: Asked): Precision {
  if (precision) return precision;
  const integers = [...tensors.values()].some(({ type }) => type === 'packed');
  return integers && (device === 'cpu' || device === 'auto') ? 'int8' : 'fp32';
}

/** Where integers are kept that are made of a model's weights. */
export async function integersFor(checkpoint: Checkpoint, options: Asked): Promise<OpenMessage['integers']> {
  if (precisionOf(checkpoint, options) !== 'int8') return null;
  const folder = cacheFolder('int8', await fingerprint(checkpoint));
  return { written: rounds(checkpoint, options) ? folder : null, rounded: folder };
}

/** Whether what is not in integers is rounded to them: if it is asked for, and for FP8, which is slow to multiply with. */
const rounds = (checkpoint: Checkpoint, options: Asked): boolean =>
  options.precision === 'int8' ||
  (precisionOf(checkpoint, options) === 'int8' && [...checkpoint.tensors.values()].some(inFloat8));

/** The matrices of products in bf16, if that is the precision; those that are stored otherwise are made the first time. */
export async function halvesFor(
  checkpoint: Checkpoint,
  { precision, onConversion }: Asked & Pick<OpenCheckpointOptions, 'onConversion'>,
): Promise<ModelSource['rounded']> {
  if (precision !== 'bf16') return undefined;
  return openHalfWeights(checkpoint, cacheFolder('bf16', await fingerprint(checkpoint)), onConversion);
}

/** @throws UsageError for a precision that the device does not have */
export function devicesFor({ precision = 'fp32', device = 'cpu' }: Asked): readonly Backend[] {
  const only = DEVICE_OF[precision];
  if (!hasPrecision(device, precision))
    throw new UsageError(`precision: ${precision} runs on ${only} only, not on ${device}`);
  return only ? [only] : candidates(device);
}
