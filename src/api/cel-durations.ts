/** CEL rules for durations as Go programs write them, with the texts of Go's time.ParseDuration. */

import type { CelRule } from "./cel.ts";
import {
  BOUNDED_DURATION_PATTERN,
  GO_DURATION_PATTERN,
  LONGEST_INTERVAL,
  NUMBER_PATTERN as NUMBER,
  SHORTEST_INTERVAL,
  UNIT_PATTERN as UNIT,
} from "./go-duration.ts";

export const TOO_SHORT_TEXT = `has to be at least ${SHORTEST_INTERVAL}`;
export const TOO_LONG_TEXT = `write at most ${LONGEST_INTERVAL}`;
/** A number is followed by nothing, or by a second point. */
const UNITLESS_PATTERN = `^[-+]?(${NUMBER}${UNIT})*([0-9]+$|[0-9]+[.][0-9]*([.]|$)|[.][0-9]+([.]|$))`;
/** Ends with the first unit that is none. */
const WRONG_UNIT_PATTERN = `^[-+]?(${NUMBER}${UNIT})*${NUMBER}[^.0-9]+`;

const isDuration = (value: string): string => `${value}.matches('${GO_DURATION_PATTERN}')`;

/** Whether CEL can read it: on a longer one, duration() fails with a text of its own. */
const isReadable = (value: string): string =>
  `(${isDuration(value)} && ${value}.matches('${BOUNDED_DURATION_PATTERN}'))`;

/** All fields or none, each a duration within the bounds, and every `[smaller, larger]` pair in order (equality allowed). */
export function durationRules(
  fields: readonly string[],
  pairs: readonly (readonly [string, string])[],
  prefix: string,
): CelRule[] {
  const given = (field: string): string => `(has(self.${field}) && self.${field} != '')`;
  const missing = fields.map((field) => ({ rule: given(field), message: `${prefix}: ${field} is missing` }));
  const syntax = fields.map((field) => ({
    rule: `!${given(field)} || ${isDuration(`self.${field}`)}`,
    messageExpression: `'${prefix}: error parsing ${field}: time: ' + ${faultOf(`self.${field}`)} + ' duration "' + self.${field} + '"'`,
    message: `${prefix}: error parsing ${field}: time: invalid duration`,
    fieldPath: `.${field}`,
  }));
  const notTooLong = fields.map((field) => ({
    rule: `!has(self.${field}) || !${isDuration(`self.${field}`)} || ${isReadable(`self.${field}`)}`,
    messageExpression: `'${prefix}: error parsing ${field}: time: invalid duration "' + self.${field} + '": ${TOO_LONG_TEXT}'`,
    message: `${prefix}: error parsing ${field}: ${TOO_LONG_TEXT}`,
    fieldPath: `.${field}`,
  }));
  const positive = fields.map((field) => ({
    rule: `!has(self.${field}) || !${isReadable(`self.${field}`)} || duration(self.${field}) > duration('0s')`,
    message: `${prefix}: ${field} duration has to be > 0`,
    fieldPath: `.${field}`,
  }));
  const notTooShort = fields.map((field) => ({
    rule:
      `!has(self.${field}) || !${isReadable(`self.${field}`)} || duration(self.${field}) <= duration('0s') || ` +
      `duration(self.${field}) >= duration('${SHORTEST_INTERVAL}')`,
    message: `${prefix}: ${field} ${TOO_SHORT_TEXT}`,
    fieldPath: `.${field}`,
  }));
  const order = pairs.map(([smaller, larger]) => {
    const [low, high] = [`self.${smaller}`, `self.${larger}`];
    return {
      rule:
        `!has(${low}) || !has(${high}) || !${isReadable(low)} || !${isReadable(high)} || ` +
        `duration(${low}) <= duration(${high})`,
      messageExpression: `'${prefix}: ${smaller}(' + ${low} + ') has to be <= ${larger}(' + ${high} + ')'`,
      message: `${prefix}: ${smaller} has to be <= ${larger}`,
    };
  });
  return [...missing, ...syntax, ...notTooLong, ...positive, ...notTooShort, ...order];
}

/** What precedes `duration "..."` in Go's text. */
function faultOf(value: string): string {
  const wrongUnit = `${value}.find('${WRONG_UNIT_PATTERN}').find('[^.0-9]+$')`;
  const hasKnownUnits = `${wrongUnit}.matches('^${UNIT}?$')`;
  return (
    `(${value}.matches('${UNITLESS_PATTERN}') ? 'missing unit in' : ` +
    `${hasKnownUnits} ? 'invalid' : 'unknown unit "' + ${wrongUnit} + '" in')`
  );
}
