/** A configuration that cannot be used. The message begins with the place: file and field, variable, or flag. */
export class ConfigError extends Error {
  readonly type = 'config';
  readonly place: string;

  constructor(place: string, problem: string) {
    super(`${place}: ${problem}`);
    this.name = 'ConfigError';
    this.place = place;
  }
}
