// What the memory holds, in words.
export interface Persona {
  name: string;
  voice: string;
  sources: string[] | null;
  tags: string[] | null;
}

export const kinds = [
  { id: 'memory', label: 'Notes', one: 'Note', icon: '✎' },
  { id: 'document', label: 'Documents', one: 'Document', icon: '▤' },
  { id: 'post', label: 'Posts', one: 'Post', icon: '◧' },
  { id: 'journal', label: 'Journal', one: 'Journal entry', icon: '◷' },
  { id: 'thread', label: 'Conversations', one: 'Conversation', icon: '❝' },
];

export interface FileResult {
  name: string;
  state: 'waiting' | 'sending' | 'done' | 'failed';
  says: string;
}

/** The progress of a list of files, in words. Pure. */
export function progressOf(files: FileResult[]): string {
  const count = (state: FileResult['state']) => files.filter((f) => f.state === state).length;
  const [done, failed, all] = [count('done'), count('failed'), files.length];
  if (all === 0) return '';
  const over = done + failed === all;
  const sum = `${done + failed} of ${all} ${all === 1 ? 'file' : 'files'}`;
  if (!over) return sum;
  return failed === 0 ? `${all === 1 ? 'The file is' : `All ${all} files are`} in the memory.` : `${done} of ${all} files are in the memory; ${failed} could not be read.`;
}
