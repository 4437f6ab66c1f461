import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { addressOf } from "../objectref.ts";
import { route } from "../route.ts";
import { say } from "../language.ts";

/** narrow is the width up to which the panel covers the page, and is modal. */
const narrow = "(max-width: 700px)";

export function closePanel(): void {
  location.href = addressOf(route());
}

/** Shell is the panel beside the view. While dirty is set, Escape does not close it. */
export function Shell({ dirty, title, above, beside, children }: { dirty: RefObject<boolean>; title: string; above?: ComponentChildren; beside?: ComponentChildren; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current!;
    const before = document.activeElement as HTMLElement | null;
    const media = matchMedia(narrow);
    const show = () => {
      element.close();
      if (media.matches) element.showModal();
      else element.show();
    };
    show();
    element.querySelector<HTMLElement>("h2")?.focus();
    media.addEventListener("change", show);
    const key = (e: KeyboardEvent) => {
      if (e.key !== "Escape" || e.defaultPrevented) return;
      e.preventDefault();
      if (!dirty.current) closePanel();
    };
    addEventListener("keydown", key);
    return () => {
      media.removeEventListener("change", show);
      removeEventListener("keydown", key);
      element.close();
      if (before?.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog} class="object" aria-labelledby="object-title"
      onCancel={(e) => {
        e.preventDefault();
        if (!dirty.current) closePanel();
      }}
    >
      <div class="head">
        <div>
          {above && <p class="dim">{above}</p>}
          <h2 id="object-title" tabIndex={-1}>
            {title}
          </h2>
          {beside}
        </div>
        <button type="button" class="close" aria-label={say("close")} title={say("closeEscape")} onClick={closePanel}>
          ×
        </button>
      </div>
      {children}
    </dialog>
  );
}
