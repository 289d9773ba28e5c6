import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { parseMac } from "../../api/mac.ts";
import type { CheckView as Check } from "../../mac-pool/inspection/rest/views.ts";
import { goTo, route } from "../navigation.ts";
import { Beside } from "../parts/beside.tsx";
import { MacLink } from "../parts/mac-link.tsx";
import { OwnerLink } from "../parts/owner-link.tsx";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { linkTo } from "../route.ts";
import { namespace as readersNamespace } from "../session.ts";
import { count } from "../text.ts";
import { useQuery } from "../use-query.ts";

const MAC_HINT = "Write six octets, such as 02:5d:1c:00:00:a3, 02-5D-1C-00-00-A3 or 025d.1c00.00a3.";

export function CheckView() {
  const { mac = "", namespace = readersNamespace.value ?? "default" } = route.value.query;
  const written = useSignal(mac);
  const where = useSignal(namespace);
  const refusal = useSignal("");
  useEffect(() => {
    written.value = mac;
    where.value = namespace;
    refusal.value = "";
  }, [mac, namespace]);
  const answer = useQuery<Check>(mac === "" ? undefined : "check", { mac, namespace });
  const submit = (event: Event): void => {
    event.preventDefault();
    refusal.value = parseMac(written.value.trim()) === undefined ? `This is no MAC address. ${MAC_HINT}` : "";
    if (refusal.value !== "") return;
    goTo(linkTo("check", [], { mac: written.value.trim(), namespace: where.value.trim() }));
  };
  return (
    <>
      <p class="lead">Would a VM with this address be admitted? Asking does not reserve the address.</p>
      <form class="check" onSubmit={submit}>
        <label>
          MAC address
          <input
            class="mac"
            required
            maxLength={17}
            spellcheck={false}
            autocomplete="off"
            aria-describedby="mac-hint"
            value={written.value}
            onInput={({ currentTarget }) => {
              written.value = currentTarget.value;
            }}
          />
        </label>
        <label>
          Namespace of the VM
          <input
            required
            maxLength={63}
            spellcheck={false}
            autocomplete="off"
            value={where.value}
            onInput={({ currentTarget }) => {
              where.value = currentTarget.value;
            }}
          />
        </label>
        <button type="submit" class="main">
          Check
        </button>
      </form>
      <p id="mac-hint" class="quiet">
        {MAC_HINT}
      </p>
      <div aria-live="polite">
        {refusal.value !== "" && <p class="notice bad">{refusal.value}</p>}
        {refusal.value === "" && <ProblemNotice problem={answer.problem} />}
        {refusal.value === "" && answer.value.value !== undefined && <Verdict check={answer.value.value} />}
      </div>
    </>
  );
}

function Verdict({ check }: { readonly check: Check }) {
  const { mac, namespace, accepted, code, message, pool, inRange, holders, elsewhere, hostAddress } = check;
  return (
    <section class={`card verdict ${accepted ? "good" : "bad"}`} aria-label="Answer">
      <h2>
        {accepted ? "It would be accepted" : "It would be refused"}: <MacLink mac={mac} /> in {namespace}
      </h2>
      <p>{message}</p>
      {holders.length > 0 && (
        <ul>
          {holders.map((holder) => (
            <li key={`${holder.kind}/${holder.namespace}/${holder.name}/${holder.interface}`}>
              <OwnerLink owner={holder} /> {holder.interface}
              {holder.node !== undefined && `, node ${holder.node}`}
            </li>
          ))}
        </ul>
      )}
      {elsewhere > 0 && <p>Holders in namespaces that you may not see: {count(elsewhere)}.</p>}
      {hostAddress !== undefined && <p>It is the address of {hostAddress}.</p>}
      <Beside {...check} />
      <p class="quiet">
        {pool === undefined ? "No pool serves the namespace." : `Pool ${pool} serves the namespace.`}{" "}
        {inRange ? "The address is in the range of a pool." : "The address is outside all ranges."}
        {code !== undefined && ` Code: ${code}`}
      </p>
    </section>
  );
}
