// Words for the events behind an entry.
export interface Reason {
  seq: number;
  at: string;
  /** observation, finding, change, escalation, decision, resolved, forgotten or rolled_back */
  type: string;
  by?: string;
  text: string;
  did?: string;
  why?: string;
  strength?: number;
  importance?: number;
  source?: string;
  untrusted?: boolean;
  tick?: number;
}

export interface Explanation {
  id: string;
  summary: string;
  strength: number;
  created: string;
  last_seen: string;
  category?: string;
  events: Reason[];
}

/** The head line of an event. */
export function headOf(event: Reason): string {
  switch (event.type) {
    case 'observation':
      return `${event.by || 'A sensor'} observed`;
    case 'finding':
      return `The ${event.by} found${event.did ? ` (${event.did})` : ''}`;
    case 'change':
      return `${capital(event.did ?? 'changed')}${event.strength ? `, strength ${event.strength}` : ''}${event.tick ? ` · tick ${event.tick}` : ''}`;
    case 'escalation':
      return 'Brought up';
    case 'decision':
      return { message: 'Decided: tell you', act: 'Decided: act', remember: 'Decided: remember', dismiss: 'Decided: not worth a message' }[event.did ?? ''] ?? 'Decided';
    case 'resolved':
      return 'You settled it';
    case 'forgotten':
      return 'You let it be forgotten';
    case 'rolled_back':
      return 'You rolled it back';
  }
  return event.type;
}

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
