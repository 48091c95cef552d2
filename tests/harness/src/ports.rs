//! Free ports of the loopback interface.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result, bail};

use crate::places;

/// Ports are taken from below the range that the kernel gives to outgoing connections: a client that dials a stopped
/// server again and again would otherwise meet itself there, and the server could not come back.
const FIRST: u16 = 15_000;
const LAST: u16 = 32_000;

/// A port of 127.0.0.1 that nothing listens on now, and that no other caller, in any process of this user, is given
/// before all the others were.
pub fn free_port() -> Result<u16> {
    let path = places::cache("")?.join("next-port");
    let mut file = File::options().read(true).write(true).create(true).truncate(false).open(&path)?;
    file.lock().with_context(|| format!("failed to lock {}", path.display()))?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let start = text.trim().parse().unwrap_or(FIRST);
    let Some(port) = (start..LAST).chain(FIRST..LAST).find(|&port| is_free(port)) else {
        bail!("no port between {FIRST} and {LAST} is free; end what listens there");
    };
    file.seek(SeekFrom::Start(0))?;
    write!(file, "{:<5}", port + 1)?;
    Ok(port)
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_given_twice_in_a_row_and_a_taken_one_is_passed_over() {
        let first = free_port().unwrap();
        let second = free_port().unwrap();
        assert_ne!(first, second);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, second)).unwrap();
        assert!(!is_free(listener.local_addr().unwrap().port()));
    }
}
