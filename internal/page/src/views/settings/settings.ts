// Settings and keys of the server, in groups for the user. Pure.
export interface Setting {
  name: string;
  about: string;
  value: string;
  from: string;
  choices?: string[];
  restart: boolean;
}
export interface Key {
  variable: string;
  for: string;
  set: boolean;
  from: string;
}
export interface RoleModels {
  role: string;
  models: string[] | null;
  from?: string;
  price?: string;
  error?: string;
  chain?: { model: string; context?: number; price?: string; error?: string }[] | null;
}
export interface ModelCheck {
  model: string;
  works?: boolean;
  first_ms: number;
  took_ms: number;
  answer?: string;
  error?: string;
  embeds?: boolean;
  cost_usd?: number;
}

export const roleWords: Record<string, string> = {
  fast: 'answers in conversations',
  slow: 'thinks: thoughts, questions, syntheses',
  cheap: 'titles and other small tasks',
  frontier: 'the hardest decisions, used rarely',
  embed: 'finds texts of the same meaning',
};

/** The search engines, with what each needs. */
export const engines = [
  { variable: 'SEARXNG_URL', name: 'SearXNG', about: 'Your own search server: its address. No key, no cost.', secret: false },
  { variable: 'EXA_API_KEY', name: 'Exa', about: 'A key from exa.ai', secret: true },
  { variable: 'BRAVE_API_KEY', name: 'Brave', about: 'A key from brave.com/search/api', secret: true },
  { variable: 'TAVILY_API_KEY', name: 'Tavily', about: 'A key from tavily.com', secret: true },
];

const groups: { name: string; label: string }[] = [
  { name: 'models', label: 'Models' },
  { name: 'providers', label: 'Providers' },
  { name: 'budgets', label: 'Budgets' },
  { name: 'research', label: 'Research' },
  { name: 'chat', label: 'Conversations' },
  { name: 'deep_think', label: 'Reflection' },
  { name: 'thinking', label: 'Thoughts' },
  { name: 'mind', label: 'Subconscious' },
  { name: 'web', label: 'Web' },
  { name: 'notify', label: 'Notifications' },
  { name: 'approvals', label: 'Approvals' },
  { name: 'serve', label: 'Server' },
  { name: 'mcp', label: 'MCP servers' },
];

/** The settings whose name, text or value has all words, by group; empty groups are left out. */
export function grouped(settings: Setting[], filter: string): { label: string; settings: Setting[] }[] {
  const words = filter.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const found = settings.filter((s) => {
    const text = `${s.name} ${s.about} ${s.value}`.toLocaleLowerCase();
    return words.every((w) => text.includes(w));
  });
  const inGroup = (s: Setting, group: string) => s.name === group || s.name.startsWith(`${group}.`);
  const sections = groups.map((g) => ({ label: g.label, settings: found.filter((s) => inGroup(s, g.name)) }));
  const rest = found.filter((s) => !groups.some((g) => inGroup(s, g.name)));
  return [...sections, { label: 'Other', settings: rest }].filter((s) => s.settings.length > 0);
}

/** Reports whether a setting differs from its default. */
export const isSet = (s: Setting) => s.from !== '' && s.from !== 'default';

/** The result of a test in words. */
export function checkWords(check: ModelCheck): string {
  if (!check.works) return check.error || 'It did not answer.';
  const first = (check.first_ms / 1000).toFixed(check.first_ms < 1000 ? 2 : 1);
  return check.embeds ? `It works: a vector after ${first} s.` : `It works: first words after ${first} s.`;
}
