// The client of the native API. Its types are generated from openapi.json (npm run types), so a
// changed field breaks the build.
import createClient from 'openapi-fetch';
import type { components, paths } from './schema';
import { session } from './session.svelte';

export type Schemas = components['schemas'];

/** A failed request, in words for the user. */
export class Problem extends Error {
  constructor(
    /** HTTP status, or 0 if the server was not reached. */
    readonly status: number,
    message: string,
    /** The field of the request that the server refused, such as `question`. */
    readonly field = '',
    /** Seconds after which another attempt may succeed. */
    readonly retryAfter = 0,
  ) {
    super(message);
  }
}

const client = createClient<paths>({ baseUrl: '', credentials: 'same-origin', fetch: (r) => fetch(r) });

client.use({
  onRequest({ request }) {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (zone) request.headers.set('Ponder-Zone', zone);
    return request;
  },
  async onResponse({ response }) {
    if (response.ok) session.reached();
    if (response.status === 401) session.expired();
    return response;
  },
});

export const api = client;

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** Returns the data of a request, or throws a Problem. */
export async function take<T>(request: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>;
  try {
    answer = await request;
  } catch {
    session.lost();
    throw new Problem(0, 'The server cannot be reached. The page tries again by itself.');
  }
  if (!answer.response.ok) throw problemOf(answer.response, answer.error);
  return answer.data as T;
}

type ErrorBody = { title?: string; detail?: string; errors?: { message?: string; location?: string }[] };

/** Turns an error response (RFC 9457) into a Problem. */
export function problemOf(response: Response, body: unknown): Problem {
  const error = (body ?? {}) as ErrorBody;
  const field = (error.errors?.[0]?.location ?? '').replace(/^(body|query|path)\./, '');
  const text = error.detail?.replace(/^(body|query|path)\.[\w.[\]]+: /, '') ?? error.title;
  return new Problem(
    response.status,
    text || `The server answered with status ${response.status}.`,
    field,
    Number(response.headers.get('Retry-After') ?? 0),
  );
}

/** The words for any error. */
export function wordsOf(error: unknown): string {
  if (error instanceof Problem || error instanceof Error) return error.message;
  return String(error);
}
