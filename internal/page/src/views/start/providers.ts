// The providers of the form for a new model. Ponder knows the addresses of all but the last two.
export interface Provider {
  id: string;
  label: string;
  /** The API of its server. */
  type: 'openai' | 'anthropic' | 'gemini' | 'ollama';
  base_url: string;
  /** The environment variable with its key; empty: it needs none. */
  variable: string;
  example: string;
  known: boolean;
}

export const providers: Provider[] = [
  { id: 'ollama', label: 'Ollama on this machine (free)', type: 'ollama', base_url: 'http://127.0.0.1:11434', variable: '', example: 'llama3.1', known: true },
  { id: 'openai', label: 'OpenAI', type: 'openai', base_url: 'https://api.openai.com/v1', variable: 'OPENAI_API_KEY', example: 'gpt-5', known: true },
  { id: 'anthropic', label: 'Anthropic', type: 'anthropic', base_url: 'https://api.anthropic.com', variable: 'ANTHROPIC_API_KEY', example: 'claude-sonnet-4-5', known: true },
  { id: 'gemini', label: 'Google Gemini', type: 'gemini', base_url: 'https://generativelanguage.googleapis.com', variable: 'GEMINI_API_KEY', example: 'gemini-2.5-pro', known: true },
  { id: 'openrouter', label: 'OpenRouter', type: 'openai', base_url: 'https://openrouter.ai/api/v1', variable: 'OPENROUTER_API_KEY', example: 'qwen/qwen3-32b', known: true },
  { id: 'groq', label: 'Groq', type: 'openai', base_url: 'https://api.groq.com/openai/v1', variable: 'GROQ_API_KEY', example: 'llama-3.3-70b-versatile', known: true },
  { id: 'local', label: 'vLLM, llama.cpp or LM Studio', type: 'openai', base_url: 'http://127.0.0.1:8080/v1', variable: '', example: 'qwen3-4b', known: false },
  { id: 'other', label: 'Another server with the OpenAI API', type: 'openai', base_url: 'https://', variable: 'OTHER_API_KEY', example: 'model', known: false },
];

/** The settings that make a tested model the model of all roles that write text. Pure. */
export function settingsOf(provider: Provider, baseURL: string, model: string): { name: string; value: string }[] {
  const changes = ['slow', 'fast', 'cheap'].map((role) => ({ name: `models.${role}`, value: `${provider.id}/${model}` }));
  if (provider.known && baseURL === provider.base_url) return changes;
  const part = `providers.${provider.id}`;
  const server = [
    { name: `${part}.base_url`, value: baseURL },
    ...(provider.known ? [] : [{ name: `${part}.type`, value: provider.type }]),
    ...(provider.known || !provider.variable ? [] : [{ name: `${part}.api_key_env`, value: provider.variable }]),
  ];
  return [...server, ...changes];
}
