/**
 * The architecture: who may import whom. `npm run check` fails on an import that points up, on one between rooms that
 * are not listed here, and on a circle; types count.
 *
 * A room is a folder. It may import itself and the rooms in its list. The lists read from the ground to the roof.
 */
const ROOMS = {
  // The library: it listens on no port.
  'src/files': [],
  'src/onnx': [],
  'src/numerics': [],
  'src/tokenizer': ['src/files'],
  'src/checkpoint': ['src/files', 'src/tokenizer'],
  'src/graphs': ['src/onnx', 'src/numerics', 'src/checkpoint'],
  'src/engine': ['src/files', 'src/onnx', 'src/numerics', 'src/tokenizer', 'src/checkpoint', 'src/graphs'],
  'src/uncertainty': ['src/numerics', 'src/engine'],
  'src/steps': [],
  'src/risk': ['src/files', 'src/numerics', 'src/checkpoint', 'src/uncertainty', 'src/steps'],
  'src/stream': ['src/tokenizer', 'src/engine', 'src/uncertainty', 'src/risk', 'src/steps'],
  'src/guard': [
    'src/numerics',
    'src/tokenizer',
    'src/engine',
    'src/uncertainty',
    'src/risk',
    'src/steps',
    'src/stream',
  ],
  'src/tasks': ['src/files'],
  'src/cost': ['src/onnx', 'src/checkpoint', 'src/graphs', 'src/engine', 'src/uncertainty'],

  // The client of the stream protocol: a package of its own, for front ends. It also bounds the bodies that are read.
  'client/src': [],
  'src/hub': ['src/files', 'client/src'],
  // What is built on it, for LangChain.
  'client/langchain': ['client/src'],
  // What is built on it, for the AI SDK and for React.
  'client/ai-sdk': ['client/src'],
  'client/react': ['client/src', 'client/ai-sdk'],

  // The gateway.
  'gateway/errors': ['src'],
  'gateway/requests': ['src', 'gateway/errors'],
  'gateway/policy': ['src', 'gateway/errors', 'gateway/requests'],
  'gateway/config': ['src', 'gateway/errors', 'gateway/requests', 'gateway/policy'],
  'gateway/access': ['gateway/errors', 'gateway/config'],
  'gateway/models': [
    'src',
    'gateway/errors',
    'gateway/config',
    'gateway/access',
    'gateway/requests',
    'gateway/policy',
  ],
  'gateway/tracing': ['src', 'gateway/errors', 'gateway/config', 'gateway/models'],
  'gateway/webhooks': ['src', 'gateway/errors', 'gateway/config', 'gateway/models'],
  'gateway/upstream': [
    'src',
    'gateway/errors',
    'gateway/config',
    'gateway/requests',
    'gateway/models',
    'gateway/tracing',
  ],
  'gateway/generations': ['src', 'gateway/errors', 'gateway/config', 'gateway/access', 'gateway/models'],
  'gateway/state': ['gateway/errors', 'gateway/config', 'gateway/access', 'gateway/generations'],
  'gateway/metrics': [
    'src',
    'gateway/errors',
    'gateway/requests',
    'gateway/models',
    'gateway/upstream',
    'gateway/state',
  ],
  'gateway/http': ['src', 'gateway'],
  'gateway/websocket': ['src', 'gateway', 'client/src'],
  'gateway/workers': ['src', 'gateway'],
  'gateway/api': ['src', 'gateway', 'client/src'],
  'gateway/web': ['client/src'],

  // The command, and the packages that nothing imports.
  'src/cli': ['src', 'gateway', 'client/src'],
  'bench/src': ['src/internals', 'src/index', 'gateway/index', 'client/src'],
};

const within = (room) => `^${room}(/|\\.ts$)`;

export default {
  forbidden: [
    { name: 'no-circle', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'the-roof',
      comment:
        'the command and `flinch/internals` stand on all else: only they, and flinch-bench, may import them',
      severity: 'error',
      from: { pathNot: '^(src/(cli/|internals\\.ts)|bench/)' },
      to: { path: '^src/(cli/|internals\\.ts)' },
    },
    ...Object.entries(ROOMS).map(([room, below]) => ({
      name: room,
      comment: `${room} may import ${below.join(', ') || 'no other room'}`,
      severity: 'error',
      from: { path: within(room) },
      to: { path: '^(src|gateway|client|bench)/', pathNot: [room, ...below].map(within) },
    })),
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    // Its parser reads no JSX.
    exclude: { path: '(^|/)(dist|assets|public)/|\\.tsx$' },
    enhancedResolveOptions: {
      conditionNames: ['flinch-source', 'import', 'node'],
      exportsFields: ['exports'],
      extensions: ['.ts', '.js'],
    },
  },
};
