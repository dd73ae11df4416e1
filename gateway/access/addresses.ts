import { isIP } from 'node:net';

/** Whether only this machine can reach a listener there. A name other than localhost may stand for any address. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  if (name === 'localhost' || name === '::1') return true;
  return isIP(name) === 4 && name.startsWith('127.');
}

/** The host name of a `Host` header, without port and brackets; `null` for one that is none. */
function hostnameOf(header: string): string | null {
  if (!/^[A-Za-z0-9.-]+(:\d+)?$|^\[[0-9a-fA-F:.]+\](:\d+)?$/.test(header)) return null;
  return header
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
}

/**
 * Whether a `Host` header may name us, where no key is asked for. A page of another site can have its own name point
 * at this machine and then reads our answers as those of its own origin (DNS rebinding); an address or `localhost`
 * it cannot.
 * @param allowed further names; `"*"` for all
 */
export function mayNameUs(header: string, allowed: readonly string[]): boolean {
  if (allowed.includes('*')) return true;
  const name = hostnameOf(header);
  if (name === null) return false;
  return name === 'localhost' || isIP(name) !== 0 || allowed.includes(name);
}

/**
 * Whether a page of this origin may use the gateway.
 * @param origin the header, which every browser sends with what is not a plain look-up; `null` for other programs
 * @param host the `Host` header: the gateway's own pages come from there
 * @param allowed origins; `"*"` for all
 */
export function mayUseUs(origin: string | null, host: string | null, allowed: readonly string[]): boolean {
  if (origin === null || allowed.includes('*') || allowed.includes(origin)) return true;
  return host !== null && URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}

/**
 * Network of an address: for IPv6 its first 64 bits, which are what one household or machine is given.
 * @param address address from the socket; a Unix socket has none
 */
export function networkOf(address = ''): string {
  const [plain = ''] = address.split('%');
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  if (mapped !== undefined || isIP(plain) !== 6) return mapped ?? plain;
  const [before = [], after = []] = plain.split('::').map((half) => half.split(':').filter(Boolean));
  const groups = [...before, ...Array(8 - before.length - after.length).fill('0'), ...after];
  return `${groups.slice(0, 4).join(':')}::/64`;
}
