import type { NetworkView } from "../../mac-pool/inspection/rest/views.ts";
import { counted } from "../text.ts";

/** VMs that do not run yet, and findings; each opens to what it says. */
export function WhatIsWrong({
  network: { namespace, name, pending, waiting, starting, findings, moreFindings },
}: {
  readonly network: NetworkView;
}) {
  return (
    <>
      {pending > 0 && (
        <p class="finding bad">
          {counted(pending, "VM waits", "VMs wait")} for a node: {waiting.join(", ")}
          {pending > waiting.length && " and others"}
        </p>
      )}
      {starting > 0 && <p class="quiet">{counted(starting, "VM is starting", "VMs are starting")}</p>}
      {findings.map(({ code, severity, summary, message }) => (
        <details key={`${code} ${message}`} class={severity === "error" ? "finding bad" : "finding"}>
          <summary>
            <span class="unseen">{severity} </span>
            {summary}
          </summary>
          <p>
            {message} <code class="quiet">{code}</code>
          </p>
        </details>
      ))}
      {moreFindings > 0 && (
        <p class="quiet">
          {counted(moreFindings, "more finding")}:{" "}
          <code>
            kubectl macpool network {name} -n {namespace}
          </code>
        </p>
      )}
    </>
  );
}
