import type { ReadonlySignal } from "@preact/signals";
import { useSignal } from "@preact/signals";
import type { Problem } from "../client.ts";
import { namespace } from "../session.ts";

interface Props {
  readonly problem: ReadonlySignal<Problem | undefined>;
  /** Whether something older is still shown. */
  readonly isStale?: boolean;
}

/** Why there is no answer, and what the reader can do about it. */
export function ProblemNotice({ problem, isStale = false }: Props) {
  const { value } = problem;
  if (value === undefined) return null;
  return (
    <div role="alert" class="notice bad">
      <p>
        {isStale && "This is not up to date. "}
        {value.message}
        {value.didYouMean !== undefined && ` Did you mean ${value.didYouMean}?`}
      </p>
      {value.status === 403 && namespace.value === undefined && <NamespaceForm />}
    </div>
  );
}

/** For readers who may not see the whole cluster. */
function NamespaceForm() {
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
        If you may read one namespace only, name it
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
