/** What a watch tells that begins with its list: each event as a server-sent one. */
export function listedEvents(items: readonly object[]): string {
  const added = items.map((object) => ({ type: "ADDED", object }));
  const events = [{ type: "RESET" }, ...added].map((event) => `id: a-list\ndata: ${JSON.stringify(event)}\n\n`);
  return `${events.join("")}id: a-1\ndata: {"type":"BOOKMARK"}\n\n`;
}
