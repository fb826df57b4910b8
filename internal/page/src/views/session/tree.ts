// The order and the picture of the question tree. Pure.
import { stratify, tree } from 'd3-hierarchy';
import type { Question } from './fold';

export interface Row {
  question: Question;
  depth: number;
}

const maxDepth = 8;

/** The questions depth first, siblings by priority, then age. */
export function rowsOf(questions: Question[]): Row[] {
  const below = new Map<string, Question[]>();
  for (const q of questions) {
    const list = below.get(q.parent);
    if (list) list.push(q);
    else below.set(q.parent, [q]);
  }
  for (const list of below.values()) list.sort((a, b) => b.priority - a.priority);
  const rows: Row[] = [];
  const stack = (below.get('') ?? []).toReversed().map((question) => ({ question, depth: 0 }));
  for (let top = stack.pop(); top; top = stack.pop()) {
    rows.push({ question: top.question, depth: Math.min(top.depth, maxDepth) });
    for (const question of (below.get(top.question.id) ?? []).toReversed()) stack.push({ question, depth: top.depth + 1 });
  }
  return rows;
}

export interface Node {
  question: Question | null; // null: the question of the user
  x: number;
  y: number;
}
export interface Picture {
  nodes: Node[];
  links: { from: Node; to: Node }[];
  height: number;
  scale: number; // of the nodes, so that many do not cover each other
}

/** Lays out the tree from left to right in a given width. */
export function layout(questions: Question[], width: number): Picture {
  const items = [{ id: '', parent: null as string | null, question: null as Question | null }, ...rowsOf(questions).map(({ question }) => ({ id: question.id, parent: question.parent as string | null, question: question as Question | null }))];
  const root = stratify<(typeof items)[number]>().id((i) => i.id || 'root').parentId((i) => (i.parent === null ? null : i.parent || 'root'))(items);
  const leaves = root.leaves().length;
  const height = Math.max(56, Math.min(360, leaves * 14 + 16));
  const scale = Math.max(0.5, Math.min(1, height / (leaves * 11 + 16)));
  const placed = tree<(typeof items)[number]>().size([height - 16, Math.max(40, width - 28)]).separation((a, b) => (a.parent === b.parent ? 1 : 1.3))(root);
  const nodes = new Map(placed.descendants().map((n) => [n.id!, { question: n.data.question, x: n.y + 12, y: n.x + 8 }]));
  const links = placed.links().map((l) => ({ from: nodes.get(l.source.id!)!, to: nodes.get(l.target.id!)! }));
  return { nodes: [...nodes.values()], links, height, scale };
}
