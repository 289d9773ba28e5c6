import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ConsistencyView as State } from "../mac-pool/inspection/rest/views.ts";
import { FORBIDDEN } from "./client.ts";
import { Header } from "./header.tsx";
import { route } from "./navigation.ts";
import { shortKind } from "./parts/owner-link.tsx";
import { ForbiddenNotice } from "./parts/scope-notice.tsx";
import { Consistency } from "./problems/use-problems.ts";
import type { View } from "./route.ts";
import { homeNamespace, isSignedOut, namespace, namespaceOfToken, token } from "./session.ts";
import { useQuery } from "./use-query.ts";
import { AddressesView } from "./views/addresses.tsx";
import { CheckView } from "./views/check.tsx";
import { CollisionsView } from "./views/collisions.tsx";
import { ConsistencyView } from "./views/consistency.tsx";
import { MapView } from "./views/map.tsx";
import { NamespacesView } from "./views/namespaces.tsx";
import { NetworkView } from "./views/network.tsx";
import { NetworksView } from "./views/networks.tsx";
import { OverviewView } from "./views/overview.tsx";
import { OwnerView } from "./views/owner.tsx";
import { ProblemsView } from "./views/problems.tsx";
import { RefusalsView } from "./views/refusals.tsx";
import { SignIn } from "./views/sign-in.tsx";

const PAGES: Readonly<Record<View, { readonly title: string; readonly Content: ComponentType }>> = {
  overview: { title: "Overview", Content: OverviewView },
  networks: { title: "Networks", Content: NetworksView },
  network: { title: "Network", Content: NetworkView },
  addresses: { title: "Addresses", Content: AddressesView },
  address: { title: "Addresses", Content: AddressesView },
  map: { title: "Map", Content: MapView },
  problems: { title: "Problems", Content: ProblemsView },
  collisions: { title: "Collisions", Content: CollisionsView },
  refusals: { title: "Refusals", Content: RefusalsView },
  consistency: { title: "Consistency", Content: ConsistencyView },
  namespaces: { title: "Namespaces", Content: NamespacesView },
  check: { title: "Check an address", Content: CheckView },
  owner: { title: "Owner", Content: OwnerView },
};

export function App() {
  return isSignedOut.value ? <SignIn /> : <SignedIn />;
}

function SignedIn() {
  const consistency = useQuery<State>("consistency");
  const { view, args } = route.value;
  const { title, Content } = PAGES[view];
  const name = nameOf(view, args) ?? title;
  const isForbidden = consistency.problem.value?.status === FORBIDDEN;
  const heading = useRef<HTMLHeadingElement>(null);
  const shown = useRef(view);
  useEffect(() => {
    document.title = `${name} · MAC pool`;
    // Whoever reads with a screen reader is told where a link led. Whoever types goes on typing.
    if (shown.current !== view && !(document.activeElement instanceof HTMLInputElement)) heading.current?.focus();
    shown.current = view;
  });
  useEffect(() => {
    if (isForbidden) namespace.value = ownNamespace();
  });
  return (
    <Consistency.Provider value={consistency}>
      <button type="button" class="skip" onClick={focusContent}>
        Skip to the content
      </button>
      <Header />
      <main id="content" tabIndex={-1}>
        <h1 ref={heading} tabIndex={-1}>
          {name}
        </h1>
        {isForbidden ? <ForbiddenNotice /> : <Content />}
      </main>
    </Consistency.Provider>
  );
}

/** A view of one object is called by its name: several are open in tabs of the browser. */
function nameOf(view: View, [first = "", namespace = "", name = ""]: readonly string[]): string | undefined {
  if (view === "owner" && name !== "") return `${shortKind(first)} ${namespace}/${name}`;
  if (view === "network" && namespace !== "") return `Network ${first}/${namespace}`;
  return undefined;
}

/** Where a reader begins whose rights end at a namespace, as far as that can be known: what a link leads to counts most. */
function ownNamespace(): string | undefined {
  const { view, args } = route.value;
  const linked = view === "owner" ? args[1] : view === "network" ? args[0] : undefined;
  return linked ?? namespace.value ?? homeNamespace.value ?? namespaceOfToken(token.value ?? "");
}

/** Not a link: the fragment of the address says what is shown. */
function focusContent(): void {
  document.getElementById("content")?.focus();
}
