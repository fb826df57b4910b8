// Escalations: the findings that the subconscious brought up, and the answers of the user.
export interface Escalation {
  id: string;
  at: string;
  summary: string;
  reason?: string;
  importance?: number;
  entries?: string[];
  sources?: string[];
  untrusted?: boolean;
  /** message, act, remember or dismiss; empty before the decision of the model */
  outcome?: string;
  /** The message to the user, or the reason of the dismissal. */
  told?: string;
  decided_at?: string;
  did?: { tool: string; at: string; reason?: string; outcome?: string; failed?: boolean; session_id?: string }[];
  /** The answer of the user. */
  answer?: { do: string; at: string; made?: string } | null;
}

export type Deed = 'message' | 'act' | 'remember' | 'dismiss';

/** What the user did with an escalation, or an empty text. */
export function answerOf(e: Escalation): string {
  return e.answer?.do ?? '';
}

/** The escalations that wait for the user: without an answer, and not dismissed by the model. */
export function openEscalations(list: Escalation[]): Escalation[] {
  return list.filter((e) => !answerOf(e) && e.outcome !== 'dismiss');
}

/** Open ones first, the important before the others; then the answered ones, the newest first. */
export function sortedEscalations(list: Escalation[]): Escalation[] {
  const open = new Set(openEscalations(list));
  return list.toSorted((a, b) => {
    if (open.has(a) !== open.has(b)) return open.has(a) ? -1 : 1;
    if (open.has(a) && (b.importance ?? 0) !== (a.importance ?? 0)) return (b.importance ?? 0) - (a.importance ?? 0);
    return Date.parse(b.at) - Date.parse(a.at);
  });
}

/** The state of an escalation in a few words. */
export function stateWords(e: Escalation): string {
  const answer = answerOf(e);
  if (answer) return { message: 'You talk about it', act: 'Ponder thinks about it', remember: 'Remembered', dismiss: 'You dismissed it' }[answer] ?? answer;
  const said: Record<string, string> = { message: 'Ponder told you', act: 'Ponder acted', remember: 'Ponder remembered it', dismiss: 'Ponder dismissed it' };
  return e.outcome ? (said[e.outcome] ?? e.outcome) : 'Not decided yet';
}

/** The message of Ponder without its note about strangers, and the quotes of strangers in it. */
export function toldParts(told: string): { message: string; quotes: string[] } {
  const [message = '', rest = ''] = told.split(/\n\n(?:This is based on text from strangers:|Text from strangers may have influenced this\.)/);
  const quotes = rest.split('\n').filter((line) => line.startsWith('>')).map((line) => line.replace(/^>\s*/, ''));
  return { message: message.trim(), quotes };
}

/** Words to begin with, which the user may change before they are sent. */
export function firstWords(e: Escalation, deed: Deed): string {
  if (deed === 'message') return `About what you brought up: ${e.summary}`;
  return deed === 'act' ? `What is the best thing to do about this: ${e.summary}?` : e.summary;
}
