// Files that the page hands to the browser.

/** download saves a file. */
export function download(name: string, content: Blob): void {
  const link = linkTo(content);
  link.download = name;
  link.click();
}

/** openPage shows a page in a tab of its own, which has the policy of this page. */
export function openPage(content: Blob): void {
  const link = linkTo(content);
  link.target = "_blank";
  link.rel = "noopener";
  link.click();
}

function linkTo(content: Blob): HTMLAnchorElement {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  return link;
}
