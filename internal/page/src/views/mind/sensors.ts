// The health of sensors in words.
export interface Sensor {
  sensor: string;
  looked?: string;
  error?: string;
  fails?: number;
  told?: number;
}

export interface Tested {
  sensor: string;
  error?: string;
  sees?: string[];
}

export function healthOf(s: Sensor): 'ok' | 'failing' | 'new' {
  if (s.error || (s.fails ?? 0) > 0) return 'failing';
  return s.looked ? 'ok' : 'new';
}

/** The health in words; since turns a time into words. */
export function healthWords(s: Sensor, since: (time: string) => string): string {
  switch (healthOf(s)) {
    case 'failing':
      return `failed ${s.fails === 1 || !s.fails ? 'once' : `${s.fails} times in a row`}`;
    case 'ok':
      return `looked ${since(s.looked!)}`;
  }
  return 'not looked yet';
}
