//! What a command writes: looked at before its work begins, so that nothing is lost or overwritten at its end.

use std::path::{Path, PathBuf};

use moreau::file::Target;

use super::{Failure, unwritable};

/// Refuses outputs that cannot be written, that are also inputs, and two that are the same file.
///
/// # Errors
/// The first of them, with both names where it is two.
pub fn check(inputs: &[PathBuf], outputs: &[(&str, &Path)]) -> Result<(), Failure> {
    let inputs: Vec<_> = inputs
        .iter()
        .filter_map(|path| Some((path, std::fs::canonicalize(path).ok()?)))
        .collect();
    let mut before: Vec<(&str, &Path, Target)> = Vec::new();
    for (what, path) in outputs {
        let target = Target::of(path).and_then(|target| target.check().map(|()| target));
        let target = target.map_err(|e| Failure::Input(unwritable(what, path, &e)))?;
        let path_text = path.display();
        if let Some((input, _)) = inputs.iter().find(|(_, place)| place == target.path()) {
            let input = input.display();
            return Err(Failure::Input(format!(
                "{path_text}: the {what} would overwrite what is read, {input}"
            )));
        }
        if let Some((other, at, _)) = before.iter().find(|(_, _, of)| *of == target)
            && matches!(target, Target::File(_))
        {
            let at = at.display();
            return Err(Failure::Input(format!(
                "{path_text}: the {what} would overwrite the {other}, {at}; expected different files"
            )));
        }
        before.push((what, path, target));
    }
    Ok(())
}
