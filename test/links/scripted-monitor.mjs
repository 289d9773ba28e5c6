// Stands in for the link-monitor executable: prints the lines of a file as they are appended, ends when stdin does.
// A line `!exit N` ends it with that code, `!stop` stops it as a debugger does, `!beat N` has it beat every N ms.
import { readFileSync } from "node:fs";

const [file] = process.argv.slice(2);
let printed = 0;
const poll = () => {
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  for (; printed < lines.length; printed++) {
    const exit = /^!exit (\d+)$/.exec(lines[printed]);
    if (exit !== null) {
      process.stderr.write("told to end\n");
      process.exit(Number(exit[1]));
    }
    if (lines[printed] === "!stop") process.kill(process.pid, "SIGSTOP");
    const beat = /^!beat (\d+)$/.exec(lines[printed]);
    if (beat !== null) setInterval(() => process.stdout.write('{"event":"alive"}\n'), Number(beat[1]));
    if (lines[printed].startsWith("!")) continue;
    process.stdout.write(`${lines[printed]}\n`);
  }
};
poll();
setInterval(poll, 5);
process.stdin.on("end", () => process.exit(0)).resume();
