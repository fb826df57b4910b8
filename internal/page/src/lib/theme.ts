// The theme: light, dark, or as the system has it. The choice stays in this browser.
export type Theme = 'system' | 'light' | 'dark';

export function storedTheme(): Theme {
  try {
    const theme = localStorage.getItem('theme');
    return theme === 'light' || theme === 'dark' ? theme : 'system';
  } catch {
    return 'system'; // storage may be switched off
  }
}

/** Shows a theme now, and from now on. */
export function setTheme(theme: Theme) {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  try {
    if (theme === 'system') localStorage.removeItem('theme');
    else localStorage.setItem('theme', theme);
  } catch {
    // the choice lasts until the page closes
  }
}
