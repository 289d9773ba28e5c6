import { nodesOf, USE_STATES, VERDICT_TEXTS, withReason } from "../../api/network-text.ts";
import type { NetworkView as Network, NetworkUserView } from "../../mac-pool/inspection/rest/views.ts";
import { route } from "../navigation.ts";
import { NodesSummary } from "../networks/nodes-summary.tsx";
import { keyOf, mtuText, vlanText } from "../networks/settings.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { Empty } from "../parts/empty.tsx";
import { Fact } from "../parts/fact.tsx";
import { OwnerLink } from "../parts/owner-link.tsx";
import { Portion } from "../parts/portion.tsx";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { ScrollRegion } from "../parts/scroll-region.tsx";
import { linkTo } from "../route.ts";
import { count, counted } from "../text.ts";
import { useQuery } from "../use-query.ts";

/** One network: how it is set, what is wrong, who uses it, and what happens to a VM of it on each node. */
export function NetworkView() {
  const { args } = route.value;
  const answer = useQuery<Network>(
    args.length === 2 ? `networks/${args.map(encodeURIComponent).join("/")}` : undefined,
  );
  const network = answer.value.value;
  return (
    <>
      <p>
        <a href={linkTo("networks")}>All networks</a> <CopyButton text={location.href} what="link" />
      </p>
      {args.length !== 2 && <p class="notice bad">A network has a namespace and a name. Choose one in the list.</p>}
      <ProblemNotice problem={answer.problem} isStale={network !== undefined} />
      {network !== undefined && (
        <>
          <Settings network={network} />
          <Findings network={network} />
          <h2>Who uses it</h2>
          <Users network={network} />
          <h2>Nodes</h2>
          <NodesSummary network={network} />
          <Nodes network={network} />
        </>
      )}
    </>
  );
}

function Settings({ network }: { readonly network: Network }) {
  const { type, bridge, resource, spoofCheck, nodes } = network;
  return (
    <dl class="facts">
      <Fact name="Plugin">{type ?? "not known"}</Fact>
      {bridge !== undefined && (
        <>
          <Fact name="Bridge">
            <a href={linkTo("networks", [], { search: bridge })}>{bridge}</a>, on{" "}
            {nodesOf(nodes.withBridge, nodes.total)}
          </Fact>
          <Fact name="VLAN">{vlanText(network)}</Fact>
          <Fact name="MTU">{mtuText(network)}</Fact>
          <Fact name="Spoof check">{spoofCheck ? "on" : "off"}</Fact>
        </>
      )}
      <Fact name="Node resource">{resource ?? "none"}</Fact>
    </dl>
  );
}

function Findings({ network: { findings } }: { readonly network: Network }) {
  return (
    <ul class="cards">
      {findings.map(({ code, severity, summary, message }) => (
        <li key={`${code} ${message}`} class={severity === "error" ? "card bad" : "card warn"}>
          <strong>
            <span class="unseen">{severity} </span>
            {summary}
          </strong>
          <p>
            {message} <code class="quiet">{code}</code>
          </p>
        </li>
      ))}
    </ul>
  );
}

function Users({ network }: { readonly network: Network }) {
  const { users = [], moreUsers = 0, running, starting, pending, pods } = network;
  if (users.length === 0) {
    return (
      <Empty title="Nobody uses it.">
        <p>A VM appears here as soon as it is started with an interface on this network.</p>
      </Empty>
    );
  }
  const numbers = [
    counted(running, "running VM"),
    ...(starting > 0 ? [`${count(starting)} starting`] : []),
    ...(pending > 0 ? [`${count(pending)} waiting for a node`] : []),
    ...(pods > 0 ? [counted(pods, "pod")] : []),
  ];
  return (
    <>
      <p>{numbers.join(", ")}.</p>
      <Portion items={users}>{(first = []) => <UserTable users={first} />}</Portion>
      {moreUsers > 0 && <p class="quiet">{count(moreUsers)} more are not shown.</p>}
    </>
  );
}

function UserTable({ users }: { readonly users: readonly NetworkUserView[] }) {
  return (
    <ScrollRegion label="Users">
      <table>
        <thead>
          <tr>
            <th scope="col">VM or pod</th>
            <th scope="col">State</th>
            <th scope="col">Node</th>
          </tr>
        </thead>
        <tbody>
          {users.map((user) => (
            <tr key={`${user.kind}/${user.namespace}/${user.name}`}>
              <th scope="row">
                <OwnerLink owner={user} />
              </th>
              <td class={user.state === "waiting" ? "bad" : undefined}>{USE_STATES[user.state]}</td>
              <td>{user.node}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

/** Where not all is well, then where VMs run, then the others. */
function rankOf({ verdict, running }: Network["cells"][number]): number {
  if (verdict === "Fails" || verdict === "Warning" || verdict === "NotNow") return 0;
  return running > 0 ? 1 : 2;
}

function Nodes({ network }: { readonly network: Network }) {
  const cells = network.cells.toSorted((a, b) => rankOf(a) - rankOf(b));
  if (cells.length === 0) return <Empty title="No node reports its bridges.">{null}</Empty>;
  return (
    <Portion items={cells}>
      {(first = []) => (
        <ScrollRegion label="Nodes">
          <table>
            <thead>
              <tr>
                <th scope="col">Node</th>
                <th scope="col" class="right">
                  Running VMs
                </th>
                <th scope="col">A VM there</th>
              </tr>
            </thead>
            <tbody>
              {first.map(({ node, running, verdict, reason }) => (
                <tr key={node}>
                  <th scope="row" class="one-line">
                    {node}
                  </th>
                  <td class="right">{count(running)}</td>
                  <td class={`verdict ${keyOf(verdict)}`}>{withReason(VERDICT_TEXTS[verdict].meaning, reason)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
    </Portion>
  );
}
