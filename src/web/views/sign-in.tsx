import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { signIn, token } from "../session.ts";

export function SignIn() {
  const given = useSignal("");
  const limitedTo = useSignal("");
  useEffect(() => {
    document.title = "Sign in · MAC pool";
  }, []);
  const submit = (event: Event): void => {
    event.preventDefault();
    signIn(given.value.trim().replace(/^Bearer /i, ""), limitedTo.value.trim());
  };
  return (
    <main class="sign-in">
      <h1>MAC pool</h1>
      {token.value !== undefined && (
        <p role="alert" class="notice bad">
          The pool does not accept this token. It may have expired. Ask for a new one.
        </p>
      )}
      <p>The easiest way in uses the credentials of your kubeconfig, and needs no token:</p>
      <pre>kubectl macpool ui</pre>
      <p>Or give a bearer token that the cluster knows. For example:</p>
      <pre>kubectl create token NAME --namespace NAMESPACE</pre>
      <form onSubmit={submit}>
        <label>
          Bearer token
          <input
            type="password"
            autocomplete="off"
            spellcheck={false}
            required
            value={given.value}
            onInput={({ currentTarget }) => {
              given.value = currentTarget.value;
            }}
          />
        </label>
        <label>
          Namespace <small>only if your rights end there</small>
          <input
            autocomplete="off"
            spellcheck={false}
            maxLength={63}
            value={limitedTo.value}
            onInput={({ currentTarget }) => {
              limitedTo.value = currentTarget.value;
            }}
          />
        </label>
        <button type="submit" class="main">
          Sign in
        </button>
      </form>
      <p class="quiet">
        The page keeps the token in memory only. A reload forgets it. To read everything, its user needs a
        ClusterRoleBinding to kubemacpool-view. A RoleBinding to it lets the user read one namespace.
      </p>
    </main>
  );
}
