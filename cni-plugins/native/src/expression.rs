//! Regular expressions from an administrator, matched in linear time, as a method of `syscalls`.

use crate::api::method;
use regex_lite::{Error, Regex};
use rquickjs::{Ctx, Exception, Object, Result};

pub fn install(syscalls: &Object<'_>) -> Result<()> {
    method(syscalls, "matches", |ctx: Ctx<'_>, expression: String, text: String| {
        matches(&expression, &text).map_err(|fault| Exception::throw_syntax(&ctx, &fault.to_string()))
    })
}

fn matches(expression: &str, text: &str) -> std::result::Result<bool, Error> {
    Ok(Regex::new(expression)?.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_matches_anywhere_in_a_text() {
        assert!(matches("ipv[46]", "net.ipv4.conf").unwrap());
        assert!(!matches("^ipv[46]", "net.ipv4.conf").unwrap());
        assert!(matches("^[[:alpha:]]+\\.\\w+\\z", "net.ipv4").unwrap());
    }

    #[test]
    fn an_expression_takes_no_exponential_time_or_memory() {
        let text = "a".repeat(4096) + "!";
        assert!(!matches("^(a+)+$", &text).unwrap());
        assert!(matches("((a{1000}){1000}){1000}", &text).is_err());
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for expression in ["(", "a)", "(?=a)", "(?<=a)", "(a)\\1", "\\Z", "[z-a]", "[[:letter:]]", "*", "a{2,1}"] {
            assert!(matches(expression, "a").is_err(), "{expression}");
        }
    }
}
