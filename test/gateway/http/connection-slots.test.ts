import { EventEmitter } from 'node:events';
import { Server } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { OwnUsage } from '#gateway/access/usage.js';
import { type ConnectionLimits, placeConnections } from '#gateway/http/connection-slots.js';

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

function places(limits: ConnectionLimits) {
  const server = new Server();
  const usage = new OwnUsage();
  placeConnections(server, limits, usage, 'connections');
  return {
    usage,
    connect: async (address: string): Promise<Socket> => {
      const connection = Object.defineProperty(new Socket(), 'remoteAddress', { value: address });
      server.emit('connection', connection);
      await turn();
      return connection;
    },
    /** @returns what ends the response */
    request: (connection: Socket): (() => void) => {
      const response = new EventEmitter();
      server.emit('request', { socket: connection }, response);
      return () => response.emit('close');
    },
    upgrade: (connection: Socket): void => void server.emit('upgrade', { socket: connection }),
  };
}

const open = (connections: readonly Socket[]): boolean[] => connections.map(({ destroyed }) => !destroyed);

describe('placeConnections', () => {
  it('gives a newcomer the place of what the largest address has not used for longest', async () => {
    const { connect, request } = places({ connections: 4, perAddress: 4 });
    const many = [await connect('10.0.0.1'), await connect('10.0.0.1'), await connect('10.0.0.1')];
    const other = await connect('10.0.0.2');
    request(many[0]!)(); // the last of them that was used
    const newcomer = await connect('10.0.0.3');
    expect(open([...many, other, newcomer])).toEqual([true, false, true, true, true]);
  });

  it('closes nothing that is in use, and then the newcomer', async () => {
    const { connect, request, upgrade } = places({ connections: 2, perAddress: 2 });
    const used = [await connect('10.0.0.1'), await connect('10.0.0.1')];
    const end = request(used[0]!);
    upgrade(used[1]!);
    const newcomer = await connect('10.0.0.2');
    expect(open([...used, newcomer])).toEqual([true, true, false]);
    end();
    const second = await connect('10.0.0.2');
    expect(open([...used, second])).toEqual([false, true, true]);
  });

  it('lets an address with many connections take none of one with fewer', async () => {
    const { connect, request } = places({ connections: 3, perAddress: 3 });
    const used = [await connect('10.0.0.1'), await connect('10.0.0.1')];
    for (const connection of used) request(connection);
    const other = await connect('10.0.0.2');
    const newcomer = await connect('10.0.0.1');
    expect(open([...used, other, newcomer])).toEqual([true, true, true, false]);
  });

  it('leaves places that one address cannot have', async () => {
    const { connect, request } = places({ connections: 3, perAddress: 2 });
    const many: Socket[] = [];
    for (let i = 0; i < 4; i++) {
      const connection = await connect('2001:db8::1');
      request(connection);
      many.push(connection);
    }
    expect(open(many)).toEqual([true, true, false, false]);
    expect(open([await connect('2001:db8::2')])).toEqual([false]); // the same network
    expect(open([await connect('2001:db8:1::1')])).toEqual([true]);
  });

  it('keeps nothing of what is closed', async () => {
    const { connect, usage } = places({ connections: 2, perAddress: 2 });
    const all: Socket[] = [];
    for (let i = 0; i < 6; i++) all.push(await connect('10.0.0.1'));
    for (const connection of all) connection.destroy();
    await turn();
    const free = () => usage.take('connections', 2);
    expect([free() === null, free() === null, free() === null]).toEqual([false, false, true]);
  });
});
