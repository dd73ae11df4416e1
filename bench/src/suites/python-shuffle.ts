/**
 * Same as `random.Random(seed).shuffle(items)` in Python 3, to reproduce published orders.
 *
 * @param seed a whole number from 0 to 2³² − 1
 */
export function pythonShuffle<T>(items: readonly T[], seed: number): T[] {
  const next = mersenneTwister(seed);
  const shuffled = [...items];
  for (let i = shuffled.length - 1; i > 0; i -= 1) {
    const bits = 32 - Math.clz32(i + 1);
    let j = next() >>> (32 - bits);
    while (j > i) j = next() >>> (32 - bits);
    [shuffled[i], shuffled[j]] = [shuffled[j]!, shuffled[i]!];
  }
  return shuffled;
}

const N = 624;
const M = 397;

/** MT19937, initialised with the key [seed], as Python does it; the generator that pure-rand has takes a bare number. */
function mersenneTwister(seed: number): () => number {
  const state = initialState(seed);
  let index = N;
  return () => {
    if (index === N) {
      twist(state);
      index = 0;
    }
    let y = state[index]!;
    index += 1;
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  };
}

/** `init_by_array` of the reference implementation, for a key of one word. */
function initialState(seed: number): Uint32Array {
  const state = new Uint32Array(N);
  const mixed = (i: number, factor: number): number => {
    const before = state[i - 1]!;
    return Math.imul(before ^ (before >>> 30), factor);
  };
  state[0] = 19650218;
  for (let i = 1; i < N; i += 1) state[i] = mixed(i, 1812433253) + i;
  let i = 1;
  const advance = (): void => {
    i += 1;
    if (i === N) {
      state[0] = state[N - 1]!;
      i = 1;
    }
  };
  for (let k = 0; k < N; k += 1) {
    state[i] = (state[i]! ^ mixed(i, 1664525)) + seed;
    advance();
  }
  for (let k = 1; k < N; k += 1) {
    state[i] = (state[i]! ^ mixed(i, 1566083941)) - i;
    advance();
  }
  state[0] = 0x80000000;
  return state;
}

function twist(state: Uint32Array): void {
  for (let k = 0; k < N; k += 1) {
    const y = (state[k]! & 0x80000000) | (state[(k + 1) % N]! & 0x7fffffff);
    state[k] = state[(k + M) % N]! ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
  }
}
