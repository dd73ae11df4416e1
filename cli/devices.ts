import type { DeviceChoice } from '../src/engine/device.js';
import type { Engine } from '../src/engine/engine.js';
import type { Role } from '../src/engine/engine-messages.js';
import { remark } from './terminal.js';

/** Devices of a running engine's processes. */
export function formatDevices(engine: Engine): string {
  const { decode, score } = engine.status();
  if (decode.device && score.device && decode.device !== score.device)
    return `${decode.device} (writing) and ${score.device} (scoring)`;
  return decode.device ?? score.device ?? 'no device';
}

/** Starts an engine on other than the default and says on standard error what it runs on. */
export async function reportDevices(
  engine: Engine,
  choice: DeviceChoice,
  roles: readonly Role[],
): Promise<void> {
  if (choice === 'cpu') return;
  await engine.start(roles);
  remark(`on ${formatDevices(engine)}`);
}
