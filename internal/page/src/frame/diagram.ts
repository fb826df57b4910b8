// Draws Mermaid diagrams in a frame without origin, cookies and network. Mermaid needs style elements to
// measure texts, which the page forbids; only this frame allows them. The page shows the result as an image.
import mermaid from 'mermaid';

interface Job {
  id: number;
  source: string;
  colours: Record<string, string>;
  dark: boolean;
}

const maxSource = 20_000;

/** Removes what would change the configuration, and addresses of pictures. */
function withoutDirectives(source: string): string {
  return source
    .replace(/%%\{[\s\S]*?\}%%/g, '')
    .replace(/^\s*---\r?\n[\s\S]*?\n---\s*\n/, '')
    .replace(/@\{[^}]*\}/g, (shape) => shape.replace(/["']?\bimg\b["']?\s*:[^,}\n]*/gi, 'shape: rect'));
}

async function draw(job: Job): Promise<string> {
  if (job.source.length > maxSource) throw new Error('The diagram is too large.');
  mermaid.initialize({
    startOnLoad: false, securityLevel: 'strict', suppressErrorRendering: true, htmlLabels: false, flowchart: { htmlLabels: false },
    maxTextSize: maxSource, maxEdges: 400, deterministicIds: true, fontFamily: 'system-ui, sans-serif', theme: 'base',
    themeCSS: `.edgeLabel rect, .edgeLabel .background { fill: ${job.colours.background}; opacity: 1; }`,
    themeVariables: { darkMode: job.dark, ...job.colours },
  });
  const { svg } = await mermaid.render(`diagram-${job.id}`, withoutDirectives(job.source));
  const parsed = new DOMParser().parseFromString(svg, 'image/svg+xml');
  const root = parsed.documentElement;
  const [, , width, height] = (root.getAttribute('viewBox') ?? '').split(/[\s,]+/).map(Number);
  if (root.localName !== 'svg' || !width || !height) throw new Error('The diagram is empty.');
  root.setAttribute('width', String(Math.ceil(width)));
  root.setAttribute('height', String(Math.ceil(height)));
  root.removeAttribute('style');
  for (const link of root.querySelectorAll('a')) link.replaceWith(...link.childNodes);
  return new XMLSerializer().serializeToString(root);
}

addEventListener('message', (event) => {
  if (event.source !== parent) return;
  const job = event.data as Job;
  draw(job)
    .then((svg) => parent.postMessage({ id: job.id, svg }, '*'))
    .catch((error: unknown) => parent.postMessage({ id: job.id, error: error instanceof Error ? error.message : String(error) }, '*'))
    .finally(() => document.body.replaceChildren());
});
parent.postMessage({ ready: true }, '*');
