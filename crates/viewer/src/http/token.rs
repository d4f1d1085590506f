//! The secret part of the address: who does not know it sees nothing, though any program and any page on the machine can
//! connect.

use std::fmt::{self, Display, Write as _};
use std::fs::File;
use std::io::{self, Read as _};

/// 128 random bits, written in hexadecimal.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A new one, from the kernel.
    ///
    /// # Errors
    /// When it gives none.
    pub fn random() -> io::Result<Token> {
        let mut bits = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut bits)?;
        let mut token = String::with_capacity(2 * bits.len());
        for byte in bits {
            let _ = write!(token, "{byte:02x}"); // a String takes all
        }
        Ok(Token(token))
    }

    /// Whether this is it. It takes as long whatever part of it is right.
    pub(super) fn is(&self, guess: &str) -> bool {
        let differences = self.0.bytes().zip(guess.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
        self.0.len() == guess.len() && differences == 0
    }
}

impl Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// It does not get into logs by accident.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = Token::random().unwrap();
        let text = token.to_string();
        assert_eq!(text.len(), 32);
        assert!(text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(token, Token::random().unwrap());
        assert!(token.is(&text));
        for guess in
            ["", &text[..31], &format!("{text}0"), &text.to_uppercase().replace(char::is_numeric, "x")]
        {
            assert!(!token.is(guess), "{guess}");
        }
        assert_eq!(format!("{token:?}"), "Token(..)");
    }
}
