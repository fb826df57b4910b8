// The address of the page: #/name/id?key=value. A link works in a new tab, and Back goes back.
class Router {
  name = $state('');
  id = $state('');
  query = $state<Record<string, string>>({});

  constructor() {
    this.read();
    addEventListener('hashchange', () => this.read());
  }
  private read() {
    const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
    const [name = '', id = ''] = path.split('/');
    this.name = name;
    try {
      this.id = decodeURIComponent(id);
    } catch {
      this.id = '';
    }
    this.query = Object.fromEntries(new URLSearchParams(query));
  }
  go(hash: string) {
    location.hash = hash;
  }
}

export const router = new Router();

/** The address of a view, such as href('session', id). */
export function href(name: string, id = '', query: Record<string, string> = {}): string {
  const rest = new URLSearchParams(query).toString();
  return `#/${name}${id ? '/' + encodeURIComponent(id) : ''}${rest ? '?' + rest : ''}`;
}
