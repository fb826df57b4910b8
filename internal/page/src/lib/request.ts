// Requests whose types are not generated, and answers that a search may cancel.
import { Problem, problemOf } from './api';
import { session } from './session.svelte';

export interface RequestOptions {
  method?: 'GET' | 'POST' | 'DELETE';
  body?: unknown;
  /** Makes it safe to repeat the request after a lost connection. */
  once?: string;
  signal?: AbortSignal;
}

/** Sends a request to the native API, and returns its JSON or throws a Problem. */
export async function request<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const headers: Record<string, string> = { Accept: 'application/json' };
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) headers['Ponder-Zone'] = zone;
  if (options.body !== undefined) headers['Content-Type'] = 'application/json';
  if (options.once) headers['Idempotency-Key'] = options.once;
  let response: Response;
  try {
    response = await fetch(path, {
      method: options.method ?? (options.body === undefined ? 'GET' : 'POST'), headers, credentials: 'same-origin', signal: options.signal ?? null,
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    session.lost();
    throw new Problem(0, 'The server cannot be reached. The page tries again by itself.');
  }
  session.reached();
  if (response.status === 401) session.expired();
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) throw problemOf(response, body);
  return body as T;
}

/** Reports whether an error is only that a newer request replaced this one. */
export const isCancelled = (error: unknown) => error instanceof DOMException && error.name === 'AbortError';

/** A key for a request that must happen once. */
export const onceKey = () => `page-${crypto.getRandomValues(new Uint32Array(4)).join('-')}`;

/** Runs the newest of many calls after a pause; it cancels the one before. For searches as the user types. */
export function latest<A>(run: (argument: A, signal: AbortSignal) => Promise<void>, pause = 200) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stop: AbortController | null = null;
  const cancel = () => {
    clearTimeout(timer);
    stop?.abort();
  };
  const start = (argument: A) => {
    cancel();
    timer = setTimeout(() => {
      stop = new AbortController();
      void run(argument, stop.signal);
    }, pause);
  };
  return { start, cancel };
}
