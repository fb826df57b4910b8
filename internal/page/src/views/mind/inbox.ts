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
  answer?: { do: string; at: string; thread_id?: string; memory_id?: string } | string | null;
}

export type Deed = 'message' | 'act' | 'remember' | 'dismiss';

/** What the user did with an escalation, or an empty text. */
export function answerOf(e: Escalation): string {
  return typeof e.answer === 'string' ? e.answer : (e.answer?.do ?? '');
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
