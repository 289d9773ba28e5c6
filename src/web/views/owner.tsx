import type { ComponentChildren } from "preact";
import type { OwnerHistoryView } from "../../mac-pool/inspection/rest/views.ts";
import { route } from "../navigation.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { Empty } from "../parts/empty.tsx";
import { HostNotice } from "../parts/host-notice.tsx";
import { MacLink } from "../parts/mac-link.tsx";
import { OwnerLink } from "../parts/owner-link.tsx";
import { PhaseTag } from "../parts/phase-tag.tsx";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { ScrollRegion } from "../parts/scroll-region.tsx";
import { SilentReplicas } from "../parts/silent-replicas.tsx";
import { Time } from "../parts/time.tsx";
import { linkTo } from "../route.ts";
import { useQuery } from "../use-query.ts";
import { Ways } from "./ways.tsx";

/** The addresses of a VM or pod, and what happened to it, over time. */
export function OwnerView() {
  const { args } = route.value;
  const path = `owners/${args.map(encodeURIComponent).join("/")}`;
  const answer = useQuery<OwnerHistoryView>(args.length === 3 ? path : undefined);
  const [, , name = ""] = args;
  const owner = answer.value.value;
  return (
    <>
      <p>
        <a href={linkTo("addresses", [], { search: name })}>Search addresses of this name</a>{" "}
        <CopyButton text={location.href} what="link" />
      </p>
      {args.length !== 3 && (
        <p class="notice bad">An owner has a kind, a namespace and a name. Choose a VM in a list.</p>
      )}
      <ProblemNotice problem={answer.problem} isStale={owner !== undefined} />
      {owner !== undefined && <Owner owner={owner} />}
    </>
  );
}

function Owner({ owner }: { readonly owner: OwnerHistoryView }) {
  const { exists, node, pod, notRunningYet, interfaces, history, partial } = owner;
  return (
    <>
      <p>
        {!exists && "It does not exist now."}
        {exists && node === undefined && "It exists, but it does not run."}
        {exists && node !== undefined && `It ${notRunningYet ? "is starting" : "runs"} on node ${node} in pod ${pod}.`}
      </p>
      {interfaces.map((one) => (
        <HostNotice key={`${one.interface}/${one.mac}`} {...one} />
      ))}
      {interfaces.length > 0 && (
        <ScrollRegion label="Interfaces">
          <table class="stacked">
            <thead>
              <tr>
                {["Interface", "Address", "Phase", "Origin", "Network", "Since"].map((title) => (
                  <th scope="col" key={title}>
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {interfaces.map(({ interface: nic, mac, phase, origin, network, since, holder }) => (
                <tr key={`${nic}/${mac}`}>
                  <th scope="row">{nic}</th>
                  <td>
                    <MacLink mac={mac} />
                  </td>
                  <td>
                    {phase === undefined ? <span class="quiet">no claim of it</span> : <PhaseTag phase={phase} />}
                    {holder !== undefined && (
                      <>
                        {" "}
                        of <OwnerLink owner={{ ...holder, namespace: owner.namespace }} />
                      </>
                    )}
                  </td>
                  <Cell title="Origin">{origin}</Cell>
                  <Cell title="Network">{network}</Cell>
                  <Cell title="Since">{since !== undefined && <Time at={since} />}</Cell>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
      {exists && <Ways kind={owner.kind} namespace={owner.namespace} name={owner.name} />}
      <h2>What happened</h2>
      <HistoryList history={history} partial={partial} />
    </>
  );
}

/** What it is stands before it on a narrow screen only. */
function Cell({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <td>
      <span class="label">{title} </span>
      {children}
    </td>
  );
}

interface HistoryProps {
  readonly history: OwnerHistoryView["history"];
  readonly partial: readonly string[];
}

/** What happened, newest first. */
export function HistoryList({ history, partial }: HistoryProps) {
  return (
    <>
      <SilentReplicas names={partial} />
      {history.length === 0 && (
        <Empty title="Nothing is known about it.">
          <p>The history begins when the pool gives the object an address or refuses one.</p>
        </Empty>
      )}
      <ol class="history">
        {history.map(({ at, what, mac, interface: nic, message, object }) => (
          <li key={`${at}/${what}/${mac}/${nic}/${message}`} class={what}>
            <Time at={at} /> <strong>{what}</strong> {nic !== undefined && <span>{nic} </span>}
            {mac !== undefined && <MacLink mac={mac} />}
            <p>
              {object !== undefined && `${object.kind} ${object.name}: `}
              {message}
            </p>
          </li>
        ))}
      </ol>
    </>
  );
}
