// Requests of routes by name, where a view states the shape of the answer itself.
import { api, take } from './api';

type Method = 'get' | 'post' | 'delete';
type Request = (method: Method, path: string, init: { body?: unknown; headers?: Record<string, string> }) => ReturnType<typeof api.request>;

/** Sends a request and returns its answer, or throws a Problem. An unsafe one is safe to repeat. */
export function ask<T>(method: Method, path: string, body?: unknown): Promise<T> {
  const headers: Record<string, string> = method === 'get' ? {} : { 'Idempotency-Key': crypto.randomUUID() };
  return take((api.request as unknown as Request)(method, path, { body, headers }) as never) as Promise<T>;
}
