// Actions on a session or research. Each gives a receipt: what the server did, in its words.
import { api, take, wordsOf, type Schemas } from '../../lib/api';
import { notes } from '../../lib/notes.svelte';
import { onceKey, request } from '../../lib/request';

export type Command = Schemas['Command'];
export type Outcome = Schemas['Outcome'];

/** The receipt of a change. */
export interface Receipt {
  meaning: string; // of a sentence
  by: string;
  outcomes: Outcome[];
}

const once = () => ({ 'Idempotency-Key': onceKey() });

/** Runs an action, and shows its problem with the remedy. Reports whether it succeeded. */
export async function attempt(action: () => Promise<string>): Promise<boolean> {
  try {
    const receipt = await action();
    if (receipt) notes.receipt(receipt);
    return true;
  } catch (error) {
    notes.problem(wordsOf(error));
    return false;
  }
}

/** A sentence begins with a capital letter, but a file name or address does not change. */
const sentence = (text: string) => text.replace(/^\p{Ll}+(?= |$)/u, (word) => word[0]!.toUpperCase() + word.slice(1)) + (text === '' || /[.!?]$/.test(text) ? '' : '.');

export async function pause(id: string): Promise<string> {
  return sentence((await take(api.POST('/api/thinking/{id}/pause', { params: { path: { id }, header: once() } }))).message);
}
export async function resume(id: string): Promise<string> {
  return sentence((await take(api.POST('/api/thinking/{id}/resume', { params: { path: { id }, header: once() } }))).message);
}
export async function cancel(id: string): Promise<string> {
  return sentence((await take(api.POST('/api/thinking/{id}/cancel', { params: { path: { id }, header: once() } }))).message);
}

/** Sends commands and waits for their outcomes. */
export async function steer(id: string, ...wishes: Command[]): Promise<Receipt> {
  return await sendSteer(id, wishes.length === 1 ? wishes[0]! : { wishes });
}

/** Sends a sentence in plain words; with dryRun it only returns its meaning. */
export async function steerBySentence(id: string, text: string, dryRun = false): Promise<Receipt> {
  return await sendSteer(id, dryRun ? { sentence: text, dry_run: true } : { sentence: text });
}

async function sendSteer(id: string, body: Schemas['SteerBody']): Promise<Receipt> {
  const answer = await take(api.POST('/api/thinking/{id}/steer', { params: { path: { id }, query: { wait: '10s' }, header: once() }, body }));
  return { meaning: answer.understood_as ?? '', by: answer.interpreted_by ?? '', outcomes: answer.wishes };
}

/** The words of a receipt, for a note. */
export function receiptText(receipt: Receipt): string {
  const effects = receipt.outcomes.map((o) =>
    o.outcome === 'noted' ? 'Noted: it takes effect as soon as the session reads it.' : o.outcome === 'refused' ? `Refused: ${o.effect ?? ''}` : sentence(o.effect ?? 'done'),
  );
  return [receipt.meaning && `Understood as: ${receipt.meaning}.`, ...effects].filter(Boolean).join(' ');
}

/** Runs a change and shows its receipt. */
export function change(id: string, ...wishes: Command[]): Promise<boolean> {
  return attempt(async () => receiptText(await steer(id, ...wishes)));
}

export async function fork(id: string, body: Schemas['ForkBody']): Promise<string> {
  return (await take(api.POST('/api/thinking/{id}/fork', { params: { path: { id }, header: once() }, body }))).session_id;
}

/** The archived original of a quote. */
export interface Original {
  title: string;
  url?: string;
  source: string;
  before: string;
  quote: string;
  after: string;
  cut_before: boolean;
  cut_after: boolean;
  kept_at?: string;
}

export function loadOriginal(id: string, evidence: string): Promise<{ evidence: { state?: string; state_says?: string }; original: Original | null }> {
  return request(`/api/thinking/${encodeURIComponent(id)}/evidence/${encodeURIComponent(evidence)}`);
}
