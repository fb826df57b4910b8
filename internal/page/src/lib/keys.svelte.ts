import { untrack } from 'svelte';

// Keys of the page. A view registers its keys with keyed; '?' lists all that apply now.
export interface Key {
  /** As in KeyboardEvent.key, such as 'p' or 'ArrowDown'. */
  key: string;
  /** The action in plain words, such as 'Pause the session'. */
  label: string;
  run(): void;
}

class Keys {
  list = $state.raw<Key[]>([]); // raw: keyed removes the same objects
  helpOpen = $state(false);

  press(event: KeyboardEvent) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.target as HTMLElement;
    if (target.closest('input, textarea, select, [contenteditable], [role=dialog], [role=slider]')) return;
    if (event.key === '?') {
      this.helpOpen = true;
      event.preventDefault();
      return;
    }
    const key = this.list.findLast((k) => k.key === event.key);
    if (!key) return;
    event.preventDefault();
    key.run();
  }
}

export const keys = new Keys();

/** Registers keys while a component is on the page: call it in an $effect. */
export function keyed(list: Key[]): () => void {
  // The effect must not depend on the list that it changes.
  keys.list = [...untrack(() => keys.list), ...list];
  return () => {
    keys.list = keys.list.filter((k) => !list.includes(k));
  };
}
