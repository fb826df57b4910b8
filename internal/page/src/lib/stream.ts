// Follows the events of a thread over server-sent events, exactly once and in order. After a lost
// connection or a killed server, it continues at the event after the last one. Behind a proxy that
// holds the stream back, it asks for the list of events instead.
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
  reason?: string;
  internal?: boolean;
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
  private searched = 0; // characters of rest without the end of a message

  push(text: string): Message[] {
    this.rest += text;
    const messages: Message[] = [];
    const end = /\r\n\r\n|\n\n|\r\r/g;
    let begin = 0;
    end.lastIndex = this.searched;
    for (let found = end.exec(this.rest); found; found = end.exec(this.rest)) {
      const message = parseMessage(this.rest.slice(begin, found.index));
      if (message) messages.push(message);
      begin = end.lastIndex;
    }
    this.rest = this.rest.slice(begin);
    this.searched = Math.max(0, this.rest.length - 3);
    return messages;
  }
}

function parseMessage(block: string): Message | null {
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
  return data.length > 0 ? message : null;
}

/**
 * Admits each event once and in order, whether it comes from the stream or from a list. Pure.
 */
export class Gate {
  constructor(private seq = 0) {}

  /** The seq of the newest event that was admitted. */
  get last(): number {
    return this.seq;
  }
  admit(event: LogEvent): boolean {
    if (!(event.seq > this.seq)) return false;
    this.seq = event.seq;
    return true;
  }
  /** Starts over: the server does not know the cursor, because the thread is another one now. */
  restart(after: number) {
    this.seq = after;
  }
}

export interface Follower {
  /** Gets events in order, in batches. An event arrives once, also after a reconnection. */
  events(batch: LogEvent[]): void;
  /** Gets messages that are no events of the log, such as deltas of an answer. */
  other?(message: Message): void;
  /** Gets the state of the connection. */
  state?(state: 'connecting' | 'live' | 'waiting' | 'ended', problem?: Problem): void;
  /** The log starts over: forget all events so far. */
  restart?(): void;
}

const silence = 45_000; // the server sends a comment at least every 15 s
const longestWait = 10_000;
const heldBack = 5_000; // without a byte for this long, look whether a proxy holds the stream back
const pollInterval = 1_500;

/**
 * Follows path, such as /api/threads/ID/events, which offers the events as a stream and as a list.
 * Returns a function that stops it.
 */
export function follow(path: string, follower: Follower, after = 0): () => void {
  const stream = new EventStream(path, follower, new Gate(after));
  void stream.run();
  return () => stream.stop();
}

class EventStream {
  private stopped = new AbortController();
  private attempt = new AbortController();
  private wake = () => {};
  private lastByte = 0;
  private polls = false;

  constructor(private path: string, private follower: Follower, private gate: Gate) {}

  stop() {
    this.stopped.abort();
    this.attempt.abort();
    this.wake();
    removeEventListener('online', this.hurry);
    document.removeEventListener('visibilitychange', this.hurry);
  }

  /** After sleep or a lost network, a connection may be dead without a sign of it. */
  private hurry = () => {
    if (document.hidden) return;
    if (this.lastByte > 0 && Date.now() - this.lastByte > 20_000) this.attempt.abort();
    this.wake();
  };

  async run() {
    addEventListener('online', this.hurry);
    document.addEventListener('visibilitychange', this.hurry);
    const { follower } = this;
    let wait = 500;
    while (!this.stopped.signal.aborted) {
      follower.state?.('connecting');
      const before = this.gate.last;
      try {
        const ended = this.polls ? (await this.poll()) || (wait >= longestWait && (await this.hasEnded())) : await this.read();
        if (ended) {
          this.stop();
          return;
        }
      } catch (error) {
        if (this.stopped.signal.aborted) return;
        if (error instanceof Problem) follower.state?.('waiting', error);
        else if (!this.attempt.signal.aborted) session.lost();
      }
      if (this.stopped.signal.aborted) return;
      if (this.gate.last > before) wait = 500;
      if (!this.polls) follower.state?.('waiting');
      await this.sleep(this.polls && wait < longestWait ? pollInterval : wait);
      wait = Math.min(wait * 2, longestWait);
    }
  }

