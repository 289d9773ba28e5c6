import { useSignal } from "@preact/signals";
import { namespace } from "../session.ts";

/** Instead of a view: nothing of it may be shown. */
export function ForbiddenNotice() {
  return (
    <div class="notice" role="status">
      <p>
        {namespace.value === undefined
          ? "You may not read the whole cluster."
          : `You may not read namespace ${namespace.value}. To read it, you need a RoleBinding to kubemacpool-view there.`}
      </p>
      <NamespaceForm label="If you may read one namespace only, name it" />
    </div>
  );
}

/** What somebody sees whose rights end at a namespace. */
export function ScopeNotice() {
  if (namespace.value === undefined) return null;
  return (
    <div class="notice" role="status">
      <p>
        You see namespace <strong>{namespace.value}</strong>: its addresses, its problems, and the networks of its VMs.
        Pools, their map and other namespaces are not shown: they take rights in the whole cluster.
      </p>
      <NamespaceForm label="Show another namespace" />
    </div>
  );
}

function NamespaceForm({ label }: { readonly label: string }) {
  const text = useSignal("");
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.value.trim() !== "") namespace.value = text.value.trim();
      }}
    >
      <label>
        {label}{" "}
        <input
          placeholder="namespace"
          maxLength={63}
          spellcheck={false}
          value={text.value}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value;
          }}
        />
      </label>
      <button type="submit">Show</button>
    </form>
  );
}
