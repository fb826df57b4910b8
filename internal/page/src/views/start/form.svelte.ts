// The form of the start view. All of it stays in this tab until the question is sent.
import { draftOf } from '../../lib/draft.svelte';
import type { LimitTexts } from './limits';

export type Way = 'think' | 'research' | 'chat';

export interface Form {
  way: Way;
  limits: LimitTexts;
  memory: boolean;
  web: boolean;
  folders: string[];
  model: string;
  planFirst: boolean;
}

const initial: Form = {
  way: 'think',
  limits: { minutes: '5', money: '', tokens: '', calls: '' },
  memory: true,
  web: true,
  folders: [],
  model: '',
  planFirst: false,
};

/** Reads a stored form. A form of an older page keeps the fields that still exist. */
export function readForm(text: string): Form {
  try {
    const stored = JSON.parse(text) as Partial<Form>;
    return { ...initial, ...stored, limits: { ...initial.limits, ...stored.limits } };
  } catch {
    return structuredClone(initial);
  }
}

/** Returns the form, and saves each change of it. Call it while a component starts. */
export function formOf() {
  const draft = draftOf('start-form');
  const form = $state(readForm(draft.text));
  $effect(() => {
    draft.text = JSON.stringify(form);
  });
  return form;
}

/** The request of a question, by its way of thinking. Pure. */
export function sourcesOf(form: Form) {
  return {
    ...(form.folders.length > 0 ? { folders: form.folders } : {}),
    ...(form.memory ? {} : { no_memory: true }),
    ...(form.web ? {} : { no_web: true }),
    ...(form.model ? { model_id: form.model } : {}),
  };
}
