//! Other seeds than those of the tests, for as long as wanted.

use std::ops::Range;
use std::time::{Duration, Instant};

/// Seeds that tests begin with are below.
const FIRST: u64 = 1 << 20;

/// Gives `attempt` ranges of `each` seeds, of which none comes twice, for `MOREAU_FUZZ_SECONDS` (60). With
/// `MOREAU_FUZZ_SEED` they begin at another one.
pub fn as_long_as_wanted(each: u64, mut attempt: impl FnMut(Range<u64>)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|s| s.parse().ok());
    let time = Duration::from_secs(number("MOREAU_FUZZ_SECONDS").unwrap_or(60));
    let (begin, mut seed) = (Instant::now(), number("MOREAU_FUZZ_SEED").unwrap_or(FIRST));
    let first = seed;
    while begin.elapsed() < time {
        attempt(seed..seed + each);
        seed += each;
    }
    println!("{} attempts in {:?}", seed - first, begin.elapsed());
}
