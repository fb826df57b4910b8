// The views of the page. Each loads when it is first opened, so that the first view stays small.
import type { Component } from 'svelte';

export interface View {
  /** The name in the address, such as session in #/session/ID. */
  name: string;
  /** The name in the navigation; none if the view is reached from others only. */
  label?: string;
  load(): Promise<{ default: Component<{ id: string }> | Component<Record<string, never>> }>;
}

export const views: View[] = [
  { name: '', label: 'Ask', load: () => import('../views/start/Start.svelte') },
  { name: 'work', label: 'Work', load: () => import('../views/start/Work.svelte') },
  { name: 'sign-in', load: () => import('../views/start/SignInCode.svelte') },
  { name: 'chat', label: 'Chat', load: () => import('../views/chat/Chat.svelte') },
  { name: 'memory', label: 'Memory', load: () => import('../views/memory/Memory.svelte') },
  { name: 'usage', label: 'Usage', load: () => import('../views/usage/Usage.svelte') },
  { name: 'session', load: () => import('../views/session/Session.svelte') },
  { name: 'mind', label: 'Subconscious', load: () => import('../views/mind/Mind.svelte') },
  { name: 'research', load: () => import('../views/research/Research.svelte') },
  { name: 'eval', label: 'Evaluation', load: () => import('../views/eval/Eval.svelte') },
  { name: 'settings', label: 'Settings', load: () => import('../views/settings/Settings.svelte') },
  { name: 'shares', load: () => import('../views/shares/Shares.svelte') },
];
