import { scored } from '../support/upstream-contract/scored.js';
import { upstreamContract } from '../support/upstream-contract.js';
import { engineDouble, realServer } from '../support/upstream-subjects.js';

// FLINCH_UPSTREAM=vllm, llama-cpp or double runs only that one.
const only = process.env.FLINCH_UPSTREAM;

const VLLM = { tokenIds: 'return_token_ids', logprobs: 20, resume: 'tokens' } as const;
const LLAMA_CPP = { tokenIds: 'return_tokens', logprobs: 20, resume: 'tokens' } as const;

if (!only || only === 'double') upstreamContract(engineDouble());

for (const model of ['reasoner', 'smollm2'] as const) {
  if (!only || only === 'vllm') {
    // Its seeds draw other tokens than ours, and the reasoner was not seen to write such a character.
    const not = model === 'reasoner' ? { unicode: 'the embedded model wrote none' } : {};
    upstreamContract(realServer('vllm', model, { capabilities: VLLM, not }));
    // The scorer's weights are not rounded.
    const rounded = { title: 'vllm in bfloat16', args: ['--dtype', 'bfloat16'], agreement: 0.05 };
    upstreamContract(realServer('vllm', model, { ...rounded, capabilities: VLLM }), [scored]);
  }
  if (!only || only === 'llama-cpp') {
    upstreamContract(
      realServer('llama-cpp', model, {
        capabilities: LLAMA_CPP,
        // SmolLM2's weights are rounded to four bits there.
        agreement: model === 'smollm2' ? 0.2 : 0.001,
        // Its threads wait for each other actively: two are slower than one where the cores are busy.
        args: ['--threads', '1'],
        not: {
          promptIds: 'llama.cpp does not tell the ids of a prompt',
          unicode: 'llama.cpp describes only the last token of a character: see the recordings',
          tooManyTokens: 'llama.cpp ends at its context whatever max_tokens says',
          unknownModel: 'llama.cpp takes any name of a model',
        },
      }),
    );
  }
}