  private sleep(time: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, time);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private async request(path: string, accept: string): Promise<Response> {
    const response = await fetch(path, {
      headers: { Accept: accept, ...(this.gate.last > 0 ? { 'Last-Event-ID': String(this.gate.last) } : {}) },
      credentials: 'same-origin',
      signal: this.attempt.signal,
    });
    if (response.status === 401) session.expired();
    if (response.ok) {
      session.saw(response.headers.get('Date'));
      session.reached();
    }
    return response;
  }

  /** Reports whether the failure is final. Others throw, and another attempt follows. */
  private async fail(response: Response): Promise<boolean> {
    const problem = problemOf(response, await response.json().catch(() => null));
    const final = response.status >= 400 && response.status < 500 && ![401, 408, 425, 429].includes(response.status);
    if (!final) throw problem;
    this.follower.state?.('ended', problem);
    return true;
  }

  /** Reads the stream until it closes. Reports whether no event can follow. */
  private async read(): Promise<boolean> {
    this.attempt = new AbortController();
    this.lastByte = Date.now();
    const watchdog = setInterval(() => void this.checkSilence(), heldBack);
    try {
      const response = await this.request(this.path, 'text/event-stream');
      if (response.status === 204) {
        this.follower.state?.('ended'); // the thread has ended, and no event is missing
        return true;
      }
      if (!response.ok || !response.body) return await this.fail(response);
      this.follower.state?.('live');
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const splitter = new Splitter();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return false;
        this.lastByte = Date.now();
        if (this.deliver(splitter.push(value))) return true;
      }
    } finally {
      clearInterval(watchdog);
    }
  }

  /** Hands messages to the follower in their order. Reports whether the thread is gone. */
  private deliver(messages: Message[]): boolean {
    const { follower, gate } = this;
    let batch: LogEvent[] = [];
    const flush = () => {
      if (batch.length > 0) follower.events(batch);
      batch = [];
    };
    for (const message of messages) {
      if (message.name === 'message') {
        const event = JSON.parse(message.data) as LogEvent;
        if (gate.admit(event)) batch.push(event);
        continue;
      }
      flush();
      switch (message.name) {
        case 'removed':
          follower.state?.('ended', new Problem(410, 'This work was removed elsewhere.'));
          return true;
        case 'gap':
          gate.restart(Number((JSON.parse(message.data) as { after?: number }).after ?? 0));
          follower.restart?.();
          break;
        case 'trouble':
          follower.state?.('live', new Problem(503, (JSON.parse(message.data) as { reason?: string }).reason ?? message.data));
          break;
        default:
          follower.other?.(message);
      }
    }
    flush();
    return false;
  }

  /** If the stream is silent although the list has newer events, a proxy holds it back: poll from now on. */
  private async checkSilence() {
    const silent = Date.now() - this.lastByte;
    if (silent > silence) this.attempt.abort();
    else if (silent >= heldBack && !this.polls) {
      const before = this.gate.last;
      await this.poll().catch(() => {});
      if (this.gate.last > before && Date.now() - this.lastByte >= heldBack) {
        this.polls = true;
        this.attempt.abort();
      }
    }
  }

  /** Asks for the stream: its answer without a body passes any proxy. */
  private async hasEnded(): Promise<boolean> {
    const timer = setTimeout(() => this.attempt.abort(), heldBack);
    const response = await this.request(this.path, 'text/event-stream').catch(() => null);
    clearTimeout(timer);
    this.attempt.abort();
    if (response?.status === 204) this.follower.state?.('ended');
    return response?.status === 204;
  }

  /** Reads the list of events after the last one. Reports whether the thread is gone. */
  private async poll(): Promise<boolean> {
    if (this.attempt.signal.aborted) this.attempt = new AbortController();
    for (;;) {
      const response = await this.request(`${this.path}?limit=500&after=${this.gate.last}`, 'application/json');
      if (!response.ok) return await this.fail(response);
      const page = (await response.json()) as { events?: LogEvent[]; next_cursor?: string };
      const batch = (page.events ?? []).filter((event) => this.gate.admit(event));
      if (batch.length > 0) this.follower.events(batch);
      this.follower.state?.('live');
      if (!page.next_cursor || batch.length === 0) return false;
    }
  }
}
