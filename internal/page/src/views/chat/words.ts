// Labels of entries for screen readers. Pure.
import { shortTime } from '../../lib/words';
import type { ChatEntry } from './fold';

export function describeEntry(entry: ChatEntry): string {
  const at = shortTime(entry.at);
  switch (entry.kind) {
    case 'user':
      return `You, ${at}`;
    case 'answer':
      return `Ponder, ${at}`;
    case 'tool':
      return `Tool, ${at}`;
    case 'approval':
      return `Question of Ponder, ${at}`;
    case 'file':
      return `File, ${at}`;
    case 'inner':
      return `Inner thought, ${at}`;
    case 'note':
      return `Note, ${at}`;
  }
}
