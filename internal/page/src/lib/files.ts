// Files that a user drops, pastes or chooses: what a model can read, and how much fits into a message.
import { showHidden } from './visible';

export interface Upload {
  name: string;
  type: string;
  bytes: number;
  file: File;
}

export const maxFiles = 20;
/** The limit of a request in bytes, if the server names none. */
export const usualBody = 8 << 20;

const textNames = /\.(txt|md|markdown|csv|tsv|json|jsonl|ya?ml|toml|xml|svg|html?|css|[cm]?[jt]sx?|py|go|rs|java|kt|c|h|cc|cpp|hpp|cs|rb|php|sh|sql|r|lua|swift|tex|log|ini|conf|diff|patch|eml)$/i;

/** The type by which a model gets a file, or '' for files that models cannot read. Pure. */
export function mediaType(name: string, type: string): string {
  if (type === 'image/svg+xml') return 'text/plain';
  if (/^image\/(png|jpeg|gif|webp)$/.test(type) || type === 'application/pdf' || type.startsWith('audio/')) return type;
  if (/\.pdf$/i.test(name)) return 'application/pdf';
  if (type.startsWith('text/') || /[/+](json|xml)$/.test(type) || textNames.test(name)) return 'text/plain';
  return '';
}

/** Bytes in words. Pure. */
export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Divides new files into those that fit and sentences on the others. body is the limit of a request. Pure. */
export function admitFiles(before: Upload[], files: File[], body = usualBody): { files: Upload[]; problems: string[] } {
  const room = Math.floor((body - 64_000) * 0.74); // base64 needs four bytes for three
  const admitted: Upload[] = [];
  const problems: string[] = [];
  let sum = before.reduce((n, f) => n + f.bytes, 0);
  for (const file of files) {
    const name = file.name || 'pasted file';
    const shown = showHidden(name);
    const type = mediaType(name, file.type);
    if (!type) problems.push(`${shown} cannot be attached: models read images, PDF, audio and text. Convert it first.`);
    else if (file.size === 0) problems.push(`${shown} is empty.`);
    else if (before.length + admitted.length >= maxFiles) problems.push(`${shown} is one file too many: a message takes ${maxFiles}. Send the rest in the next message.`);
    else if (file.size > room) problems.push(`${shown} has ${size(file.size)}, and a message takes ${size(room)}. Add it to the memory in parts, or make it smaller.`);
    else if (sum + file.size > room) problems.push(`${shown} does not fit: a message takes ${size(room)} of files. Send it in the next message.`);
    else {
      admitted.push({ name, type, bytes: file.size, file });
      sum += file.size;
    }
  }
  return { files: admitted, problems };
}

/** The content of a file in base64. */
export function base64Of(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''));
    reader.onerror = () => reject(new Error('The file cannot be read: choose it again.'));
    reader.readAsDataURL(file);
  });
}
