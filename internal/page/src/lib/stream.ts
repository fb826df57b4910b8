// Follows the events of a thread over server-sent events, exactly once and in order. After a lost
// connection, a killed server or a proxy that buffers, it continues at the event after the last one.
import { Problem, problemOf } from './api';
import { session } from './session.svelte';

/** An event of the log, or a delta without seq. See docs/log-format.md. */
export interface LogEvent {
  event_id: string;
  thread_id: string;
  seq: number;
  ts: string;
  type: string;
  run_id?: string;
  cause?: string;
  role?: string;
  content?: string;
  model?: string;
  tool_name?: string;
  tool_args?: Record<string, unknown>;
  tool_result?: string;
  elapsed_ms?: number;
  data?: Record<string, unknown>;
}

/** One message of the stream: its name ('message' if it has none), id and data. */
export interface Message {
  name: string;
  id: string;
  data: string;
}

/** Splits a stream of server-sent events into messages (WHATWG HTML, 9.2). Pure: keeps the rest of the text. */
export class Splitter {
  private rest = '';

  push(text: string): Message[] {
    this.rest += text;
    const messages: Message[] = [];
    for (;;) {
      const end = /\r\n\r\n|\n\n|\r\r/.exec(this.rest);
      if (!end) return messages;
      const block = this.rest.slice(0, end.index);
      this.rest = this.rest.slice(end.index + end[0].length);
      const message: Message = { name: 'message', id: '', data: '' };
      const data: string[] = [];
      for (const line of block.split(/\r\n|\n|\r/)) {
        const colon = line.indexOf(':');
        if (colon === 0) continue;
        const field = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
        if (field === 'event') message.name = value;
        if (field === 'id') message.id = value;
        if (field === 'data') data.push(value);
      }
      message.data = data.join('\n');
      if (data.length > 0) messages.push(message);
    }
  }
}

export interface Follower {
  /** Gets events in order, in batches. An event arrives once, also after a reconnection. */
  events(batch: LogEvent[]): void;
  /** Gets messages that are no events of the log, such as deltas of an answer. */
  other?(message: Message): void;
  /** Gets the state of the connection. */
  state?(state: 'connecting' | 'live' | 'waiting' | 'ended', problem?: Problem): void;
}

const silence = 45_000; // the server sends a comment at least every 15 s
const longestWait = 10_000;

/** Follows path, such as /api/thinking/ID/stream. Returns a function that stops it. */
export function follow(path: string, follower: Follower, after = 0): () => void {
  const stop = new AbortController();
  void run(path, follower, after, stop.signal);
  return () => stop.abort();
}

async function run(path: string, follower: Follower, after: number, stop: AbortSignal) {
  let last = after;
  let wait = 500;
  while (!stop.aborted) {
    follower.state?.('connecting');
    const attempt = new AbortController();
    const abort = () => attempt.abort();
    stop.addEventListener('abort', abort);
    let timer = setTimeout(abort, silence);
    try {
      const response = await fetch(path, {
        headers: { Accept: 'text/event-stream', ...(last > 0 ? { 'Last-Event-ID': String(last) } : {}) },
        credentials: 'same-origin',
        signal: attempt.signal,
      });
      if (response.status === 401) session.expired();
      if (response.status === 204) {
        follower.state?.('ended'); // the thread has ended, and no event is missing
        return;
      }
      if (!response.ok || !response.body) {
        const body = await response.json().catch(() => null);
        const problem = problemOf(response, body);
        const final = response.status >= 400 && response.status < 500 && response.status !== 429 && response.status !== 401;
        follower.state?.(final ? 'ended' : 'waiting', problem);
        if (final) return;
        throw problem;
      }
      session.saw(response.headers.get('Date'));
      session.reached();
      follower.state?.('live');
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const splitter = new Splitter();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        clearTimeout(timer);
        timer = setTimeout(abort, silence);
        wait = 500;
        const batch: LogEvent[] = [];
        for (const message of splitter.push(value)) {
          if (message.name === 'removed') {
            follower.state?.('ended', new Problem(410, 'This work was removed elsewhere.'));
            return;
          }
          if (message.name === 'trouble') follower.state?.('waiting', new Problem(503, message.data));
          const event = message.name === 'message' ? (JSON.parse(message.data) as LogEvent) : null;
          if (!event?.seq) {
            follower.other?.(message);
          } else if (event.seq > last) {
            last = event.seq;
            batch.push(event);
          }
        }
        if (batch.length > 0) follower.events(batch);
      }
    } catch {
      if (stop.aborted) return;
      session.lost();
    } finally {
      clearTimeout(timer);
      stop.removeEventListener('abort', abort);
    }
    if (stop.aborted) return;
    follower.state?.('waiting');
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, longestWait);
  }
}
