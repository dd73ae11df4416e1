/** A configuration that cannot be used. The message begins with the place: file and field, variable, or flag. */
export class ConfigError extends Error {
  readonly type = 'config';
  readonly location: string;

  constructor(location: string, problem: string) {
    super(`${location}: ${problem}`);
    this.name = 'ConfigError';
    this.location = location;
  }
}
