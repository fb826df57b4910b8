// Recent work: the view of each kind, and its state in words.
import { api, take, type Schemas } from '../../lib/api';

export interface Hit {
  thread_id: string;
  kind: string;
  title: string;
  /** The place in the thread; none for a title. */
  seq?: number;
  at: string;
  snippet: string;
}

export const viewOf: Record<string, string> = { session: 'session', research: 'research', conversation: 'chat', subconscious: 'mind' };

const kindWords: Record<string, string> = { session: 'Thinking', research: 'Research', conversation: 'Chat', subconscious: 'Subconscious' };
const states: Record<string, string> = { thinking: 'at work', paused: 'paused', completed: 'done', failed: 'failed', cancelled: 'cancelled', created: 'not started' };

/** The kind and state of a thread, such as Thinking, paused. */
export function stateWords(t: { kind: string; status: string; interrupted?: boolean }): string {
  const kind = kindWords[t.kind] ?? t.kind;
  if (t.kind === 'conversation' && t.status !== 'thinking' && t.status !== 'failed') return kind;
  return `${kind}, ${t.interrupted ? 'interrupted' : (states[t.status] ?? t.status)}`;
}

/** The newest threads with all words in their title. */
export async function findThreads(words: string, limit: number): Promise<Schemas['Thread'][]> {
  const query = { limit, ...(words ? { q: words } : {}) };
  const page = await take(api.GET('/api/threads', { params: { query } }));
  const threads = (page.threads ?? []) as Schemas['Thread'][];
  const sought = words.toLocaleLowerCase().split(/\s+/);
  return threads.filter((t) => sought.every((word) => (t.title ?? '').toLocaleLowerCase().includes(word)));
}

/** Places in the texts of all work with these words. */
export async function findTexts(words: string): Promise<Hit[]> {
  const response = await fetch(`/api/search?limit=8&q=${encodeURIComponent(words)}`, { credentials: 'same-origin' });
  if (!response.ok) return [];
  const { hits } = (await response.json()) as { hits?: Hit[] };
  return (hits ?? []).filter((h) => h.seq); // the list has the titles
}
