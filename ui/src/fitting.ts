// Texts on a canvas.

/** fitting shortens a text to a width. */
export function fitting(ctx: CanvasRenderingContext2D, text: string, width: number): string {
  const full = ctx.measureText(text).width;
  if (full <= width) return text;
  return `${text.slice(0, Math.max(1, Math.floor((text.length * width) / full) - 1))}…`;
}
