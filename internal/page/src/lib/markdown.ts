// Markdown from models and users becomes safe HTML: parsed without raw HTML, then sanitised.
// No image and no link of it loads anything by itself.
import DOMPurify from 'dompurify';
import MarkdownIt from 'markdown-it';

const parser = new MarkdownIt({ html: false, linkify: false, breaks: false });
parser.disable('image');

const allowed = {
  ALLOWED_TAGS: ['p', 'br', 'strong', 'em', 's', 'code', 'pre', 'ul', 'ol', 'li', 'blockquote', 'hr', 'a',
    'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'sup', 'sub'],
  ALLOWED_ATTR: ['href', 'class', 'start', 'dir', 'title'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#)/i,
  ALLOW_DATA_ATTR: false,
};

DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName === 'A' && !node.getAttribute('href')?.startsWith('#')) {
    node.setAttribute('rel', 'noopener noreferrer nofollow');
    node.setAttribute('target', '_blank');
  }
});

/** Renders Markdown as a fragment that is safe to show. */
export function renderMarkdown(text: string): DocumentFragment {
  return DOMPurify.sanitize(parser.render(text), { ...allowed, RETURN_DOM_FRAGMENT: true });
}
