//! The program as its users call it.

use std::path::PathBuf;
use std::process::{Command, Output};

pub fn moreau(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_moreau"))
        .args(args)
        .current_dir(std::env::temp_dir())
        .output()
        .expect("the program starts")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Standard output of a run that must succeed.
pub fn good(args: &[&str]) -> String {
    let output = moreau(args);
    assert!(
        output.status.success(),
        "{args:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// Exit code and standard error.
pub fn bad(args: &[&str]) -> (Option<i32>, String) {
    let output = moreau(args);
    (output.status.code(), text(&output.stderr))
}

/// A file in a folder of this test program's own.
pub fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("moreau-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder.join(name)
}
