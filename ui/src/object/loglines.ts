// The newest lines of a log that is read in pieces.

/** maxLines and maxLength limit what the page keeps of a log. */
export const maxLines = 2000;
export const maxLength = 4000;

export class LogLines {
  lines: string[] = [];
  /** forgotten counts the lines that are not kept. */
  forgotten = 0;
  /** open is set while the last line has not ended. */
  private open = false;

  /** add adds a piece, which may begin and end within a line. */
  add(piece: string): void {
    if (piece === "") return;
    const parts = piece.split("\n");
    if (this.open) parts[0] = this.lines.pop() + parts[0]!;
    this.open = parts.at(-1) !== "";
    if (!this.open) parts.pop();
    for (const p of parts) this.lines.push(p.length > maxLength ? `${p.slice(0, maxLength)}…` : p);
    if (this.lines.length > maxLines) this.forgotten += this.lines.splice(0, this.lines.length - maxLines).length;
  }
}
