import { UsageError } from 'flinch/internals';

/** The judge cannot be asked at all: you have to fix this to go on. */
export class JudgeError extends UsageError {}
