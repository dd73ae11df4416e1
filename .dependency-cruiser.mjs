/** What `flinch`, `flinch/gateway`, `flinch/internals` and `flinch-client` export. */
const FLINCH = ['cli/internals', 'src/index', 'gateway/index', 'client/src'];
/** What a run of the benchmark writes down, and what counts it. */
const RECORDS = ['bench/src/records', 'bench/src/statistics', 'bench/src/steps', 'bench/src/suites'];
/** What a program of the laboratory stands on, beside others of them. */
const STUDY = ['src', 'gateway', 'cli', 'client/src', 'bench/src', 'lab/src/lab-entry', 'lab/src/free-port'];

/** What requests are answered with, whatever carries them. */
const SERVED = [
  'src',
  'gateway/connection-bounds',
  'gateway/serving',
  'gateway/errors',
  'gateway/access',
  'gateway/requests',
  'gateway/answers',
  'gateway/tracing',
  'gateway/generations',
];

/**
 * The architecture: who may import whom. `npm run check` fails on an import that points up, on one between rooms that
 * are not listed here, and on a circle; types count.
 *
 * A room is a folder. It may import itself and the rooms in its list. The lists read from the ground to the roof.
 */
const ROOMS = {
  src: ['client/src'],
  gateway: ['src', 'client/src'],

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
  'src/answers': ['src/steps'],
  'src/risk': [
    ...['src/package-root', 'src/files', 'src/numerics'],
    ...['src/checkpoint', 'src/uncertainty', 'src/steps'],
  ],
  'src/stream': ['src/numerics', 'src/tokenizer', 'src/engine', 'src/uncertainty', 'src/risk', 'src/steps'],
  'src/guard': [
    'src/numerics',
    'src/tokenizer',
    'src/engine',
    'src/uncertainty',
    'src/risk',
    'src/steps',
    'src/stream',
  ],
  'src/cost': ['src/onnx', 'src/checkpoint', 'src/graphs', 'src/engine', 'src/uncertainty', 'src/stream'],

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
  'gateway/answers': [
    'src',
    'gateway/errors',
    'gateway/config',
    'gateway/access',
    'gateway/requests',
    'gateway/policy',
  ],
  'gateway/models': ['src', 'gateway/errors', 'gateway/requests', 'gateway/answers'],
  'gateway/tracing': ['src', 'gateway/errors', 'gateway/config', 'gateway/answers'],
  'gateway/webhooks': ['src', 'gateway/errors', 'gateway/config', 'gateway/answers'],
  'gateway/upstream': [
    'src',
    'gateway/errors',
    'gateway/config',
    'gateway/requests',
    'gateway/answers',
    'gateway/models',
    'gateway/tracing',
  ],
  'gateway/generations': ['src', 'gateway/errors', 'gateway/config', 'gateway/access', 'gateway/answers'],
  'gateway/state': ['src', 'gateway/errors', 'gateway/config', 'gateway/access', 'gateway/generations'],
  'gateway/metrics': [
    'src',
    'gateway/errors',
    'gateway/config',
    'gateway/answers',
    'gateway/tracing',
    'gateway/webhooks',
    'gateway/upstream',
    'gateway/state',
  ],
  'gateway/connection-bounds': [],
  'gateway/serving': [
    'gateway/connection-bounds',
    'gateway/config',
    'gateway/access',
    'gateway/answers',
    'gateway/generations',
    'gateway/metrics',
  ],
  'gateway/http': [...SERVED, 'gateway/policy', 'gateway/models', 'gateway/upstream', 'gateway/metrics'],
  'gateway/websocket': [...SERVED, 'gateway/http', 'client/src'],
  'gateway/log-line': ['src'],
  'gateway/log-writer': ['src'],
  'gateway/open-log': ['src', 'gateway/config', 'gateway/metrics', 'gateway/log-line', 'gateway/log-writer'],
  'gateway/open-models': [
    'src',
    'gateway/config',
    'gateway/answers',
    'gateway/metrics',
    'gateway/models',
    'gateway/upstream',
  ],
  'gateway/gateway': [
    ...SERVED,
    'gateway/models',
    'gateway/config',
    'gateway/policy',
    'gateway/metrics',
    'gateway/state',
    'gateway/webhooks',
    'gateway/http',
    'gateway/websocket',
    'gateway/log-writer',
  ],
  'gateway/start-gateway': [
    'src',
    'gateway/connection-bounds',
    'gateway/config',
    'gateway/access',
    'gateway/metrics',
    'gateway/state',
    'gateway/http',
    'gateway/gateway',
  ],
  'gateway/workers': [
    'src',
    'gateway/config',
    'gateway/access',
    'gateway/models',
    'gateway/generations',
    'gateway/metrics',
    'gateway/http',
    'gateway/open-log',
    'gateway/open-models',
    'gateway/gateway',
    'gateway/start-gateway',
    'gateway/start-alone',
  ],
  'gateway/start-alone': [
    'gateway/config',
    'gateway/tracing',
    'gateway/open-models',
    'gateway/gateway',
    'gateway/start-gateway',
    'gateway/workers',
  ],

  // The page.
  web: ['client/src', 'client/react'],

  // The command, and what nothing imports.
  cli: ['src', 'gateway', 'client/src'],

  // A back end that most do without: a package of its own.
  'redis/src': ['gateway/state/index'],

  // The benchmark on one's own model: a package of its own. Of flinch it uses what the packages export.
  'bench/src': FLINCH,
  'bench/src/answers': FLINCH,
  'bench/src/baselines': FLINCH,
  'bench/src/statistics': FLINCH,
  'bench/src/steps': FLINCH,
  'bench/src/encoder': [...FLINCH, 'bench/src/baselines'],
  'bench/src/measures': [...FLINCH, 'bench/src/baselines', 'bench/src/encoder'],
  'bench/src/tasks': ['bench/src/steps'],
  'bench/src/suites': [...FLINCH, 'bench/src/answers', 'bench/src/steps', 'bench/src/tasks'],
  'bench/src/data': [...FLINCH, 'bench/src/suites'],
  'bench/src/records': [...FLINCH, 'bench/src/suites'],
  'bench/src/evaluate': [...FLINCH, ...RECORDS, 'bench/src/map-values'],
  'bench/src/judge': [...FLINCH, ...RECORDS, 'bench/src/answers', 'bench/src/markdown-table'],
  'bench/src/rollouts': [...FLINCH, ...RECORDS, 'bench/src/result-log'],
  'bench/src/report': [
    ...FLINCH,
    ...RECORDS,
    'bench/src/evaluate',
    'bench/src/measures',
    'bench/src/foreign-files',
    'bench/src/markdown-table',
  ],

  // The programs behind docs/results: in no package.
  'lab/src': STUDY,
  'lab/src/evidence': STUDY,
  'lab/src/gateway': STUDY,
  'lab/src/peers': STUDY,
  'lab/src/pictures': [...STUDY, 'lab/src/gateway'],
  'lab/src/speed': [...STUDY, 'lab/src/peers'],
  // Writers of the schemas' files and of docs/reference.
  tools: ['src', 'gateway', 'cli', 'client/src', 'bench/src/bench-command'],
};

const within = (room) => `^${room}(/|\\.ts$)`;

export default {
  forbidden: [
    { name: 'no-circle', severity: 'error', from: {}, to: { circular: true } },
    ...Object.entries(ROOMS).map(([room, below]) => ({
      name: room,
      comment: `${room} may import ${below.join(', ') || 'no other room'}`,
      severity: 'error',
      from: { path: within(room) },
      to: {
        path: '^(src|gateway|cli|web|tools|client|triton|redis|bench|lab)/',
        pathNot: [room, ...below].map(within),
      },
    })),
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    // Its parser reads no JSX: biome.json has the rules of those files.
    exclude: { path: '(^|/)(dist|assets|public)/|\\.tsx$' },
    enhancedResolveOptions: {
      conditionNames: ['flinch-source', 'import', 'node'],
      exportsFields: ['exports'],
      extensions: ['.ts', '.js'],
    },
  },
};
