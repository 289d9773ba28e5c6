import { useLayoutEffect } from "preact/hooks";
import type { ClaimView, OwnerHistoryView, OwnerView } from "../../mac-pool/inspection/rest/views.ts";
import { goTo } from "../navigation.ts";
import { segmentText } from "../networks/settings.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { HostNotice } from "../parts/host-notice.tsx";
import { OwnerLink } from "../parts/owner-link.tsx";
import { PhaseTag } from "../parts/phase-tag.tsx";
import { PoolLink } from "../parts/pool-link.tsx";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { Time } from "../parts/time.tsx";
import { linkTo } from "../route.ts";
import { namespace } from "../session.ts";
import { count } from "../text.ts";
import { useQuery } from "../use-query.ts";
import { HistoryList } from "./owner.tsx";

const NOT_FOUND = 404;

/** Everything about one address. Escape closes it. */
export function AddressPanel({ mac, back }: { readonly mac: string; readonly back: string }) {
  const answer = useQuery<ClaimView>(`claims/${encodeURIComponent(mac)}`);
  // Before the next frame: whoever sees the panel can close it.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape") goTo(back);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [back]);
  const claim = answer.value.value;
  const isFree = answer.problem.value?.status === NOT_FOUND;
  return (
    <aside class="panel" aria-label={`Address ${mac}`}>
      <div class="panel-head">
        <h2 class="mac">{mac}</h2>
        <a href={back} class="close" aria-label="Close">
          ×
        </a>
      </div>
      <p>
        <CopyButton text={mac} what="address" /> <CopyButton text={location.href} what="link" />
      </p>
      {isFree ? (
        <p>
          No claim{namespace.value !== undefined && ` of namespace ${namespace.value}`} has this address.{" "}
          <a href={linkTo("check", [], { mac })}>Would it be accepted?</a>
        </p>
      ) : (
        <ProblemNotice problem={answer.problem} isStale={claim !== undefined} />
      )}
      {claim !== undefined && !isFree && <Details claim={claim} />}
    </aside>
  );
}

function Details({ claim }: { readonly claim: ClaimView }) {
  const {
    phase,
    origin,
    pool,
    range,
    rangePool,
    inRange,
    created,
    deadline,
    until,
    owners,
    elsewhere,
    name,
    sayingPods = [],
    unmanagedInstances = [],
  } = claim;
  return (
    <>
      <HostNotice {...claim} />
      <dl class="facts">
        <div>
          <dt>Phase</dt>
          <dd>
            <PhaseTag phase={phase} />
            {deadline !== undefined && (
              <>
                {" "}
                It waits for its object and ends <Time at={deadline} />.
              </>
            )}
            {until !== undefined && (
              <>
                {" "}
                It can be given out again <Time at={until} />.
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>Origin</dt>
          <dd>
            {origin}
            {!inRange && ", outside all ranges"}
          </dd>
        </div>
        {(pool !== undefined || elsewhere === 0) && (
          <div>
            <dt>Pool</dt>
            <dd>
              {pool === undefined ? "none" : <PoolLink pool={pool} />}
              {range !== undefined && (
                <div class="mac quiet">
                  {rangePool !== undefined && `in the range of pool ${rangePool}: `}
                  {range.replace("-", " – ")}
                </div>
              )}
            </dd>
          </div>
        )}
        {created !== undefined && (
          <div>
            <dt>Claimed</dt>
            <dd>
              <Time at={created} />
            </dd>
          </div>
        )}
        <div>
          <dt>Object</dt>
          <dd class="mac">MACClaim {name}</dd>
        </div>
      </dl>
      {owners.map((owner) => (
        <Owner key={`${owner.kind}/${owner.namespace}/${owner.name}/${owner.interface}`} owner={owner} />
      ))}
      {owners.length === 0 && elsewhere === 0 && <p>No object has it.</p>}
      {unmanagedInstances.map((vmi) => (
        <p key={`${vmi.namespace}/${vmi.name}`}>
          <OwnerLink owner={vmi} />
          {vmi.node !== undefined && ` on node ${vmi.node}`} has it too: the pool does not manage it.
        </p>
      ))}
      {sayingPods.map((pod) => (
        <p key={`${pod.namespace}/${pod.name}`}>
          <OwnerLink owner={pod} />
          {pod.node !== undefined && ` on node ${pod.node}`} has it too: only its annotation {pod.saidBy} says so, and
          who may write the pod can write that.
        </p>
      ))}
      {elsewhere > 0 && <p>Owners in namespaces that you may not see: {count(elsewhere)}.</p>}
    </>
  );
}

function Owner({ owner }: { readonly owner: OwnerView }) {
  const { kind, namespace, name, interface: nic, network, node, pod, notRunningYet, since, origin } = owner;
  const path = name === undefined ? undefined : `owners/${[kind, namespace, name].map(encodeURIComponent).join("/")}`;
  const seen = useQuery<OwnerHistoryView>(path).value.value;
  const segment = segmentText(owner);
  return (
    <section>
      <h3>
        <OwnerLink owner={owner} />
      </h3>
      <p>
        It {origin === "explicit" ? "asked for the address" : "got the address"} <Time at={since} /> for interface {nic}
        {network !== undefined && ` on network ${network}`}
        {segment !== "" && ` (${segment})`}.{" "}
        {node === undefined
          ? "It does not run."
          : `It ${notRunningYet ? "is starting" : "runs"} on node ${node} in pod ${pod}.`}
      </p>
      {seen !== undefined && seen.history.length > 0 && <HistoryList history={seen.history} partial={seen.partial} />}
    </section>
  );
}
