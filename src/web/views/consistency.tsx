import { useContext } from "preact/hooks";
import type { FindingView, ConsistencyView as State } from "../../mac-pool/inspection/rest/views.ts";
import { NetworkLink } from "../networks/network-link.tsx";
import { Empty } from "../parts/empty.tsx";
import { MacLink } from "../parts/mac-link.tsx";
import { OwnerLink } from "../parts/owner-link.tsx";
import { Portion } from "../parts/portion.tsx";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { Remedy } from "../parts/remedy.tsx";
import { Time } from "../parts/time.tsx";
import { keyOfFinding } from "../problems/problem-list.ts";
import { Consistency } from "../problems/use-problems.ts";
import { linkTo } from "../route.ts";
import { namespace } from "../session.ts";
import { count } from "../text.ts";

export function ConsistencyView() {
  const answer = useContext(Consistency);
  const state = answer?.value.value;
  return (
    <>
      <p class="lead">Claims have to agree with objects, and networks with nodes.</p>
      {answer !== undefined && <ProblemNotice problem={answer.problem} isStale={state !== undefined} />}
      {state === undefined && <p class="quiet">Asking the pool.</p>}
      {state !== undefined && (
        <>
          <Portion items={state.findings}>{(first = []) => <FindingTable findings={first} />}</Portion>
          <CutFindings {...state} />
          {state.replicas.length > 0 && <Health state={state} />}
        </>
      )}
    </>
  );
}

/** That there are more than the answer has. */
export function CutFindings({ findings, total }: Pick<State, "findings" | "total">) {
  if (total <= findings.length) return null;
  return (
    <p class="quiet">
      The pool tells the first {count(findings.length)} of {count(total)} findings.
    </p>
  );
}

function FindingTable({ findings }: { readonly findings: readonly FindingView[] }) {
  if (findings.length === 0) {
    return (
      <Empty title="Everything agrees.">
        <p>
          {namespace.value !== undefined && `In namespace ${namespace.value}: `}Every claim has its owner, every address
          its claim, nothing waits too long, and networks fit the nodes.
        </p>
      </Empty>
    );
  }
  return (
    <ul class="cards">
      {findings.map((finding) => (
        <FindingCard key={keyOfFinding(finding)} finding={finding} />
      ))}
    </ul>
  );
}

export function FindingCard({ finding, isBad = false }: { readonly finding: FindingView; readonly isBad?: boolean }) {
  const { code, mac, pool, owner, network, bridge, since, message, advice } = finding;
  return (
    <li class={`card ${isBad ? "bad" : "warn"}`}>
      <p class="when">
        {since !== undefined && <Time at={since} />}
        <span class="tag">{code}</span>
      </p>
      <h3>
        {owner !== undefined && <OwnerLink owner={owner} />} {mac !== undefined && <MacLink mac={mac} />}
        {pool !== undefined && <a href={linkTo("map", [pool])}>pool {pool}</a>}
        {network !== undefined && (
          <>
            Network <NetworkLink network={network} />
          </>
        )}
        {bridge !== undefined && <a href={linkTo("networks", [], { search: bridge })}>bridge {bridge}</a>}
      </h3>
      <p>{message}</p>
      <Remedy text={advice} />
    </li>
  );
}

function Health({ state }: { readonly state: State }) {
  const { adoption, leader, replicas, caches } = state;
  return (
    <>
      <h2>State of the pool</h2>
      <dl class="facts">
        <div>
          <dt>Leader</dt>
          <dd>
            {leader === null ? "not known" : leader.identity}
            {leader?.since !== undefined && (
              <>
                , became leader <Time at={leader.since} />
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>Adoption of what was there before the pool</dt>
          <dd>{adoption.message}</dd>
        </div>
        <div>
          <dt>Replicas</dt>
          <dd>
            {replicas.map(({ name, answers }) => (
              <span key={name} class={answers ? "tag" : "tag bad"}>
                {name}
                {!answers && " does not answer"}
              </span>
            ))}
          </dd>
        </div>
        <div>
          <dt>This replica knows</dt>
          <dd>{caches.map(({ kind, objects }) => `${kind}: ${count(objects)}`).join(", ")}</dd>
        </div>
      </dl>
    </>
  );
}
