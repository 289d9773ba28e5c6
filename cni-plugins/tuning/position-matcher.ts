/**
 * What a regular expression is made of, as functions from positions in a text to positions: all ways through the text are
 * followed at once, so no expression takes more than polynomial time, as with Go's own.
 */

/** Each position once, in any order. The context of the executables has no Set. */
type Positions = readonly number[];

/** From each of the positions, those after what was matched there. The text is its characters. */
export type Matcher = (text: readonly string[], from: Positions) => Positions;

/** Whether the expression matches anywhere in the text. */
export function matchesSomewhere(matcher: Matcher, text: string): boolean {
  const characters = [...text];
  return matcher(characters, [...characters.keys(), characters.length]).length > 0;
}

export function character(test: (one: string) => boolean): Matcher {
  return (text, from) => {
    const found = from.filter((at) => {
      const one = text[at];
      return one !== undefined && test(one);
    });
    return found.map((at) => at + 1);
  };
}

export function where(holds: (text: readonly string[], at: number) => boolean): Matcher {
  return (text, from) => from.filter((at) => holds(text, at));
}

export function sequence(parts: readonly Matcher[]): Matcher {
  return (text, from) => parts.reduce((at, part) => part(text, at), from);
}

export function either(ways: readonly Matcher[]): Matcher {
  return (text, from) => {
    const reached: boolean[] = [];
    return ways.flatMap((way) => newOnes(way(text, from), reached));
  };
}

export function repeated(part: Matcher, least: number, most: number): Matcher {
  return (text, from) => {
    let at = from;
    for (let times = 0; times < least && at.length > 0; times++) at = part(text, at);
    const reached: boolean[] = [];
    const all = newOnes(at, reached);
    for (let times = least; times < most && at.length > 0; times++) {
      at = newOnes(part(text, at), reached);
      for (const position of at) all.push(position);
    }
    return all;
  };
}

/** Those that were not reached yet; they are then. */
function newOnes(positions: Positions, reached: boolean[]): number[] {
  const found = positions.filter((position) => reached[position] !== true);
  for (const position of found) reached[position] = true;
  return found;
}
