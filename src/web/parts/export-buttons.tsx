import { useSignal } from "@preact/signals";
import { toCsv } from "../csv.ts";
import { count } from "../text.ts";
import { problemFrom } from "../use-query.ts";

interface Props {
  /** Of the file, without its ending. */
  readonly name: string;
  readonly columns: readonly string[];
  /** Everything that matches, not only what is shown. `progress` gets how many there are so far. */
  readonly rows: (progress: (items: number) => void) => Promise<readonly (readonly string[])[]>;
  readonly objects: (progress: (items: number) => void) => Promise<readonly object[]>;
}

export function ExportButtons({ name, columns, rows, objects }: Props) {
  const state = useSignal("");
  const run = async (make: () => Promise<void>): Promise<void> => {
    try {
      await make();
      state.value = "";
    } catch (error) {
      state.value = problemFrom(error).message;
    }
  };
  const progress = (items: number): void => {
    state.value = `${count(items)} read`;
  };
  const csv = async (): Promise<void> => save(`${name}.csv`, "text/csv", toCsv(columns, await rows(progress)));
  const json = async (): Promise<void> =>
    save(`${name}.json`, "application/json", `${JSON.stringify(await objects(progress), null, 2)}\n`);
  return (
    <p class="export">
      <button type="button" onClick={() => void run(csv)}>
        Save as CSV
      </button>
      <button type="button" onClick={() => void run(json)}>
        Save as JSON
      </button>
      <button type="button" onClick={() => print()}>
        Print
      </button>
      <span role="status">{state.value}</span>
    </p>
  );
}

function save(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
