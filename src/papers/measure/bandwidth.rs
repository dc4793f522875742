//! What the memory can do: the triad of McCalpin's STREAM, a = b + s c, over arrays that no cache holds, or that are as
//! large as they may be.
//!
//! A sweep over contacts streams through memory, so that the bytes it must move, divided by this
//! bandwidth, are the least time it can take.

use std::fs;
use std::time::Instant;

use rayon::ThreadPool;
use rayon::prelude::*;

/// Elements per unit of parallel work.
const CHUNK: usize = 1 << 16;
/// Bytes per element as STREAM counts them: two reads and a write. That a cache reads a line before
/// it writes to it is not counted.
const BYTES: f64 = 24.0;
/// The scalar of the triad.
const SCALE: f64 = 3.0;
/// What the three arrays take at most (bytes).
const MOST: usize = 256_000_000;
/// Three arrays that take so many last-level caches together leave hardly anything in one from pass to pass.
const EXCLUDED: usize = 4;
/// Assumed where the system does not say (bytes).
const UNKNOWN_CACHE: usize = 32 << 20;

/// Triad bandwidth of each pool (bytes/s), the best of several passes. Passes go round the pools, so
/// that a disturbance hits all of them. Each of the three arrays is as large as so many last-level caches,
/// of which STREAM asks for 4, as far as 256 MB hold them; see [`caveat`].
pub fn triad(pools: &[&ThreadPool], caches: usize, passes: usize) -> Vec<f64> {
    let length = array_length(caches, last_level_cache());
    // Touched first by many threads, as the passes will touch it.
    let b: Vec<f64> = (0..length).into_par_iter().map(|_| 1.0).collect();
    let c: Vec<f64> = (0..length).into_par_iter().map(|_| 0.5).collect();
    let mut a: Vec<f64> = (0..length).into_par_iter().map(|_| 0.0).collect();
    let mut best = vec![0.0f64; pools.len()];
    for _ in 0..passes {
        for (pool, best) in pools.iter().zip(&mut best) {
            let seconds = pool.install(|| pass(&mut a, &b, &c));
            *best = best.max(BYTES * length as f64 / seconds);
        }
    }
    std::hint::black_box(&a);
    best
}

fn pass(a: &mut [f64], b: &[f64], c: &[f64]) -> f64 {
    let start = Instant::now();
    a.par_chunks_mut(CHUNK)
        .zip(b.par_chunks(CHUNK))
        .zip(c.par_chunks(CHUNK))
        .for_each(|((a, b), c)| {
            for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                *a = b + SCALE * c;
            }
        });
    start.elapsed().as_secs_f64()
}

/// Elements of one array.
fn array_length(caches: usize, cache: usize) -> usize {
    let wanted = cache.saturating_mul(caches.max(1));
    wanted.min(MOST / 3) / size_of::<f64>()
}

/// What [`triad`] cannot exclude, over arrays of so many caches; none where the cache serves nothing.
pub fn caveat(caches: usize) -> Option<String> {
    caveat_of(caches, last_level_cache())
}

fn caveat_of(caches: usize, cache: usize) -> Option<String> {
    let bytes = 3 * size_of::<f64>() * array_length(caches, cache);
    let megabytes = |bytes: usize| (1e-6 * bytes as f64).round();
    (bytes < cache.saturating_mul(EXCLUDED)).then(|| {
        let (all, cache) = (megabytes(bytes), megabytes(cache));
        format!("arrays of {all} MB, last cache of {cache} MB: the cache may serve part of it")
    })
}

/// Size of the largest cache that the system tells of (bytes); a common size where it tells nothing.
pub fn last_level_cache() -> usize {
    let size = |level: usize| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{level}/size");
        let text = fs::read_to_string(path).ok()?;
        let kibibytes: usize = text.trim().strip_suffix('K')?.parse().ok()?;
        Some(kibibytes << 10)
    };
    (0..8).filter_map(size).max().unwrap_or(UNKNOWN_CACHE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_is_the_triad() {
        let n = CHUNK + 5;
        let b: Vec<f64> = (0..n).map(|k| k as f64).collect();
        let c = vec![0.5; n];
        let mut a = vec![0.0; n];
        assert!(pass(&mut a, &b, &c) > 0.0);
        assert!(a.iter().enumerate().all(|(k, a)| *a == k as f64 + 1.5));
    }

    #[test]
    fn arrays_are_larger_than_a_cache_of_common_size() {
        let cache = 16 << 20;
        assert_eq!(array_length(4, cache) * size_of::<f64>(), 4 * cache);
        assert_eq!(caveat_of(4, cache), None);
    }

    #[test]
    fn what_a_large_cache_may_serve_is_said() {
        for cache in [1 << 20, 60 << 20, 500 << 20, usize::MAX] {
            assert!(3 * size_of::<f64>() * array_length(4, cache) <= MOST);
        }
        let told = caveat_of(4, 490_000_000).expect("a caveat");
        assert_eq!(
            told,
            "arrays of 256 MB, last cache of 490 MB: the cache may serve part of it"
        );
    }
}
