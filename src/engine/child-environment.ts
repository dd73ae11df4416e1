/** Variables of the system, of Node and of onnxruntime's devices: names, and how names begin. */
const NAMES: ReadonlySet<string> = new Set([
  ...['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'LANG', 'TZ', 'DISPLAY', 'WAYLAND_DISPLAY'],
  ...['SYSTEMROOT', 'SYSTEMDRIVE', 'WINDIR', 'COMSPEC', 'PATHEXT', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA'],
  ...['PROGRAMDATA', 'PROGRAMFILES', 'COMMONPROGRAMFILES', 'NUMBER_OF_PROCESSORS', 'PROCESSOR_ARCHITECTURE'],
  ...['NODE_OPTIONS', 'NODE_DEBUG', 'NODE_ENV', 'NODE_PATH', 'NODE_V8_COVERAGE', 'NODE_COMPILE_CACHE'],
  ...['NO_COLOR', 'FORCE_COLOR', 'GLIBC_TUNABLES', 'UV_THREADPOOL_SIZE', 'UV_USE_IO_URING'],
]);
const PREFIXES =
  /^(LC|LD|DYLD|XDG|MALLOC|OMP|GOMP|KMP|ORT|ONNXRUNTIME|CUDA|CUDNN|CUBLAS|NVIDIA|VK|MESA|GALLIUM|LP|LIBGL|DRI|RADV|AMD|INTEL|MTL)_/;
/** NVIDIA_API_KEY is none of its driver's. */
const SECRET = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH/;

/** Environment of an engine process, without variables that may be secrets. */
export function childEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([variable]) => {
    const name = variable.toUpperCase(); // on Windows case does not count
    return NAMES.has(name) || (PREFIXES.test(name) && !SECRET.test(name));
  });
  return Object.fromEntries(kept);
}
