//! Pictures, drawn off screen: `cargo test --test viewer`.

mod render;
