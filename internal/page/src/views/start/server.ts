// What the start view asks of the server beside the question itself.
import { Problem, problemOf } from '../../lib/api';
import { session } from '../../lib/session.svelte';
import type { Limits } from './limits';

export interface ServerState {
  version: string;
  ready_roles: string[] | null;
  model_error?: string;
  notes: string[] | null;
  web_search: boolean;
  memory: boolean;
  without_model: { name: string; about: string }[] | null;
  max_body_bytes: number;
}
export interface RoleState {
  role: string;
  models: string[] | null;
  from: string;
  price: string;
  error?: string;
}
export interface FolderList {
  path: string;
  parent?: string;
  folders: { path: string; name: string; readable: boolean }[] | null;
  files: number;
  remedy?: string;
}
export interface Range {
  low: number;
  high: number;
}
/** An estimate from earlier work of this kind; without any, the note alone. */
export interface Estimate {
  samples: number;
  calls?: Range;
  tokens?: Range;
  cost_usd?: Range;
  note: string;
}
export interface ModelResult {
  model: string;
  works: boolean;
  first_ms: number;
  answer?: string;
  error?: string;
}

async function send<T>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<T> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      credentials: 'same-origin',
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    session.lost();
    throw new Problem(0, 'The server cannot be reached. The page tries again by itself.');
  }
  if (response.status === 401) session.expired();
  session.reached();
  const answer: unknown = await response.json().catch(() => null);
  if (!response.ok) throw problemOf(response, answer);
  return answer as T;
}

export const getServer = () => send<ServerState>('GET', '/api/server');
export const getRoles = async () => (await send<{ roles: RoleState[] | null }>('GET', '/api/models')).roles ?? [];
export const getModels = async () =>
  (await send<{ models: { model: string; about: string }[] | null }>('GET', '/api/models/available?use=text')).models ?? [];
export const getFolders = (path: string) => send<FolderList>('GET', `/api/folders${path ? `?path=${encodeURIComponent(path)}` : ''}`);
export const getEstimate = (kind: string, model: string, limits: Limits) =>
  send<Estimate>('POST', '/api/estimates', { kind, ...(model ? { model_id: model } : {}), ...limits });
export const testModel = async (model: string, provider?: { type: string; base_url: string; key: string }) =>
  (await send<{ result: ModelResult }>('POST', '/api/models/test', { model, ...provider })).result;
export const saveKey = (variable: string, key: string) => send('POST', '/api/keys', { variable, key });
export const saveSettings = (changes: { name: string; value: string }[]) => send<{ restart_needed: boolean }>('POST', '/api/settings', { changes });

/** Saves a file in the memory. Ponder reads its text there, as with files of a folder. */
export async function saveFile(file: File): Promise<number> {
  const data = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''));
    reader.onerror = () => reject(new Error(`${file.name} cannot be read: ${reader.error?.message ?? 'unknown cause'}`));
    reader.readAsDataURL(file);
  });
  const { files } = await send<{ files: { memories: number; error?: string }[] | null }>('POST', '/api/memory/files', { files: [{ name: file.name, data }] });
  const result = files?.[0];
  if (!result || result.error) throw new Error(result?.error ?? 'The server gave no result for this file.');
  return result.memories;
}
