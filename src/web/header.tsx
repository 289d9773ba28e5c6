import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { ask, FORBIDDEN } from "./client.ts";
import { collisionList, denialList } from "./live-lists.ts";
import { goTo, isAt, route } from "./navigation.ts";
import { isBad } from "./problems/problem-list.ts";
import { useProblems } from "./problems/use-problems.ts";
import { linkTo, type View } from "./route.ts";
import { namespace, seesPools, signOut, token } from "./session.ts";
import { count } from "./text.ts";
import { nextTheme, theme } from "./theme.ts";
import { problemFrom } from "./use-query.ts";

const TABS: readonly (readonly [View, string])[] = [
  ["overview", "Overview"],
  ["networks", "Networks"],
  ["addresses", "Addresses"],
  ["map", "Map"],
  ["problems", "Problems"],
  ["namespaces", "Namespaces"],
  ["check", "Check"],
];

export function Header() {
  useEffect(() => {
    seesPools.value = true;
    const stop = new AbortController();
    ask("pools", {}, stop.signal).catch((error: unknown) => {
      if (!stop.signal.aborted && problemFrom(error).status === FORBIDDEN) seesPools.value = false;
    });
    return () => stop.abort();
  }, [token.value]);
  const tabs = TABS.filter(([view]) => view !== "map" || seesPools.value);
  return (
    <header>
      <a class="brand" href={linkTo("overview")}>
        MAC pool
      </a>
      <Search />
      <div class="session">
        <LiveState />
        {namespace.value !== undefined && <span class="tag">namespace {namespace.value}</span>}
        <button type="button" onClick={nextTheme} title="Light, dark, or as the system says">
          Theme: {theme.value}
        </button>
        {(token.value !== undefined || namespace.value !== undefined) && (
          <button type="button" onClick={signOut}>
            Sign out
          </button>
        )}
      </div>
      <nav aria-label="Views">
        {tabs.map(([view, title]) => (
          <Tab key={view} view={view} title={title} />
        ))}
      </nav>
    </header>
  );
}

function Tab({ view, title }: { readonly view: View; readonly title: string }) {
  return (
    <a href={linkTo(view)} aria-current={isAt(view) ? "page" : undefined}>
      {title} {view === "problems" && <ProblemCount />}
    </a>
  );
}

function ProblemCount() {
  const problems = useProblems();
  if (problems === undefined || problems.length === 0) return null;
  return <span class={problems.some(isBad) ? "number bad" : "number"}>{count(problems.length)}</span>;
}

function LiveState() {
  const isLive = collisionList.isLive.value && denialList.isLive.value;
  const problem = collisionList.problem.value ?? denialList.problem.value;
  const text = isLive ? "Live" : problem === undefined ? "Connecting" : "Not live";
  return (
    <span class={isLive ? "live on" : "live"} role="status" title={problem?.message}>
      {text}
    </span>
  );
}

/** Searches as somebody types. Enter opens an address that was written in full. */
function Search() {
  const field = useRef<HTMLInputElement>(null);
  const { view, query } = route.value;
  const shown = view === "addresses" || view === "address" ? (query.search ?? "") : "";
  const text = useSignal(shown);
  useEffect(() => {
    if (document.activeElement !== field.current) text.value = shown;
  }, [shown]);
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      event.preventDefault();
      field.current?.select();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const search = (written: string): void => {
    text.value = written;
    const rest = view === "addresses" || view === "address" ? query : {};
    goTo(linkTo("addresses", [], { ...rest, search: written.trim() }), view === "addresses" ? "replace" : "push");
  };
  return (
    <search title="Press / to search">
      <label>
        <span class="unseen">Search a MAC, VM, pod or namespace</span>
        <input
          ref={field}
          type="search"
          placeholder="Search a MAC, VM, pod or namespace"
          autocomplete="off"
          spellcheck={false}
          maxLength={253}
          value={text.value}
          onInput={({ currentTarget }) => search(currentTarget.value)}
        />
      </label>
    </search>
  );
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}
