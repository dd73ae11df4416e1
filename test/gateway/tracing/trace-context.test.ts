import { type ContextManager, context, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readTrace, traceHeaders } from '#gateway/tracing/trace-context.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const PARENT = `00-${TRACE}-${SPAN}-01`;

/** What is passed on of headers that came. */
const passedOn = (traceparent: string, tracestate?: string): Partial<Record<string, unknown>> => {
  const { context, ignored } = readTrace({ traceparent, ...(tracestate !== undefined && { tracestate }) });
  return { ...traceHeaders(context), ignored };
};

describe('the trace context of a request', () => {
  it('is passed on as it came', () => {
    expect(passedOn(PARENT, 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE')).toEqual({
      traceparent: PARENT,
      tracestate: 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
      ignored: false,
    });
    expect(passedOn(`00-${TRACE}-${SPAN}-00`).traceparent).toBe(`00-${TRACE}-${SPAN}-00`);
  });

  it('is that of the application around us, where it has one', () => {
    const span = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 };
    const active = trace.setSpanContext(ROOT_CONTEXT, span);
    onTestFinished(() => context.disable());
    const manager: ContextManager = {
      active: () => active,
      with: (_, run, self, ...args) => run.call(self, ...args),
      bind: (_, target) => target,
      enable: () => manager,
      disable: () => manager,
    };
    context.setGlobalContextManager(manager);
    expect(traceHeaders(readTrace({ traceparent: PARENT }).context).traceparent).toContain('a'.repeat(32));
    expect(readTrace({ traceparent: 'none' }).ignored).toBe(false);
  });

  it('may be of a later version, whose further fields are left out', () => {
    expect(passedOn(`cc-${TRACE}-${SPAN}-01-what-the-future-will-be-like`)).toEqual({
      traceparent: PARENT,
      ignored: false,
    });
  });

  it('is none where there is none', () => {
    expect(readTrace({})).toEqual({ context: ROOT_CONTEXT, ignored: false });
    expect(readTrace({ tracestate: 'a=b' })).toEqual({ context: ROOT_CONTEXT, ignored: false });
    expect(traceHeaders(undefined)).toEqual({});
    expect(traceHeaders(ROOT_CONTEXT)).toEqual({});
  });

  it.each([
    ['10 kB', `${PARENT}-${'f'.repeat(10_000)}`],
    ['10 kB of a later version', `cc-${TRACE}-${SPAN}-01-${'f'.repeat(10_000)}`],
    ['nothing', ''],
    ['upper case', PARENT.toUpperCase()],
    ['the version that is not allowed', `ff-${TRACE}-${SPAN}-01`],
    ['further fields of version 00', `${PARENT}-00`],
    ['a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['two of them', `${PARENT}, ${PARENT}`],
    ['a line break', `${PARENT}\r\nx: y`],
  ])('is ignored and counted: %s', (_, traceparent) => {
    expect(passedOn(traceparent)).toEqual({ ignored: true });
  });

  it.each([
    ['10 kB', `a=${'b'.repeat(10_000)}`],
    ['no pair', 'nothing'],
    ['an empty key', '=1'],
  ])('goes on without a state that is ignored and counted: %s', (_, state) => {
    expect(passedOn(PARENT, state)).toEqual({ traceparent: PARENT, ignored: true });
  });

  it('is never anything but what the specification allows', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary-ascii' }),
        fc.string({ unit: 'binary-ascii' }),
        (parent, state) => {
          const { traceparent = PARENT, tracestate = '' } = passedOn(parent, state);
          expect(traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/);
          expect(tracestate).toBe('');
          const passed = passedOn(PARENT, state).tracestate ?? '';
          expect(passed).toMatch(/^[\x20-\x7e]{0,512}$/);
        },
      ),
    );
  });
});
