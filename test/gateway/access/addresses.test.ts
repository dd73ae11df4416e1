import { describe, expect, it } from 'vitest';
import { isLoopback, mayNameUs, mayUseUs, networkOf } from '#gateway/access/addresses.js';

describe('isLoopback', () => {
  it.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost', 'LOCALHOST'])('%s is', (host) => {
    expect(isLoopback(host)).toBe(true);
  });
  it.each(['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example', 'example', '', '::ffff:10.0.0.1'])(
    '%s is not',
    (host) => {
      expect(isLoopback(host)).toBe(false);
    },
  );
});

describe('mayNameUs', () => {
  it.each([
    'localhost',
    'localhost:8787',
    'LocalHost.',
    '127.0.0.1:8787',
    '[::1]:8787',
    '192.168.1.7:8787',
    'flinch.example',
  ])('%s may', (host) => {
    expect(mayNameUs(host, ['flinch.example'])).toBe(true);
  });
  it.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil.example:127.0.0.1',
    'a@localhost',
    'localhost/evil',
    '[evil.example]',
    '',
  ])('"%s" may not', (host) => {
    expect(mayNameUs(host, ['flinch.example'])).toBe(false);
  });
  it('lets all, if told to', () => {
    expect(mayNameUs('evil.example', ['*'])).toBe(true);
  });
});

describe('mayUseUs', () => {
  const allowed = ['https://chat.example'];
  it.each([
    ['the same host', 'http://localhost:8787', 'localhost:8787'],
    ['the same host behind a proxy with TLS', 'https://flinch.example', 'flinch.example'],
    ['an allowed page', 'https://chat.example', 'localhost:8787'],
    ['no browser', null, 'localhost:8787'],
  ])('lets %s', (_what, origin, host) => {
    expect(mayUseUs(origin, host, allowed)).toBe(true);
  });
  it.each([
    ['another site', 'https://evil.example', 'localhost:8787'],
    ['another port', 'http://localhost:3000', 'localhost:8787'],
    ['another name of this machine', 'http://127.0.0.1:8787', 'localhost:8787'],
    ['another scheme of an allowed page', 'http://chat.example', 'localhost:8787'],
    ['a part of an allowed page', 'https://chat.example.evil', 'localhost:8787'],
    ['a sandboxed page', 'null', 'localhost:8787'],
    ['no origin at all', '', 'localhost:8787'],
    ['whoever names no host', 'https://evil.example', null],
  ])('does not let %s', (_what, origin, host) => {
    expect(mayUseUs(origin, host, allowed)).toBe(false);
  });
});

describe('networkOf', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:db8::9', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    [undefined, ''],
  ])('of %s is %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
