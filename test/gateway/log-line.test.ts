import { Chalk } from 'chalk';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { logLine } from '#gateway/log-line.js';
import { HOSTILE, obeyed } from '../support/hostile-text.js';

/** The lines of what is logged, without the time of day that each record begins with. */
function lines(log: (logger: ReturnType<typeof pino>) => void, level: 0 | 1 = 0): string[] {
  const all: string[] = [];
  const chalk = new Chalk({ level });
  log(pino({ base: { pid: 1 } }, { write: (json) => all.push(logLine(json, chalk)) }));
  return all.map((text) => text.replace(/^\d\d:\d\d:\d\d /, ''));
}

const asked = {
  request_id: 'r',
  method: 'POST',
  route: '/v1/chat/completions',
  status: 200,
  ms: 123,
  model: 'reasoner',
  principal: 'anonymous',
  response_id: 'chatcmpl-1',
  complete: true,
};

describe('a line of the log for people', () => {
  it('is short for a request', () => {
    expect(lines((logger) => logger.info(asked, 'request'))).toEqual([
      'POST /v1/chat/completions 200 reasoner 123 ms\n',
    ]);
  });

  it('says how an answer came out', () => {
    const done = { ...asked, completion_tokens: 55, flagged: false, flagged_steps: 0 };
    const flagged = { ...done, flagged: true, flagged_steps: 1 };
    const all = lines((logger) => {
      logger.info(done, 'request');
      logger.info({ ...flagged, policy: 'house', escalation: { to: 'large', failed: null } }, 'request');
      logger.info({ ...flagged, escalation: { to: 'large', failed: 'upstream_timeout' } }, 'request');
      logger.info({ ...done, vote: { answers: 5, agreed: 3 } }, 'request');
      logger.info({ ...flagged, flagged_steps: 2, reason: 'stopped' }, 'request');
      logger.info({ ...done, flagged: null, reason: 'too_few_answers' }, 'request');
    });
    expect(all.map((line) => line.replace('POST /v1/chat/completions 200 reasoner 123 ms ', ''))).toEqual([
      '55 tokens\n',
      '55 tokens, policy house, 1 flagged step, flagged, escalated to large\n',
      '55 tokens, 1 flagged step, flagged, escalated to large, which failed (upstream_timeout)\n',
      '55 tokens, 3 of 5 votes\n',
      '55 tokens, 2 flagged steps, stopped by the guard\n',
      '55 tokens, not judged (too_few_answers)\n',
    ]);
  });

  it('says why a request was refused, cut off or left', () => {
    const refused = { ...asked, status: 404, model: undefined, complete: undefined, code: 'model_not_found' };
    const all = lines((logger) => {
      logger.info(refused, 'request');
      logger.info({ ...asked, complete: false }, 'request');
      logger.info({ ...asked, status: null, complete: false }, 'request');
    });
    expect(all).toEqual([
      'POST /v1/chat/completions 404 123 ms model_not_found\n',
      'POST /v1/chat/completions 200 reasoner 123 ms cut off\n',
      'POST /v1/chat/completions no answer reasoner 123 ms cut off\n',
    ]);
  });

  it('is not there for what pages and monitors ask by themselves, unless it fails', () => {
    const all = lines((logger) => {
      for (const route of ['page', '/v1/models', '/readyz', '/metrics'])
        for (const status of [200, 304, 503]) logger.info({ ...asked, route, status }, 'request');
    });
    expect(all.map((line) => line !== '')).toEqual(Array(4).fill([false, false, true]).flat());
  });

  it('has all that warnings and errors say', () => {
    const error = new Error('no room');
    const all = lines((logger) => {
      logger.warn({ upstream: 0, code: 'upstream_unreachable', reason: 'ECONNREFUSED' }, 'upstream failed');
      logger.error({ err: error, request_id: 'r', status: 500 }, 'request failed');
      logger.error({ err: 'odd' }, 'probe failed');
      logger.info({ capabilities: { logprobs: 20 }, reason: null }, 'upstream answers');
    });
    expect(all).toEqual([
      'warning: upstream failed upstream=0 code=upstream_unreachable reason=ECONNREFUSED\n',
      `error: request failed request_id=r status=500\n${error.stack?.replace(/^/gm, '  ')}\n`,
      'error: probe failed err=odd\n',
      'upstream answers capabilities={"logprobs":20}\n',
    ]);
  });

  it('is coloured, and obeys nothing that came from elsewhere', () => {
    const log = (logger: ReturnType<typeof pino>): void => {
      logger.info({ ...asked, model: HOSTILE }, 'request');
      logger.warn({ reason: HOSTILE }, HOSTILE);
      logger.error({ err: new Error(HOSTILE) }, 'failed');
    };
    expect(lines(log).flatMap(obeyed)).toEqual([]);
    expect(lines(log, 1)[0]).toContain('\x1b[32m200\x1b[39m');
    expect(lines(log).slice(0, 2).join('').split('\n')).toHaveLength(3);
  });
});
