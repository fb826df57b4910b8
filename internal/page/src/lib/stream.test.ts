import { expect, test } from 'vitest';
import { Splitter, type Message } from './stream';

const text = ': keep-alive\n\nid: 1\ndata: {"seq":1}\n\nevent: delta\ndata: a\ndata:b\n\nevent: empty\n\nid: 2\r\ndata: é\r\n\r\n';
const messages: Message[] = [
  { name: 'message', id: '1', data: '{"seq":1}' },
  { name: 'delta', id: '', data: 'a\nb' },
  { name: 'message', id: '2', data: 'é' },
];

test('a stream in one piece gives its messages', () => {
  expect(new Splitter().push(text)).toEqual(messages);
});

test('a stream that is cut anywhere gives the same messages', () => {
  for (let first = 0; first <= text.length; first++) {
    for (let second = first; second <= text.length; second += 7) {
      const splitter = new Splitter();
      const got = [text.slice(0, first), text.slice(first, second), text.slice(second)].flatMap((piece) => splitter.push(piece));
      expect(got, `cut at ${first} and ${second}`).toEqual(messages);
    }
  }
});
