import { useSignal } from "@preact/signals";
import { linkTo } from "../route.ts";
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

/** Where pools would be shown: what somebody sees who may not read them. */
export function ScopeNotice() {
  if (namespace.value === undefined) {
    return (
      <p class="notice" role="status">
        You may not read pools, which takes rights in the whole cluster. <a href={linkTo("addresses")}>Addresses</a> are
        shown.
      </p>
    );
  }
  return (
    <div class="notice" role="status">
      <p>
        You see namespace <strong>{namespace.value}</strong>: its <a href={linkTo("addresses")}>addresses</a>, its
        problems, and the networks of its VMs. Pools, their map and other namespaces are not shown: they take rights in
        the whole cluster, as a ClusterRoleBinding to kubemacpool-view gives them.
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
