/** What a run would do about the programs named in the arguments, as JSON. */
import { providePrograms, whatIsMissing } from "./programs.ts";

const provided = await providePrograms(process.env, console.error, process.argv.slice(2));
console.log(JSON.stringify({ path: provided.path, missing: whatIsMissing(provided) ?? null }));
