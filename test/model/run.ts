/**
 * `npm run model`: every state of the life of a claim (MacClaim.tla), with the bigger models that `npm test` leaves out,
 * and every guard removed once. Exits 1 when a model is wrong, or right without a guard.
 */
import { providePrograms } from "../tools/debian/programs.ts";
import { check, checkerJar } from "./checker.ts";
import { BIG, LATE_MISSED, SMALL, SOON_MISSED, titleOf } from "./models.ts";

const { path } = await providePrograms(process.env, (line) => console.error(line), ["java", "mvn"]);
process.env.PATH = path;
const jar = await checkerJar(process.env);
if (jar === undefined) {
  console.error("The model checker needs Java and Maven: apt-get install maven default-jre-headless");
  process.exit(2);
}

for (const model of [...SOON_MISSED, ...LATE_MISSED, ...SMALL, ...BIG]) {
  const startMs = performance.now();
  const { violation, states } = await check(jar, model);
  const seconds = ((performance.now() - startMs) / 1000).toFixed(0);
  const isExpected = (violation === undefined) === (model.without === undefined);
  const title = model.without === undefined ? titleOf(model) : `without "${model.without}": ${titleOf(model)}`;
  const found = violation === undefined ? "no error" : `${violation.invariant} is broken`;
  console.log(`${isExpected ? "as expected" : "NOT AS EXPECTED"}  ${title}: ${found}, ${states} states, ${seconds} s`);
  if (isExpected) continue;
  process.exitCode = 1;
  if (violation !== undefined) console.log(violation.trace);
}
