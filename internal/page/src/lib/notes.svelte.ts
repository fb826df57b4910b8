// Short messages: the receipt of an action, or a problem with its remedy. One live region reads them.
export interface Note {
  id: number;
  kind: 'receipt' | 'problem';
  text: string;
}

class Notes {
  list = $state<Note[]>([]);
  private next = 1;

  receipt(text: string) {
    this.add('receipt', text, 6_000);
  }
  problem(text: string) {
    this.add('problem', text, 20_000);
  }
  close(id: number) {
    this.list = this.list.filter((n) => n.id !== id);
  }
  private add(kind: Note['kind'], text: string, time: number) {
    if (this.list.some((n) => n.text === text)) return;
    const id = this.next++;
    this.list = [...this.list.slice(-3), { id, kind, text }];
    setTimeout(() => this.close(id), time);
  }
}

export const notes = new Notes();
