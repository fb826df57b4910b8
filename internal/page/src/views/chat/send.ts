// Messages on their way: also to a conversation that opens next, such as a new one or a branch.
import { request } from '../../lib/request';
import type { Media } from './fold';

export interface Outgoing {
  content: string;
  media: Media[];
  deep: boolean;
  /** Makes the message arrive once, however often it is sent. */
  once: string;
}

const waiting = new Map<string, Outgoing>();

/** Keeps a message for a conversation that opens next. A reload of the tab loses its files, not its text. */
export function keepMessage(thread: string, message: Outgoing) {
  waiting.set(thread, message);
  try {
    sessionStorage.setItem(`draft:message-${thread}`, message.content);
  } catch {
    // storage may be full or switched off
  }
}

/** Takes the message that waits for a conversation, or null. A conversation without messages takes the first one of the start view. */
export function takeMessage(thread: string, isNew: boolean, once: string): Outgoing | null {
  const kept = waiting.get(thread);
  waiting.delete(thread);
  const text = takeItem(`draft:message-${thread}`) || (isNew ? takeItem('draft:first-message') : '');
  if (kept) return kept;
  return text ? { content: text, media: [], deep: false, once } : null;
}

function takeItem(key: string): string {
  try {
    const text = sessionStorage.getItem(key) ?? '';
    sessionStorage.removeItem(key);
    return text;
  } catch {
    return '';
  }
}

/** Sends a message, and returns its place in the log. */
export async function sendMessage(thread: string, message: Outgoing): Promise<number> {
  const posted = await request<{ message: { seq: number } }>(`/api/threads/${encodeURIComponent(thread)}/messages`, {
    body: { content: message.content, ...(message.media.length > 0 ? { media: message.media } : {}), ...(message.deep ? { deep: true } : {}) }, once: message.once,
  });
  return posted.message.seq;
}
