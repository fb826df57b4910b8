// A server whose connections are killed, held back by a proxy, or refused: the follower gets each
// event once and in order, without help.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Gate, follow, type LogEvent } from './stream';

type Reply = (init: { after: number; sse: boolean; signal: AbortSignal }) => Response | Promise<Response>;

const event = (seq: number) => ({ event_id: `evt_${seq}`, thread_id: 'thr', seq, ts: '', type: 'thought' }) as LogEvent;
const line = (seq: number) => `id: ${seq}\ndata: ${JSON.stringify(event(seq))}\n\n`;

/** A stream with these pieces that then breaks, closes, or stays open. */
function sse(pieces: string[], end: 'break' | 'close' | 'open', signal: AbortSignal): Response {
  const bytes = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start(out) {
      for (const piece of pieces) out.enqueue(bytes.encode(piece));
      if (end === 'close') out.close();
      signal.addEventListener('abort', () => out.error(new DOMException('aborted', 'AbortError')));
    },
    pull(out) {
      if (end === 'break') out.error(new TypeError('network error'));
    },
  });
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
}

function serve(reply: Reply) {
  vi.stubGlobal('fetch', (path: string, init: { headers: Record<string, string>; signal: AbortSignal }) => {
    const after = Number(init.headers['Last-Event-ID'] ?? new URL(path, 'http://x').searchParams.get('after') ?? 0);
    return Promise.resolve(reply({ after, sse: init.headers['Accept'] === 'text/event-stream', signal: init.signal }));
  });
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('document', { hidden: false, addEventListener() {}, removeEventListener() {} });
  vi.stubGlobal('addEventListener', () => {});
  vi.stubGlobal('removeEventListener', () => {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function collect(time: number) {
  const seqs: number[] = [];
  const states: string[] = [];
  let restarts = 0;
  const stop = follow('/api/threads/thr/events', {
    events: (batch) => seqs.push(...batch.map((e) => e.seq)),
    state: (state) => states.push(state),
    restart: () => void restarts++,
  });
  await vi.advanceTimersByTimeAsync(time);
  stop();
  return { seqs, states, restarts };
}

test('a killed server continues after the last event, also if it repeats some', async () => {
  let calls = 0;
  serve(({ after, signal }) => {
    calls++;
    if (calls === 1) return sse([line(1), line(2) + line(3).slice(0, 20)], 'break', signal);
    if (calls === 2) return Promise.reject(new TypeError('connection refused'));
    if (calls === 3) return new Response('{}', { status: 503 });
    if (after >= 5) return new Response(null, { status: 204 });
    expect(after).toBe(2);
    return sse([line(2), line(3), line(4), line(5)], 'close', signal);
  });
  const { seqs, states } = await collect(20_000);
  expect(seqs).toEqual([1, 2, 3, 4, 5]);
  expect(states.at(-1)).toBe('ended');
});

test('behind a proxy that holds the stream back, the list delivers the events', async () => {
  let head = 2;
  serve(({ after, sse: isStream, signal }) => {
    if (isStream) return after >= 6 ? new Response(null, { status: 204 }) : sse([], 'open', signal);
    const events = [1, 2, 3, 4, 5, 6].filter((seq) => seq > after && seq <= head).map(event);
    head += 2;
    return Response.json({ events });
  });
  const { seqs, states } = await collect(60_000);
  expect(seqs).toEqual([1, 2, 3, 4, 5, 6]);
  expect(states.at(-1)).toBe('ended');
});

test('a quiet stream stays open while the list has nothing newer', async () => {
  let streams = 0;
  serve(({ after, sse: isStream, signal }) => {
    if (!isStream) return Response.json({ events: [event(1)].filter((e) => e.seq > after) });
    streams++;
    return sse([line(1)], 'open', signal);
  });
  const { seqs } = await collect(40_000);
  expect(seqs).toEqual([1]);
  expect(streams).toBe(1);
});

test('a log that starts over is read from its beginning', async () => {
  let calls = 0;
  serve(({ signal }) => {
    calls++;
    if (calls === 1) return sse([line(7)], 'close', signal);
    return sse(['event: gap\ndata: {"after":0}\n\n' + line(1) + line(2)], 'open', signal);
  });
  const { seqs, restarts } = await collect(3_000);
  expect(seqs).toEqual([7, 1, 2]);
  expect(restarts).toBe(1);
});

test('a thread that was removed elsewhere ends the stream with its problem', async () => {
  serve(({ signal }) => sse([line(1) + 'event: removed\ndata: {}\n\n'], 'open', signal));
  const { seqs, states } = await collect(1_000);
  expect(seqs).toEqual([1]);
  expect(states.at(-1)).toBe('ended');
});

test('an unknown thread is final, an expired sign-in is not', async () => {
  serve(() => Response.json({ title: 'Not Found' }, { status: 404 }));
  expect((await collect(5_000)).states.at(-1)).toBe('ended');
  let calls = 0;
  serve(({ signal }) => (calls++ === 0 ? Response.json({}, { status: 401 }) : sse([line(1)], 'open', signal)));
  expect((await collect(5_000)).seqs).toEqual([1]);
});

test('any order and repetition of events passes once and in order', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const gate = new Gate();
    const admitted: number[] = [];
    let random = seed;
    for (let i = 0; i < 200; i++) {
      random = (random * 48_271) % 2_147_483_647;
      const seq = 1 + (random % (i + 1));
      if (gate.admit(event(seq))) admitted.push(seq);
    }
    expect(admitted).toEqual([...new Set(admitted)].sort((a, b) => a - b));
    expect(gate.last).toBe(admitted.at(-1));
  }
});
