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

/// Makes an attempt with each of these seeds: true where a world was stepped, false where it was refused as it may be. All
/// that goes wrong is told, and of both kinds there has to be at least a twentieth.
pub fn attempts(seeds: Range<u64>, attempt: impl Fn(u64) -> Result<bool, String>) {
    let count = seeds.end - seeds.start;
    let (mut stepped, mut wrong) = (0, Vec::new());
    for seed in seeds {
        match attempt(seed) {
            Ok(is_stepped) => stepped += u64::from(is_stepped),
            Err(why) => wrong.push(why),
        }
    }
    println!(
        "{stepped} of {count} were stepped, {} went wrong",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        stepped * 20 > count && stepped * 20 < count * 19,
        "{stepped} of {count} were stepped"
    );
}
