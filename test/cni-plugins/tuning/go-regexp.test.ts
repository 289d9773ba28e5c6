import { describe, expect, it } from "vitest";
import { goRegexp } from "../../../cni-plugins/tuning/go-regexp.ts";

describe("Go's regular expressions", () => {
  it.each<[string, string, string]>([
    ["net.ipv4", "xnet.ipv4.x", "net"],
    ["^net\\.ipv4\\.conf\\.[[:alpha:]]+\\.arp$", "net.ipv4.conf.IFNAME.arp", "net.ipv4.conf.net1.arp"],
    ["^[[:^alpha:]_]+$", "123_", "1a"],
    ["^[^[:digit:].]+$", "net", "net1"],
    ["(?i)^NET\\.", "net.core", "xnet.core"],
    ["(?i)^[[:^lower:]]$", "1", "A"],
    ["(?i)^[k-l]$", "\u212a", "m"],
    ["a(?i)b|c", "C", "Ab"],
    ["^(?i:NET)\\.x$", "Net.x", "Net.X"],
    ["(?i)a(?-i:b)", "Ab", "AB"],
    ["(?U)^a+$", "aa", "ab"],
    ["^a(?i)*$", "aaa", "aaA"],
    ["(?s)^a.b$", "a\nb", "ab"],
    ["^a.b$", "a\u2028b", "a\nb"],
    ["(?m)^b$", "a\nb\nc", "ab"],
    ["\\Anet\\z", "net", "net\n"],
    ["^\\Qnet.[a]\\E+$", "net.[a]]", "net.a"],
    ["^\\Q^$", "^$", ""],
    ["^(?P<part>net|vm)\\.(?<rest>.*)$", "vm.", "fs."],
    ["^(net|net\\.core)\\.x$", "net.core.x", "net.corex"],
    ["^a{2,3}$", "aaa", "aaaa"],
    ["^a{2,}?$", "aaaa", "a"],
    ["^a{2}$", "aa", "aaa"],
    ["^a{,2}{$", "a{,2}{", "aa"],
    ["^a{02}$", "a{02}", "aa"],
    ["^(a?b?)*$", "abba", "abc"],
    ["^(|a)+$", "", "b"],
    ["^[]a-]+$", "]-a", "b"],
    ["^[a\\-z]$", "-", "b"],
    ["^[\\d\\.]+$", "1.2", "1a"],
    ["^\\pL\\PL\\p{^L}\\p{Greek}$", "a11α", "a1a1"],
    ["^\\x41\\x{1F600}\\101\\0$", "A\u{1f600}A\0", "A"],
    ["\\bcore\\b", "net.core.x", "net.cores"],
    ["^\\s$", " ", "\v"],
    ["^[[:space:]]$", "\v", "\u00a0"],
    ["^(?:a|(?:))$", "", "b"],
    ["^*net", "net", "ne"],
  ])("%s finds %j and not %j", (source, found, other) => {
    const matches = goRegexp(source);
    expect([matches(found), matches(other)]).toEqual([true, false]);
  });

  it.each<[string, string]>([
    ["(", "not closed"],
    ["a)", "not opened"],
    ["(?=a)", "no such group"],
    ["(?!a)", "no such group"],
    ["(?<=a)b", "no such group"],
    ["(?P<a", "no such group"],
    ["(?x)a", "no such group"],
    ["(?i-)a", "no such group"],
    ["(a)\\1", "unknown \\1"],
    ["\\k<a>", "unknown \\k"],
    ["\\Z", "unknown \\Z"],
    ["\\u0041", "unknown \\u"],
    ["\\cA", "unknown \\c"],
    ["[\\b]", "unknown \\b"],
    ["[a", "within brackets"],
    ["[]", "within brackets"],
    ["a\\", "ends in a backslash"],
    ["[z-a]", "ends before it begins"],
    ["[[:letter:]]", "unknown class [:letter:]"],
    ["\\p{Alphabetic}", "unknown \\p{Alphabetic}"],
    ["*", "nothing before it"],
    ["a|+", "nothing before it"],
    ["a**", "follow each other"],
    ["a{2}{3}", "follow each other"],
    ["a{1001}", "1000 at most"],
    ["a{2,1}", "lesser number first"],
    ["(a{100}){11}", "1000 at most"],
    ["\\x{110000}", "unknown \\x"],
    ["(".repeat(1000), "too many groups"],
  ])("%s is none: %s", (source, fault) => {
    expect(() => goRegexp(source)).toThrow(fault);
  });

  it("take no more than polynomial time", () => {
    const text = `${"a".repeat(200)}!`;
    expect([goRegexp("^(a+)+$")(text), goRegexp("^(a?){200}a{200}!$")(text)]).toEqual([false, true]);
  });
});
