// Text that the user types is kept in this tab until it is sent: no error and no reload loses it.
export function draftOf(name: string, initial = '') {
  const key = `draft:${name}`;
  let text = $state(readItem(key) ?? initial);
  return {
    get text() {
      return text;
    },
    set text(value: string) {
      text = value;
      writeItem(key, value);
    },
    clear() {
      text = initial;
      writeItem(key, '');
    },
  };
}

function readItem(key: string): string | null {
  try {
    return sessionStorage.getItem(key) || null;
  } catch {
    return null; // storage may be switched off
  }
}

function writeItem(key: string, value: string) {
  try {
    if (value) sessionStorage.setItem(key, value);
    else sessionStorage.removeItem(key);
  } catch {
    // storage may be full or switched off: the text is still on the screen
  }
}
