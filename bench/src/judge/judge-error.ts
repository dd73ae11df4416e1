import { UsageError } from 'flinch/internals';

/** The judge cannot be asked at all: whoever runs the benchmark has to do something about it. */
export class JudgeError extends UsageError {}
